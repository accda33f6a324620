//! The kind of model that is trained: how long a micro-batch and a new shape take.

use std::{fmt, str::FromStr};

use crate::error::Error;
use crate::limit::cost::CostModel;

/// The model that is trained, as far as a recommendation needs to know it.
///
/// Without measured times, those of a micro-batch and of a new shape are assumed: the smaller an update, the more
/// of it they take.
///
/// ```
/// use lengthwise::tune::Model;
///
/// assert_eq!("packed".parse::<Model>()?.to_string(), "packed");
/// assert_eq!("a=0.02,c=6e-7,s=0.1".parse::<Model>()?.to_string(), "a=0.02,b=0,c=6e-7,d=0,s=0.1");
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// What its time depends on, if it was not measured.
    pub kind: Kind,
    /// Measured times, if there are any.
    pub cost: Option<CostModel>,
}

/// A kind of model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Time depends on the cells of a batch, padding included: attention, convolutions.
    #[default]
    Attention,
    /// Time depends on the batch length more than on the batch size: recurrent networks.
    Recurrent,
    /// It takes several sequences in one row, one after another: variable-length attention.
    Packed,
}

/// The cells of an update that a Transformer of 12 layers of 512 takes 60 to 90 ms for, on an H200.
const CELLS: f64 = 65_000.0;
// In such updates:
/// What a micro-batch takes besides its cells.
const MICRO_BATCH: f64 = 1.0 / 48.0;
/// The time that the host takes to launch one. It was 23 ms, a quarter to a third; with this, more of the ways that were
/// timed were chosen rightly.
const LAUNCH: f64 = 3.0 / 8.0;
/// The time of a new shape: 130 ms.
const NEW_SHAPE: f64 = 2.0;

impl Model {
    /// The names of kinds, as in string forms.
    pub const NAMES: [&str; 3] = ["attention", "recurrent", "packed"];

    /// The model of this kind with measured times.
    pub const fn new(kind: Kind, cost: Option<CostModel>) -> Self {
        Self { kind, cost }
    }

    /// Whether it takes packed rows.
    pub(crate) fn takes_rows(self) -> bool {
        self.kind == Kind::Packed
    }

    /// How long batches take, in seconds if it was measured. `tokens` is the data of a rank in an
    /// update.
    pub(crate) fn times(self, tokens: f64) -> CostModel {
        self.cost.unwrap_or_else(|| {
            // With the model and the GPU above, a launch takes as long for updates of any size. If small updates mean a
            // slow GPU or a large model, it takes the same share of each. This is between, nearer to the latter.
            let unit = tokens * (CELLS / tokens).sqrt().sqrt();
            match self.kind {
                Kind::Recurrent => CostModel::RECURRENT,
                _ => CostModel::of_cells(unit * MICRO_BATCH, unit * LAUNCH, unit * NEW_SHAPE),
            }
        })
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.cost) {
            (Kind::Attention, Some(cost)) => cost.fmt(f),
            (kind, _) => f.write_str(Self::NAMES[kind as usize]),
        }
    }
}

impl FromStr for Model {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let kind = match given.trim() {
            "attention" => Kind::Attention,
            "recurrent" => Kind::Recurrent,
            "packed" => Kind::Packed,
            _ => return Ok(Self { kind: Kind::Attention, cost: Some(given.parse()?) }),
        };
        Ok(Self { kind, cost: None })
    }
}
