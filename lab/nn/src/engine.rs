//! Where the arithmetic of training happens.

use std::{error::Error, fmt, fmt::Debug};

use crate::{batch::Frame, linear::Linear};

/// What an engine could not do, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(String);

impl EngineError {
    /// An error of this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for EngineError {}

/// A layer of LSTM cells, forward or in both directions.
///
/// In both directions, its parameters are those of the forward layer, then those of the backward
/// layer, and every output has the forward units first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recurrent {
    /// The width of what comes in.
    pub inputs: usize,
    /// The number of cells of each direction.
    pub units: usize,
    /// Whether it goes in both directions.
    pub both: bool,
}

impl Recurrent {
    /// How many directions it goes in.
    pub fn directions(&self) -> usize {
        1 + usize::from(self.both)
    }

    /// The width of what goes out.
    pub fn outputs(&self) -> usize {
        self.directions() * self.units
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.directions() * (self.inputs + self.units + 1) * 4 * self.units
    }
}

/// Vectors that stand for symbols: as many rows as there are symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedding {
    /// How many symbols there are.
    pub symbols: usize,
    /// The width of a vector.
    pub width: usize,
}

impl Embedding {
    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.symbols * self.width
    }
}

/// The rectangles of attention: from every place of one batch to every place of the same row of
/// another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Where the queries are.
    pub queries: Frame,
    /// Where the keys and values are; as many rows.
    pub keys: Frame,
    /// The width of queries and keys.
    pub width: usize,
    /// The width of values.
    pub value_width: usize,
}

/// A loss of a batch.
#[derive(Clone, Debug)]
pub struct Loss<B> {
    /// The sum over what is counted: positions, labels, or values.
    pub total: f64,
    /// How many were counted.
    pub count: usize,
    /// How many positions have their label first; 0 where there are no labels.
    pub correct: usize,
    /// The gradient of the mean.
    pub gradient: B,
}

/// A rule by which parameters follow their gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Adam (Kingma and Ba, 2015).
    Adam {
        /// How much of the mean, and of the mean square, is kept.
        betas: (f32, f32),
        /// Keeps the quotient finite.
        epsilon: f32,
    },
    /// ADADELTA (Zeiler, 2012).
    Adadelta {
        /// How much of the mean squares is kept.
        decay: f32,
        /// Keeps the quotient finite, and begins the updates.
        epsilon: f32,
    },
}

impl Rule {
    /// Adam with the constants of its paper.
    pub const ADAM: Self = Self::Adam { betas: (0.9, 0.999), epsilon: 1e-8 };
    /// ADADELTA with the constants of its paper.
    pub const ADADELTA: Self = Self::Adadelta { decay: 0.95, epsilon: 1e-6 };
}

/// Where the arithmetic of training happens: the processor, or a device.
///
/// Batches are in the order of time (all rows of the first step, then all of the second). Beyond its
/// length a row is zero in every result but that of a linear layer, and in every gradient. Parameters
/// and their gradients are one buffer each, and `at` is where those of a layer begin. Gradients are
/// added to what is there. Buffers of another size, and labels or symbols that there are not, are
/// errors.
pub trait Engine {
    /// Numbers in the engine's memory.
    type Buffer: Debug;
    /// What the forward pass of a recurrent layer leaves for its backward pass.
    type Trace: Debug;

    /// What the engine runs on, for people.
    fn name(&self) -> String;

    /// The most bytes that were in use at a time since [`reset_peak`](Engine::reset_peak).
    fn peak_bytes(&self) -> u64;

    /// Forgets the most bytes in use, but for those in use now.
    fn reset_peak(&self);

    /// Whether it may have so many bytes; what it says of more than it has, it need not know.
    fn has_memory(&self, bytes: u64) -> bool;

    /// Waits until all that was asked of it is done.
    fn wait(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Brings numbers into the engine's memory.
    fn upload(&self, values: Vec<f32>) -> Result<Self::Buffer, EngineError>;

    /// So many zeros.
    fn zeros(&self, count: usize) -> Result<Self::Buffer, EngineError>;

    /// The numbers of a buffer, once all before it is done.
    fn download(&self, buffer: &Self::Buffer) -> Result<Vec<f32>, EngineError>;

    /// Makes all numbers zero.
    fn clear(&self, buffer: &mut Self::Buffer) -> Result<(), EngineError>;

    /// Adds one buffer to another.
    fn add(&self, sum: &mut Self::Buffer, add: &Self::Buffer) -> Result<(), EngineError>;

    /// Multiplies all numbers by a factor.
    fn scale(&self, buffer: &mut Self::Buffer, factor: f32) -> Result<(), EngineError>;

    /// Goes over all rows of a batch; gives the output of every place, and the trace.
    fn recurrent(
        &self,
        layer: Recurrent,
        parameters: &Self::Buffer,
        at: usize,
        frame: &Frame,
        x: &Self::Buffer,
    ) -> Result<(Self::Buffer, Self::Trace), EngineError>;

    /// The way back of [`recurrent`](Engine::recurrent). Gives the gradient of the input when that is
    /// wanted.
    #[expect(clippy::too_many_arguments, reason = "what the way back needs")]
    fn recurrent_backward(
        &self,
        layer: Recurrent,
        parameters: &Self::Buffer,
        gradient: &mut Self::Buffer,
        at: usize,
        frame: &Frame,
        x: &Self::Buffer,
        trace: Self::Trace,
        dy: &Self::Buffer,
        wanted: bool,
    ) -> Result<Option<Self::Buffer>, EngineError>;

    /// A linear layer for every row of `x`.
    fn linear(
        &self,
        layer: Linear,
        parameters: &Self::Buffer,
        at: usize,
        x: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError>;

    /// The way back of [`linear`](Engine::linear).
    fn linear_backward(
        &self,
        layer: Linear,
        parameters: &Self::Buffer,
        gradient: &mut Self::Buffer,
        at: usize,
        x: &Self::Buffer,
        dy: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError>;

    /// A linear layer for every place of a batch. What it gives where there is padding may be anything:
    /// an engine need not compute it.
    fn linear_batch(
        &self,
        layer: Linear,
        parameters: &Self::Buffer,
        at: usize,
        _frame: &Frame,
        x: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError> {
        self.linear(layer, parameters, at, x)
    }

    /// The way back of [`linear_batch`](Engine::linear_batch), whose gradient is zero where there is padding.
    #[expect(clippy::too_many_arguments, reason = "what the way back needs")]
    fn linear_batch_backward(
        &self,
        layer: Linear,
        parameters: &Self::Buffer,
        gradient: &mut Self::Buffer,
        at: usize,
        _frame: &Frame,
        x: &Self::Buffer,
        dy: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError> {
        self.linear_backward(layer, parameters, gradient, at, x, dy)
    }

    /// The vector of the symbol at every place; zero where there is padding.
    fn embed(
        &self,
        layer: Embedding,
        parameters: &Self::Buffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<Self::Buffer, EngineError>;

    /// The way back of [`embed`](Engine::embed).
    fn embed_backward(
        &self,
        layer: Embedding,
        gradient: &mut Self::Buffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
        dy: &Self::Buffer,
    ) -> Result<(), EngineError>;

    /// Rows of two buffers side by side; widths are those of one row.
    fn join(
        &self,
        one: &Self::Buffer,
        other: &Self::Buffer,
        widths: (usize, usize),
    ) -> Result<Self::Buffer, EngineError>;

    /// The way back of [`join`](Engine::join).
    fn split(
        &self,
        both: &Self::Buffer,
        widths: (usize, usize),
    ) -> Result<(Self::Buffer, Self::Buffer), EngineError>;

    /// Every query's mean of the values of its row, weighted by the softmax of its products with the
    /// keys over the root of their width. Gives what each place found, and the weights.
    fn attend(
        &self,
        shape: &Attention,
        queries: &Self::Buffer,
        keys: &Self::Buffer,
        values: &Self::Buffer,
    ) -> Result<(Self::Buffer, Self::Buffer), EngineError>;

    /// The way back of [`attend`](Engine::attend): gradients of queries, keys and values.
    fn attend_backward(
        &self,
        shape: &Attention,
        queries: &Self::Buffer,
        keys: &Self::Buffer,
        values: &Self::Buffer,
        weights: &Self::Buffer,
        dy: &Self::Buffer,
    ) -> Result<[Self::Buffer; 3], EngineError>;

    /// The mean over the positions of each row: a batch of one step.
    fn mean(
        &self,
        frame: &Frame,
        width: usize,
        x: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError>;

    /// The way back of [`mean`](Engine::mean).
    fn mean_backward(
        &self,
        frame: &Frame,
        width: usize,
        dy: &Self::Buffer,
    ) -> Result<Self::Buffer, EngineError>;

    /// Cross-entropy of scores against a label for every place, over positions.
    fn cross_entropy(
        &self,
        frame: &Frame,
        scores: &Self::Buffer,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<Self::Buffer>, EngineError>;

    /// The loss of Graves et al. (2006) of scores against labels for every row, over labels; class 0 is
    /// the blank.
    fn ctc(
        &self,
        frame: &Frame,
        scores: &Self::Buffer,
        classes: usize,
        targets: &[Vec<u32>],
    ) -> Result<Loss<Self::Buffer>, EngineError>;

    /// Squared error of values against targets, over positions and their width.
    fn squared_error(
        &self,
        frame: &Frame,
        values: &Self::Buffer,
        width: usize,
        targets: &Self::Buffer,
    ) -> Result<Loss<Self::Buffer>, EngineError>;

    /// Makes a gradient no longer than `most`, all of it together; gives how long it was.
    fn clip(&self, gradient: &mut Self::Buffer, most: f32) -> Result<f32, EngineError>;

    /// Takes a step; `steps` counts from 1, and both states begin as zeros.
    fn update(
        &self,
        rule: Rule,
        rate: f32,
        steps: u64,
        parameters: &mut Self::Buffer,
        gradient: &Self::Buffer,
        state: &mut [Self::Buffer; 2],
    ) -> Result<(), EngineError>;
}
