//! What is trained: recurrent layers between what is shown and what is to be said.

mod layout;
mod speaker;

use lengthwise_nn::{Embedding, Engine, EngineError, Frame, Linear, Loss, Recurrent, Tape, Value};
use serde::{Deserialize, Serialize};

pub use layout::Tensor;
use layout::{Layout, Placed};
use speaker::Speaker;

use crate::{
    batch::{Batch, Shown, Wanted},
    data::{Dataset, Inputs, Targets},
    error::Error,
};

/// How large a model is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Size {
    /// How many recurrent layers.
    pub layers: usize,
    /// How many cells each direction of a layer has.
    pub units: usize,
    /// Whether layers go in both directions.
    pub both: bool,
    /// The width of the vectors that stand for symbols.
    pub embedding: usize,
    /// Whether layers compute padding.
    pub padding: Padding,
}

/// Whether layers compute padding. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// They do not, so time follows the positions of a batch.
    #[default]
    Skipped,
    /// They do, as frameworks that do not know the lengths of rows, so time follows the cells.
    Computed,
}

impl Padding {
    /// A frame of which layers compute this.
    fn of(self, frame: &Frame) -> Frame {
        match self {
            Self::Skipped => frame.clone(),
            Self::Computed => frame.clone().with_padding(),
        }
    }
}

/// The most layers, and the most units of a layer: a model beyond has no use for a laboratory.
const LAYERS: usize = 1000;
const UNITS: usize = 1 << 16;
/// The most parameters: with their gradient and the states of the optimizer they need 32 GiB.
const PARAMETERS: usize = 1 << 31;

impl Size {
    /// Whether there can be such a model.
    pub fn check(&self) -> Result<(), Error> {
        let Self { layers, units, embedding, .. } = *self;
        if layers == 0 || units == 0 || embedding == 0 {
            return Err(Error::new("a model without layers or units", "these are from 1"));
        }
        if layers > LAYERS || units > UNITS || embedding > UNITS {
            return Err(Error::new(
                format!(
                    "a model of {layers} layers, {units} units and an embedding of {embedding}"
                ),
                format!("give at most {LAYERS} layers, and {UNITS} units or less"),
            ));
        }
        Ok(())
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { layers: 1, units: 64, both: true, embedding: 32, padding: Padding::default() }
    }
}

/// A model for a kind of data: layers, and where their parameters are. The parameters are elsewhere.
///
/// What is shown goes through recurrent layers. A linear layer then says a label at every position, a
/// symbol or a blank at every position (CTC), or one class for the mean of all. Vectors are said by a
/// `Speaker` that attends to the layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    layout: Layout,
    front: Option<Placed<Embedding>>,
    stack: Vec<Placed<Recurrent>>,
    head: Head,
    padding: Padding,
}

#[derive(Clone, Debug, PartialEq)]
enum Head {
    Labels(Placed<Linear>),
    Transcripts(Placed<Linear>),
    Classes(Placed<Linear>),
    Frames(Speaker),
}

/// A forward pass over a batch.
#[derive(Debug)]
pub struct Passed<'a, E: Engine> {
    tape: Tape<'a, E>,
    said: Value,
    /// What the batch costs.
    pub loss: Loss<E::Buffer>,
}

impl<E: Engine> Passed<'_, E> {
    /// Scores, or vectors, of every place.
    pub fn said(&self) -> &E::Buffer {
        self.tape.get(self.said)
    }

    /// Adds the gradient of the mean loss to `gradient`; returns the loss without it.
    pub fn backward(self, gradient: &mut E::Buffer) -> Result<Loss<()>, EngineError> {
        self.weighted_backward(1.0, gradient)
    }

    /// Adds `weight` times the gradient of the mean loss to `gradient`; returns the loss without it.
    /// With the loss's own count as the weight, that is the gradient of its sum.
    pub fn weighted_backward(
        self,
        weight: f32,
        gradient: &mut E::Buffer,
    ) -> Result<Loss<()>, EngineError> {
        let Loss { total, count, correct, gradient: mut dy } = self.loss;
        // A weight of 1 must not change a bit.
        if weight.to_bits() != 1.0_f32.to_bits() {
            self.tape.engine().scale(&mut dy, weight)?;
        }
        self.tape.backward(self.said, dy, gradient)?;
        Ok(Loss { total, count, correct, gradient: () })
    }
}

impl Model {
    /// A model of this size for data like this, if it is not too large to be trained.
    pub fn fitting(size: &Size, data: &Dataset) -> Result<Self, Error> {
        size.check()?;
        let model = Self::new(size, data);
        if model.parameters() > PARAMETERS {
            return Err(Error::new(
                format!("the model has {} parameters", model.parameters()),
                format!("give it fewer `layers` or `units`: at most {PARAMETERS} parameters"),
            ));
        }
        Ok(model)
    }

    /// A model of this size for data like this.
    pub fn new(size: &Size, data: &Dataset) -> Self {
        let mut layout = Layout::default();
        let (mut width, front) = match &data.inputs {
            Inputs::Frames(frames) => (frames.width(), None),
            Inputs::Symbols { names, .. } => {
                let layer = Embedding { symbols: names.len(), width: size.embedding };
                (size.embedding, Some(layout.embedding("embedding", layer)))
            }
        };
        let stack: Vec<_> = (0..size.layers)
            .map(|number| {
                let layer = Recurrent { inputs: width, units: size.units, both: size.both };
                width = layer.outputs();
                layout.recurrent(&format!("layer{number}"), layer)
            })
            .collect();
        let mut head = |outputs| layout.linear("head", Linear { inputs: width, outputs });
        let head = match &data.targets {
            Targets::Labels { names, .. } => Head::Labels(head(names.len())),
            // And a blank.
            Targets::Transcripts { names, .. } => Head::Transcripts(head(names.len() + 1)),
            Targets::Classes { names, .. } => Head::Classes(head(names.len())),
            Targets::Frames(frames) => {
                Head::Frames(Speaker::new(&mut layout, size.units, width, frames.width()))
            }
        };
        Self { layout, front, stack, head, padding: size.padding }
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.layout.count()
    }

    /// The parts of the parameters, in order.
    pub fn tensors(&self) -> &[Tensor] {
        self.layout.tensors()
    }

    /// About how many bytes a step on so many cells needs, besides the parameters: for every unit its
    /// four gates, cell, output, and the gradient and the rows side by side; not much else counts.
    pub fn bytes(&self, cells: u64) -> u64 {
        let units: usize = self.stack.iter().map(|placed| placed.layer.outputs()).sum();
        4 * cells * (8 * units + 2 * self.outputs()) as u64
    }

    /// What parameters begin as.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        self.layout.start(seed)
    }

    /// The width of what it says at a place.
    pub fn outputs(&self) -> usize {
        match &self.head {
            Head::Labels(head) | Head::Transcripts(head) | Head::Classes(head) => {
                head.layer.outputs
            }
            Head::Frames(speaker) => speaker.outputs(),
        }
    }

    /// Says something about a batch, and sees how wrong it is.
    ///
    /// # Panics
    ///
    /// When the batch is of another kind of data.
    pub fn pass<'a, E: Engine>(
        &self,
        engine: &'a E,
        parameters: &'a E::Buffer,
        batch: &Batch,
    ) -> Result<Passed<'a, E>, EngineError> {
        let mut tape = Tape::new(engine, parameters);
        let frame = &self.padding.of(&batch.frame);
        let mut value = match (&batch.shown, &self.front) {
            (Shown::Frames(values), None) => tape.given(values.clone())?,
            (Shown::Symbols(symbols), Some(front)) => {
                tape.embed(front.layer, front.at, frame, symbols.clone())?
            }
            _ => panic!("a batch of another kind"),
        };
        for placed in &self.stack {
            value = tape.recurrent(placed.layer, placed.at, frame, value)?;
        }
        let (said, loss) = match (&self.head, &batch.wanted) {
            (Head::Labels(head), Wanted::Labels(labels)) => {
                let said = tape.linear(head.layer, head.at, frame, value)?;
                let loss =
                    engine.cross_entropy(frame, tape.get(said), head.layer.outputs, labels)?;
                (said, loss)
            }
            (Head::Transcripts(head), Wanted::Transcripts(targets)) => {
                let said = tape.linear(head.layer, head.at, frame, value)?;
                let loss = engine.ctc(frame, tape.get(said), head.layer.outputs, targets)?;
                (said, loss)
            }
            (Head::Classes(head), Wanted::Classes(classes)) => {
                let mean = tape.mean(frame, head.layer.inputs, value)?;
                let frame = &Frame::new(1, vec![1; frame.rows()]);
                let said = tape.linear(head.layer, head.at, frame, mean)?;
                let loss =
                    engine.cross_entropy(frame, tape.get(said), head.layer.outputs, classes)?;
                (said, loss)
            }
            (Head::Frames(speaker), Wanted::Frames { frame: spoken, values }) => {
                let spoken = &self.padding.of(spoken);
                let said = speaker.speak(&mut tape, value, frame, spoken, values)?;
                let targets = engine.upload(values.clone())?;
                let loss =
                    engine.squared_error(spoken, tape.get(said), speaker.outputs(), &targets)?;
                (said, loss)
            }
            _ => panic!("a batch of another kind"),
        };
        Ok(Passed { tape, said, loss })
    }
}
