//! A layer of LSTM cells in both directions.

use std::sync::Arc;

use crate::{
    batch::Frame,
    buffer::Buffer,
    lstm::{Columns, Direction, Lstm, LstmTrace},
    matmul::matmul,
    packed::Packing,
    simd::Kind,
};

/// A layer of LSTM cells in both directions, at the same time. The output has the forward units first.
///
/// Its parameters are those of the forward layer, then those of the backward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blstm {
    /// The width of what comes in.
    pub inputs: usize,
    /// The number of cells of each direction.
    pub units: usize,
}

/// What a forward pass leaves for the backward pass.
#[derive(Debug)]
pub struct BlstmTrace {
    directions: [LstmTrace; 2],
    output: Buffer,
}

impl BlstmTrace {
    /// The output of every place, twice `units` wide; zero where there is padding.
    pub fn output(&self) -> &[f32] {
        &self.output
    }

    /// Whether it is of such a layer, and of a batch of such rows.
    pub(crate) fn is_of(&self, layer: Blstm, frame: &Frame) -> bool {
        self.directions.iter().zip(layer.layers()).all(|(trace, layer)| trace.is_of(layer, frame))
    }

    /// The output, which the backward pass does not need.
    pub(crate) fn take_output(&mut self) -> Buffer {
        std::mem::take(&mut self.output)
    }
}

impl Blstm {
    fn layers(&self) -> [Lstm; 2] {
        let Self { inputs, units } = *self;
        [Direction::Forward, Direction::Backward].map(|direction| Lstm { inputs, units, direction })
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.layers().iter().map(Lstm::parameters).sum()
    }

    /// Goes over all rows in both directions.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn forward(&self, parameters: &[f32], frame: &Frame, x: &[f32]) -> BlstmTrace {
        let [one, other] = self.layers();
        let (first, second) = parameters.split_at(one.parameters());
        let packing = Arc::new(Packing::new(frame));
        let (x, kind) = (packing.pack(x, self.inputs), Kind::best());
        let (one, other) = rayon::join(
            || one.forward_on(kind, first, Arc::clone(&packing), &x),
            || other.forward_on(kind, second, Arc::clone(&packing), &x),
        );
        let output = packing.spread(&[one.packed_output(), other.packed_output()], self.units);
        BlstmTrace { directions: [one, other], output }
    }

    /// Adds the gradient of the parameters to `gradient`, and gives that of the input.
    ///
    /// # Panics
    ///
    /// When a slice has another size, or the trace is of another layer or batch.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        mut trace: BlstmTrace,
        dy: &[f32],
    ) -> Buffer {
        self.through_time(parameters, gradient, frame, x, &mut trace, dy);
        let [one, other] = self.layers();
        let (first, second) = parameters.split_at(one.parameters());
        let [one_trace, other_trace] = &trace.directions;
        one_trace.packing().spread_from(self.inputs, |dx| {
            let (dgates, weight) = one.input_product(first, one_trace);
            matmul(dx, dgates, weight, 0.0);
            let (dgates, weight) = other.input_product(second, other_trace);
            matmul(dx, dgates, weight, 1.0);
        })
    }

    /// Adds the gradient of the parameters to `gradient`, for a layer whose input needs none.
    ///
    /// # Panics
    ///
    /// When a slice has another size, or the trace is of another layer or batch.
    pub fn backward_parameters(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        mut trace: BlstmTrace,
        dy: &[f32],
    ) {
        self.through_time(parameters, gradient, frame, x, &mut trace, dy);
    }

    /// Both directions at the same time.
    fn through_time(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        trace: &mut BlstmTrace,
        dy: &[f32],
    ) {
        assert!(trace.is_of(*self, frame), "the trace of another layer or batch");
        let [one, other] = self.layers();
        let (first, second) = parameters.split_at(one.parameters());
        let (dfirst, dsecond) = gradient.split_at_mut(one.parameters());
        let [first_trace, second_trace] = &mut trace.directions;
        let dy_from = |first| Columns { values: dy, width: 2 * self.units, first };
        let kind = Kind::best();
        let packing = Packing::new(frame);
        let x = packing.pack(x, self.inputs);
        rayon::join(
            || one.through_time(kind, first, dfirst, &x, first_trace, dy_from(0)),
            || {
                let dy = dy_from(self.units);
                other.through_time(kind, second, dsecond, &x, second_trace, dy);
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_layers_are_the_same_for_every_number_of_threads() {
        let layer = Blstm { inputs: 40, units: 33 };
        let wave = |count: usize, speed: f32| -> Vec<f32> {
            (0..count).map(|i| 0.2 * (speed * i as f32).sin()).collect()
        };
        let frame = Frame::new(30, (0..9).map(|row| 30 - 3 * row).collect());
        let (parameters, x) = (wave(layer.parameters(), 0.37), wave(frame.cells() * 40, 0.7));
        let dy = wave(frame.cells() * 66, 0.9);
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let trace = layer.forward(&parameters, &frame, &x);
                let mut all = trace.output().to_vec();
                let mut gradient = vec![0.0; parameters.len()];
                all.extend_from_slice(&layer.backward(
                    &parameters,
                    &mut gradient,
                    &frame,
                    &x,
                    trace,
                    &dy,
                ));
                let trace = layer.forward(&parameters, &frame, &x);
                let mut again = vec![0.0; parameters.len()];
                layer.backward_parameters(&parameters, &mut again, &frame, &x, trace, &dy);
                assert_eq!(gradient, again);
                all.extend(gradient);
                all.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            })
        };
        let one = bits(1);
        assert!(one == bits(2) && one == bits(3) && one == bits(4));
    }
}
