//! A layer of LSTM cells in both directions.

use crate::{Direction, Frame, Lstm, LstmTrace};

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
    output: Vec<f32>,
}

impl BlstmTrace {
    /// The output of every place, twice `units` wide; zero where there is padding.
    pub fn output(&self) -> &[f32] {
        &self.output
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
        let (one, other) =
            rayon::join(|| one.forward(first, frame, x), || other.forward(second, frame, x));
        let units = self.units;
        let mut output = vec![0.0; frame.cells() * 2 * units];
        let parts = one.output().chunks_exact(units).zip(other.output().chunks_exact(units));
        for (out, (one, other)) in output.chunks_exact_mut(2 * units).zip(parts) {
            out[..units].copy_from_slice(one);
            out[units..].copy_from_slice(other);
        }
        BlstmTrace { directions: [one, other], output }
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
        trace: BlstmTrace,
        dy: &[f32],
    ) -> Vec<f32> {
        let [one, other] = self.layers();
        let [first_trace, second_trace] = trace.directions;
        let (first, second) = parameters.split_at(one.parameters());
        let (dfirst, dsecond) = gradient.split_at_mut(one.parameters());
        let half = |from: usize| -> Vec<f32> {
            let rows = dy.chunks_exact(2 * self.units);
            rows.flat_map(|row| &row[from..from + self.units]).copied().collect()
        };
        let (mut dx, other) = rayon::join(
            || one.backward(first, dfirst, frame, x, first_trace, &half(0)),
            || other.backward(second, dsecond, frame, x, second_trace, &half(self.units)),
        );
        for (sum, add) in dx.iter_mut().zip(other) {
            *sum += add;
        }
        dx
    }
}
