//! A layer of LSTM cells over padded rows, in one direction. Nothing is computed for padding, except in frames
//! [with padding](crate::Frame::with_padding).

mod backward;
mod forward;
mod panels;
mod product;
mod time;

use std::sync::Arc;

use crate::{
    batch::Frame,
    buffer::Buffer,
    matmul::{Matrix, matmul},
    packed::{Packed, Packing},
    simd::Kind,
};
use backward::Backward;
pub(crate) use backward::Columns;
use forward::Forward;
pub(crate) use time::Direction;
use time::Steps;

/// A layer of LSTM cells (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000).
///
/// Its parameters are a slice that the caller owns: the weight of the input, `inputs` rows of four times
/// `units` columns; the recurrent weight, `units` rows of as many columns; and one bias. The columns
/// are those of the input gate, the forget gate, the cell and the output gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lstm {
    /// The width of what comes in.
    pub(crate) inputs: usize,
    /// The number of cells.
    pub(crate) units: usize,
    /// Which way it goes.
    pub(crate) direction: Direction,
}

/// What a forward pass leaves for the backward pass: numbers for the places that are not padding.
#[derive(Debug)]
pub(crate) struct LstmTrace {
    /// The gates after their functions.
    gates: Buffer,
    /// The cells, with a step of zeros before the first.
    cells: Buffer,
    /// The outputs, with a step of zeros before the first.
    outputs: Buffer,
    layer: Lstm,
    packing: Arc<Packing>,
}

impl LstmTrace {
    fn steps(&self) -> Steps<'_> {
        Steps { packing: &self.packing, direction: self.layer.direction }
    }

    /// The places that it is of.
    pub(crate) fn packing(&self) -> &Packing {
        &self.packing
    }

    /// The output of every place that is not padding, `units` wide.
    pub(crate) fn packed_output(&self) -> &[f32] {
        let (states, units) = (self.steps().of_places(), self.layer.units);
        &self.outputs[states.start * units..states.end * units]
    }

    /// The output of every place, `units` wide; zero where there is padding.
    pub(crate) fn output(&self) -> Buffer {
        self.packing.spread(&[self.packed_output()], self.layer.units)
    }

    /// Whether it is of such a layer, and of a batch of such rows.
    pub(crate) fn is_of(&self, layer: Lstm, frame: &Frame) -> bool {
        self.layer == layer && self.packing.frame() == frame
    }

    /// The output of the step before every place that is not padding.
    fn previous(&self) -> Packed<'_> {
        let (steps, units) = (self.steps(), self.layer.units);
        if self.packing.is_full() {
            let end = self.outputs.len() - steps.zeros().len() * units;
            return Packed::Given(match self.layer.direction {
                Direction::Forward => &self.outputs[..end],
                Direction::Backward => &self.outputs[self.outputs.len() - end..],
            });
        }
        let mut out = Buffer::passing(self.packing.len() * units);
        for time in steps.order() {
            let places = self.packing.step(time);
            let out = &mut out[places.start * units..places.end * units];
            match steps.before(time) {
                Some(before) => {
                    out.copy_from_slice(&self.outputs[before.start * units..before.end * units]);
                }
                None => steps.copy_before(time, &self.outputs, out, units),
            }
        }
        Packed::Copied(out)
    }
}

impl Lstm {
    /// How many parameters it has.
    pub(crate) fn parameters(&self) -> usize {
        (self.inputs + self.units + 1) * 4 * self.units
    }

    /// The parameters as input weight, recurrent weight and bias.
    fn parts<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32], &'a [f32]) {
        assert_eq!(parameters.len(), self.parameters(), "parameters of another layer");
        let (input, rest) = parameters.split_at(self.inputs * 4 * self.units);
        let (recurrent, bias) = rest.split_at(self.units * 4 * self.units);
        (input, recurrent, bias)
    }

    /// Goes over all rows.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub(crate) fn forward(&self, parameters: &[f32], frame: &Frame, x: &[f32]) -> LstmTrace {
        let packing = Arc::new(Packing::new(frame));
        let x = packing.pack(x, self.inputs);
        self.forward_on(Kind::best(), parameters, packing, &x)
    }

    /// Goes over all rows of the packed input.
    pub(crate) fn forward_on(
        &self,
        kind: Kind,
        parameters: &[f32],
        packing: Arc<Packing>,
        x: &[f32],
    ) -> LstmTrace {
        let Self { inputs, units, direction } = *self;
        let (input, recurrent, bias) = self.parts(parameters);
        let x = Matrix::new(x, packing.len(), inputs);
        let mut gates = Buffer::any(packing.len() * 4 * units);
        matmul(&mut gates, x, Matrix::new(input, inputs, 4 * units), 0.0);
        let steps = Steps { packing: &packing, direction };
        let states = || Buffer::any(steps.states() * units);
        let (mut cells, mut outputs) = (states(), states());
        kind.run(Forward {
            units,
            steps,
            recurrent,
            bias,
            gates: &mut gates,
            cells: &mut cells,
            outputs: &mut outputs,
        });
        LstmTrace { gates, cells, outputs, layer: *self, packing }
    }

    /// Adds the gradient of the parameters to `gradient`, and gives that of the input.
    ///
    /// # Panics
    ///
    /// When a slice has another size, or the trace is of another layer or batch.
    pub(crate) fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        mut trace: LstmTrace,
        dy: &[f32],
    ) -> Buffer {
        self.all_through_time(parameters, gradient, x, &mut trace, dy);
        let (dgates, weight) = self.input_product(parameters, &trace);
        trace.packing.spread_from(self.inputs, |out| matmul(out, dgates, weight, 0.0))
    }

    /// Adds the gradient of the parameters to `gradient`, for a layer whose input needs none.
    ///
    /// # Panics
    ///
    /// When a slice has another size, or the trace is of another layer or batch.
    pub(crate) fn backward_parameters(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        mut trace: LstmTrace,
        dy: &[f32],
    ) {
        self.all_through_time(parameters, gradient, x, &mut trace, dy);
    }

    fn all_through_time(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        trace: &mut LstmTrace,
        dy: &[f32],
    ) {
        let dy = Columns { values: dy, width: self.units, first: 0 };
        let packing = Arc::clone(&trace.packing);
        let x = packing.pack(x, self.inputs);
        self.through_time(Kind::best(), parameters, gradient, &x, trace, dy);
    }

    /// Adds the gradient of the parameters to `gradient`, given the packed input and the gradient of the
    /// output of the whole batch. The gates of the trace become their gradients.
    pub(crate) fn through_time(
        &self,
        kind: Kind,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        trace: &mut LstmTrace,
        dy: Columns,
    ) {
        let Self { inputs, units, direction } = *self;
        let (_, recurrent, _) = self.parts(parameters);
        assert_eq!(trace.layer, *self, "the trace of another layer");
        let packing = &*trace.packing;
        let cells = packing.frame().cells();
        assert_eq!(dy.values.len(), cells * dy.width, "a gradient of another output");
        assert_eq!(gradient.len(), parameters.len(), "gradients of another layer");
        let (dinput, rest) = gradient.split_at_mut(inputs * 4 * units);
        let (drecurrent, dbias) = rest.split_at_mut(units * 4 * units);
        kind.run(Backward {
            units,
            steps: Steps { packing, direction },
            recurrent,
            gates: &mut trace.gates,
            cells: &trace.cells,
            dy,
            dbias,
        });
        let places = packing.len();
        let dgates = Matrix::new(&trace.gates, places, 4 * units);
        matmul(dinput, Matrix::new(x, places, inputs).transposed(), dgates, 1.0);
        let previous = trace.previous();
        let previous = Matrix::new(&previous, places, units).transposed();
        matmul(drecurrent, previous, dgates, 1.0);
    }

    /// The matrices whose product is the gradient of the packed input, once the way back is done.
    pub(crate) fn input_product<'a>(
        &self,
        parameters: &'a [f32],
        trace: &'a LstmTrace,
    ) -> (Matrix<'a>, Matrix<'a>) {
        let (input, _, _) = self.parts(parameters);
        let gates = 4 * self.units;
        let dgates = Matrix::new(&trace.gates, trace.packing.len(), gates);
        (dgates, Matrix::new(input, self.inputs, gates).transposed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize, speed: f32) -> Vec<f32> {
        (0..count).map(|i| 0.5 * (speed * i as f32).sin()).collect()
    }

    /// The output, the gradient of the gates and that of the parameters.
    fn passed(kind: Kind, layer: Lstm, frame: &Frame) -> [Vec<f32>; 3] {
        let parameters = wave(layer.parameters(), 0.37);
        let x = wave(frame.cells() * layer.inputs, 0.7);
        // A column more than there are units.
        let dy = wave(frame.cells() * (layer.units + 1), 0.9);
        let packing = Arc::new(Packing::new(frame));
        let x = packing.pack(&x, layer.inputs);
        let mut trace = layer.forward_on(kind, &parameters, Arc::clone(&packing), &x);
        let output = trace.output().to_vec();
        let mut gradient = vec![0.0; parameters.len()];
        let dy = Columns { values: &dy, width: layer.units + 1, first: 1 };
        layer.through_time(kind, &parameters, &mut gradient, &x, &mut trace, dy);
        [output, packing.spread(&[&trace.gates], 4 * layer.units).to_vec(), gradient]
    }

    #[test]
    fn all_kinds_of_processors_agree() {
        for direction in [Direction::Forward, Direction::Backward] {
            for (units, rows) in [(1, 1), (7, 2), (16, 5), (21, 6), (33, 13), (64, 16), (70, 4)] {
                let frame = Frame::new(9, (0..rows).map(|row| 9 - row % 10).collect());
                let layer = Lstm { inputs: 3, units, direction };
                let best = passed(Kind::best(), layer, &frame);
                for kind in Kind::all() {
                    let found = passed(kind, layer, &frame);
                    for (found, best) in found.iter().zip(&best) {
                        let most = best.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                        for (found, best) in found.iter().zip(best) {
                            let near = (found - best).abs() <= 1e-5 * most;
                            assert!(near, "{kind:?} {units} {rows}: {found} for {best}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "gradients of another layer")]
    fn gradients_of_another_layer_are_refused() {
        let layer = Lstm { inputs: 1, units: 1, direction: Direction::Forward };
        let (frame, parameters) = (Frame::new(1, vec![1]), wave(layer.parameters(), 0.3));
        let trace = layer.forward(&parameters, &frame, &[1.0]);
        let mut gradient = vec![0.0; parameters.len() + 1];
        layer.backward(&parameters, &mut gradient, &[1.0], trace, &[1.0]);
    }

    #[test]
    fn rows_are_zero_beyond_their_length() {
        let frame = Frame::new(6, vec![6, 0, 3, 1, 5, 2, 4]);
        for direction in [Direction::Forward, Direction::Backward] {
            let layer = Lstm { inputs: 2, units: 19, direction };
            for kind in Kind::all() {
                let [output, dgates, _] = passed(kind, layer, &frame);
                for place in 0..frame.cells() {
                    let holds = frame.holds(place / 7, place % 7);
                    for (values, width) in [(&output, 19), (&dgates, 4 * 19)] {
                        let values = &values[place * width..(place + 1) * width];
                        let zero = values.iter().all(|value| value.to_bits() == 0);
                        assert_eq!(zero, !holds, "{kind:?} at {place}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_is_the_same_in_any_company() {
        let layer = Lstm { inputs: 3, units: 37, direction: Direction::Backward };
        let parameters = wave(layer.parameters(), 0.37);
        let (steps, rows) = (8, 11);
        let x = wave(steps * rows * 3, 0.7);
        let together = layer.forward(&parameters, &Frame::new(steps, vec![steps; rows]), &x);
        for row in 0..rows {
            let place = |step: usize| step * rows + row;
            let of_row: Vec<f32> =
                (0..steps).flat_map(|step| &x[place(step) * 3..][..3]).copied().collect();
            let alone = layer.forward(&parameters, &Frame::new(steps, vec![steps]), &of_row);
            for step in 0..steps {
                let one = &together.output()[place(step) * 37..][..37];
                let other = &alone.output()[step * 37..][..37];
                for (one, other) in one.iter().zip(other) {
                    assert!((one - other).abs() < 1e-6);
                }
            }
        }
    }
}
