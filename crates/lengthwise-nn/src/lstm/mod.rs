//! A layer of LSTM cells over padded rows, in one direction.

mod kernel;
mod panels;

use crate::{
    Frame,
    matmul::{Matrix, add_rows, add_to_rows, matmul},
};
use panels::Panels;

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
        let Self { inputs, units, direction } = *self;
        let (input, recurrent, bias) = self.parts(parameters);
        let (cells, rows) = (frame.cells(), frame.rows());
        let mut gates = vec![0.0; cells * 4 * units];
        let weight = Matrix::new(input, inputs, 4 * units);
        matmul(&mut gates, Matrix::new(x, cells, inputs), weight, 0.0);
        add_to_rows(&mut gates, bias);
        let step = rows * units;
        let zeros = || vec![0.0; (frame.steps() + 1) * step];
        let mut trace = LstmTrace { gates, cells: zeros(), outputs: zeros(), direction, step };
        let panels = Panels::of_gates(recurrent, units);
        for time in order(frame.steps(), direction) {
            let (before, now) = places(time, direction);
            let (previous_cells, cells) = two(&mut trace.cells, step, before, now);
            let (previous, outputs) = two(&mut trace.outputs, step, before, now);
            let gates = &mut trace.gates[time * 4 * step..(time + 1) * 4 * step];
            kernel::forward(units, &panels, gates, (previous_cells, cells), (previous, outputs));
            for row in (0..rows).filter(|&row| !frame.holds(time, row)) {
                cells[row * units..(row + 1) * units].fill(0.0);
                outputs[row * units..(row + 1) * units].fill(0.0);
            }
        }
        trace
    }

    /// Adds the gradient of the parameters to `gradient`, and gives that of the input. The trace is
    /// used up: its gates become their gradients.
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
        let Self { inputs, units, direction } = *self;
        let (input, recurrent, _) = self.parts(parameters);
        let (cells, rows) = (frame.cells(), frame.rows());
        assert_eq!(dy.len(), cells * units, "a gradient of another output");
        let step = rows * units;
        let (mut dcells, mut dprevious) = (vec![0.0; step], vec![0.0; step]);
        let panels = Panels::of_units(recurrent, units);
        for time in order(frame.steps(), direction).rev() {
            let (before, now) = places(time, direction);
            let gates = &mut trace.gates[time * 4 * step..(time + 1) * 4 * step];
            let [previous, cells] =
                [before, now].map(|place| &trace.cells[place * step..(place + 1) * step]);
            let dy = &dy[time * step..(time + 1) * step];
            kernel::through_gates(units, gates, (previous, cells), dy, (&mut dcells, &dprevious));
            for row in (0..rows).filter(|&row| !frame.holds(time, row)) {
                gates[row * 4 * units..(row + 1) * 4 * units].fill(0.0);
                dcells[row * units..(row + 1) * units].fill(0.0);
            }
            kernel::to_previous(units, &panels, gates, &mut dprevious);
        }
        let dgates = Matrix::new(&trace.gates, cells, 4 * units);
        let (dinput, rest) = gradient.split_at_mut(inputs * 4 * units);
        let (drecurrent, dbias) = rest.split_at_mut(units * 4 * units);
        matmul(dinput, Matrix::new(x, cells, inputs).transposed(), dgates, 1.0);
        let previous = Matrix::new(trace.previous(), cells, units).transposed();
        matmul(drecurrent, previous, dgates, 1.0);
        add_rows(dbias, &trace.gates);
        let mut dx = vec![0.0; x.len()];
        matmul(&mut dx, dgates, Matrix::new(input, inputs, 4 * units).transposed(), 0.0);
        dx
    }
}

/// The time steps in the order that a direction goes.
fn order(steps: usize, direction: Direction) -> impl DoubleEndedIterator<Item = usize> {
    (0..steps).map(move |step| match direction {
        Direction::Forward => step,
        Direction::Backward => steps - 1 - step,
    })
}

/// Where the states before and after a time step are, among the steps and the one of zeros.
fn places(time: usize, direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Forward => (time, time + 1),
        Direction::Backward => (time + 1, time),
    }
}

/// Two neighbouring steps, the first to read and the second to write.
fn two(values: &mut [f32], step: usize, read: usize, write: usize) -> (&[f32], &mut [f32]) {
    let (low, high) = values.split_at_mut(read.max(write) * step);
    let (low, high) = (&mut low[read.min(write) * step..], &mut high[..step]);
    if read < write { (low, high) } else { (high, low) }
}
