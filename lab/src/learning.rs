//! How a model learns.

use lengthwise_nn::Rule;
use serde::{Deserialize, Serialize};

use crate::rate::Schedule;

/// How parameters follow their gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Learning {
    /// By which rule.
    pub optimizer: Optimizer,
    /// How fast; for ADADELTA, what its own steps are multiplied by.
    pub rate: f32,
    /// How the rate changes.
    pub schedule: Schedule,
    /// The share of the training in which the rate rises.
    pub warmup: f64,
    /// How long a gradient may be; longer ones are shortened. 0 for any length.
    pub clip: f32,
    /// After how many epochs without a lower validation loss training ends. 0 for never.
    pub patience: u32,
}

/// The rules that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Adam, with the constants of its paper.
    #[default]
    Adam,
    /// ADADELTA, with the constants of its paper.
    Adadelta,
}

impl Optimizer {
    pub(crate) fn rule(self) -> Rule {
        match self {
            Optimizer::Adam => Rule::ADAM,
            Optimizer::Adadelta => Rule::ADADELTA,
        }
    }
}

impl Default for Learning {
    fn default() -> Self {
        Self {
            optimizer: Optimizer::Adam,
            rate: 3e-3,
            schedule: Schedule::Constant,
            warmup: 0.0,
            clip: 5.0,
            patience: 0,
        }
    }
}
