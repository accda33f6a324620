//! Where the parameters of each layer are, what they are called, and what they begin as.

use lengthwise::custom::{Purpose, Rng};
use lengthwise_nn::{Embedding, Linear, Recurrent};

/// A part of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// What it is called.
    pub name: String,
    /// Where it begins.
    pub at: usize,
    /// Its rows and columns, or its length.
    pub shape: Vec<usize>,
    start: Start,
}

impl Tensor {
    /// How many numbers it has.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What numbers begin as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    /// Anywhere between plus and minus this.
    Within(f32),
    /// The bias of a recurrent layer: 1 where the forget gate is, so that cells remember.
    Remember,
    Zero,
}

/// A layer, and where its parameters begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed<L> {
    pub(crate) layer: L,
    pub(crate) at: usize,
}

/// The parameters of a model, layer after layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layout {
    tensors: Vec<Tensor>,
    count: usize,
}

impl Layout {
    fn push(&mut self, name: String, shape: Vec<usize>, start: Start) {
        let tensor = Tensor { name, at: self.count, shape, start };
        self.count += tensor.count();
        self.tensors.push(tensor);
    }

    pub(crate) fn recurrent(&mut self, name: &str, layer: Recurrent) -> Placed<Recurrent> {
        let at = self.count;
        let Recurrent { inputs, units, both } = layer;
        let within = Start::Within(1.0 / (units as f32).sqrt());
        for direction in ["forward", "backward"].iter().take(1 + usize::from(both)) {
            self.push(format!("{name}.{direction}.input"), vec![inputs, 4 * units], within);
            self.push(format!("{name}.{direction}.recurrent"), vec![units, 4 * units], within);
            self.push(format!("{name}.{direction}.bias"), vec![4 * units], Start::Remember);
        }
        Placed { layer, at }
    }

    pub(crate) fn linear(&mut self, name: &str, layer: Linear) -> Placed<Linear> {
        let at = self.count;
        let within = Start::Within(1.0 / (layer.inputs as f32).sqrt());
        self.push(format!("{name}.weight"), vec![layer.inputs, layer.outputs], within);
        self.push(format!("{name}.bias"), vec![layer.outputs], Start::Zero);
        Placed { layer, at }
    }

    pub(crate) fn embedding(&mut self, name: &str, layer: Embedding) -> Placed<Embedding> {
        let at = self.count;
        self.push(name.to_owned(), vec![layer.symbols, layer.width], Start::Within(1.0));
        Placed { layer, at }
    }

    pub(crate) fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// What the parameters begin as: every tensor from a stream of its own.
    pub(crate) fn start(&self, seed: u64) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.count);
        for (number, tensor) in (0..).zip(&self.tensors) {
            let count = tensor.count();
            match tensor.start {
                Start::Zero => values.extend((0..count).map(|_| 0.0)),
                Start::Remember => {
                    let units = count / 4;
                    let forget = units..2 * units;
                    values.extend((0..count).map(|at| f32::from(u8::from(forget.contains(&at)))));
                }
                Start::Within(bound) => {
                    let words = Rng::new(seed, number).words(Purpose::Own(100), count as u32);
                    // 24 bits fill a float exactly.
                    let share = 2.0 * bound / (1 << 24) as f32;
                    values.extend(words.map(|word| (word >> 8) as f32 * share - bound));
                }
            }
        }
        values
    }
}
