//! A layer of LSTM cells over padded rows, in one direction.

mod backward;
mod forward;
mod panels;
mod product;
mod time;

use crate::{
    Frame,
    lanes::Kind,
    matmul::{Matrix, matmul, product as product_of},
};
use backward::Backward;
pub(crate) use backward::Columns;
use forward::Forward;

/// Which way a layer goes over the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the beginning of each row.
    Forward,
    /// From the end of each row.
    Backward,
}

/// A layer of LSTM cells (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000).
///
/// Its parameters are a slice that the caller owns: the weight of the input, `inputs` rows of four times
/// `units` columns; the recurrent weight, `units` rows of as many columns; and one bias. The columns
/// are those of the input gate, the forget gate, the cell and the output gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lstm {
    /// The width of what comes in.
    pub inputs: usize,
    /// The number of cells.
    pub units: usize,
    /// Which way it goes.
    pub direction: Direction,
}

/// What a forward pass leaves for the backward pass.
#[derive(Debug)]
pub struct LstmTrace {
    /// The gates after their functions, for every place.
    gates: Vec<f32>,
    /// The cells, with a step of zeros before the first.
    cells: Vec<f32>,
    /// The outputs, with a step of zeros before the first.
    outputs: Vec<f32>,
    /// Whether the step before the first is at the beginning, or at the end.
    direction: Direction,
    /// The places of one step.
    step: usize,
}

impl LstmTrace {
    /// The output of every place, `units` wide; zero where there is padding.
    pub fn output(&self) -> &[f32] {
        match self.direction {
            Direction::Forward => &self.outputs[self.step..],
            Direction::Backward => &self.outputs[..self.outputs.len() - self.step],
        }
    }

    /// The output of the step before every place.
    fn previous(&self) -> &[f32] {
        match self.direction {
            Direction::Forward => &self.outputs[..self.outputs.len() - self.step],
            Direction::Backward => &self.outputs[self.step..],
        }
    }
}

impl Lstm {
    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
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
    pub fn forward(&self, parameters: &[f32], frame: &Frame, x: &[f32]) -> LstmTrace {
        self.forward_on(Kind::best(), parameters, frame, x)
    }

    fn forward_on(&self, kind: Kind, parameters: &[f32], frame: &Frame, x: &[f32]) -> LstmTrace {
        let Self { inputs, units, direction } = *self;
        let (input, recurrent, bias) = self.parts(parameters);
        let x = Matrix::new(x, frame.cells(), inputs);
        let gates = product_of(x, Matrix::new(input, inputs, 4 * units));
        let step = frame.rows() * units;
        let zeros = || vec![0.0; (frame.steps() + 1) * step];
        let mut trace = LstmTrace { gates, cells: zeros(), outputs: zeros(), direction, step };
        kind.run(Forward {
            units,
            frame,
            direction,
            recurrent,
            bias,
            gates: &mut trace.gates,
            cells: &mut trace.cells,
            outputs: &mut trace.outputs,
        });
        trace
    }

    /// Adds the gradient of the parameters to `gradient`, and gives that of the input.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        mut trace: LstmTrace,
        dy: &[f32],
    ) -> Vec<f32> {
        let dy = Columns { values: dy, width: self.units, first: 0 };
        self.through_time(Kind::best(), parameters, gradient, frame, x, &mut trace, dy);
        let (dgates, weight) = self.to_input(parameters, &trace);
        product_of(dgates, weight)
    }

    /// Adds the gradient of the parameters to `gradient`, for a layer whose input needs none.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn backward_parameters(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        mut trace: LstmTrace,
        dy: &[f32],
    ) {
        let dy = Columns { values: dy, width: self.units, first: 0 };
        self.through_time(Kind::best(), parameters, gradient, frame, x, &mut trace, dy);
    }

    /// Adds the gradient of the parameters to `gradient`. The gates of the trace become their gradients.
    #[expect(clippy::too_many_arguments, reason = "all that a way back needs")]
    pub(crate) fn through_time(
        &self,
        kind: Kind,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        trace: &mut LstmTrace,
        dy: Columns,
    ) {
        let Self { inputs, units, direction } = *self;
        let (_, recurrent, _) = self.parts(parameters);
        let cells = frame.cells();
        assert_eq!(dy.values.len(), cells * dy.width, "a gradient of another output");
        let (dinput, rest) = gradient.split_at_mut(inputs * 4 * units);
        let (drecurrent, dbias) = rest.split_at_mut(units * 4 * units);
        kind.run(Backward {
            units,
            frame,
            direction,
            recurrent,
            gates: &mut trace.gates,
            cells: &trace.cells,
            dy,
            dbias,
        });
        let dgates = Matrix::new(&trace.gates, cells, 4 * units);
        matmul(dinput, Matrix::new(x, cells, inputs).transposed(), dgates, 1.0);
        let previous = Matrix::new(trace.previous(), cells, units).transposed();
        matmul(drecurrent, previous, dgates, 1.0);
    }

    /// The matrices whose product is the gradient of the input, once the way back is done.
    pub(crate) fn to_input<'a>(
        &self,
        parameters: &'a [f32],
        trace: &'a LstmTrace,
    ) -> (Matrix<'a>, Matrix<'a>) {
        let (input, _, _) = self.parts(parameters);
        let gates = 4 * self.units;
        let dgates = Matrix::new(&trace.gates, trace.gates.len() / gates, gates);
        (dgates, Matrix::new(input, self.inputs, gates).transposed())
    }
}
