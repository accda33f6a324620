//! What is measured in a training, as data.

use serde::{Deserialize, Serialize};

use super::number;

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// What was trained on what, in a line.
    pub title: String,
    /// Settings for people, in order: what it is, and its value.
    pub about: Vec<(String, String)>,
    /// What is counted as an error, such as "character error rate".
    pub error: String,
    /// The runs; those of the first name are what others are compared with.
    pub runs: Vec<TrainingRun>,
    /// What a reader must know to judge the numbers, a sentence each.
    pub notes: Vec<String>,
    /// Names that are set against each other, besides all against the first: from one to the other.
    pub pairs: Vec<(String, String)>,
    /// What more workers would take, by name and then by number.
    pub scaling: Vec<Scaling>,
    /// Other values of validation of which more is better, such as "BLEU".
    pub higher: Vec<String>,
}

/// An epoch on so many workers: computed from the plan and the time of measured steps, not trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// How the workers learn together, such as "sync".
    pub name: String,
    /// How many there are.
    pub workers: u32,
    /// How many steps each takes.
    pub steps: u64,
    /// How long the epoch takes.
    #[serde(with = "number")]
    pub seconds: f64,
    /// The share of all workers' time that is spent waiting.
    #[serde(with = "number")]
    pub idle: f64,
}

/// One training from one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingRun {
    /// The row it belongs to, such as "semi-sorted".
    pub name: String,
    /// The whole settings of the planner.
    pub settings: String,
    /// The seed.
    pub seed: u64,
    /// A digest of all that it depends on but the seed, if that was written down: data, model and settings.
    pub digest: Option<String>,
    /// How many epochs it is to have, if that was written down.
    pub planned_epochs: Option<u32>,
    /// The epochs that are over, in order.
    pub epochs: Vec<TrainingEpoch>,
    /// Whether it ended before its last epoch because that was better so.
    pub ended: bool,
}

/// What was measured in one epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingEpoch {
    /// Which epoch, from 1.
    pub epoch: u32,
    /// How long training took in this epoch, without validation. Of several workers: with a core or a
    /// device for each, which is the work of the slowest worker between sync points, and the exchanges.
    #[serde(with = "number")]
    pub seconds: f64,
    /// How many optimizer steps were taken; of several workers, by each of them.
    pub steps: u64,
    /// How many batches there were, of all workers together: more than steps if gradients are accumulated. 0 if
    /// they were not counted.
    #[serde(default)]
    pub batches: u64,
    /// How many sequences were trained on.
    pub sequences: u64,
    /// How many frames they have, without padding.
    pub frames: u64,
    /// How many frames there are with padding.
    pub cells: u64,
    /// How many different pairs of batch size and batch length occurred.
    pub shapes: u64,
    /// How much the lengths of optimizer steps vary, compared with random steps of as many sequences, if it was
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub step_mix: Option<f64>,
    /// The most memory in use at any time; 0 if it was not measured.
    pub peak_bytes: u64,
    /// The mean training loss.
    #[serde(with = "number")]
    pub loss: f64,
    /// What the model is worth after this epoch, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// What each worker did, where several trained together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// An epoch of several workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// How long it took by the clock: longer than it need be where workers share a core.
    #[serde(with = "number")]
    pub wall: f64,
    /// For how long parameters or gradients were exchanged, when all were there.
    #[serde(with = "number")]
    pub exchange: f64,
    /// The workers, in the order of their ranks.
    pub workers: Vec<WorkerEpoch>,
}

/// An epoch of one of several workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerEpoch {
    /// For how many seconds it computed.
    #[serde(with = "number")]
    pub work: f64,
    /// For how many seconds it waited for slower ones, each having a core or a device of its own.
    #[serde(with = "number")]
    pub wait: f64,
    /// The share of its time that it had to wait by the plan.
    #[serde(with = "number")]
    pub predicted: f64,
}

impl WorkerEpoch {
    /// The share of its time that it waited.
    pub fn idle(&self) -> f64 {
        let all = self.work + self.wait;
        if all > 0.0 { self.wait / all } else { 0.0 }
    }
}

/// What a model is worth on data that it was not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The mean loss.
    #[serde(with = "number")]
    pub loss: f64,
    /// The share of errors: 0 is none. It can be above 1 where more is wrong than there is, and is NaN if errors
    /// were not counted.
    #[serde(default = "number::none", skip_serializing_if = "number::is_none", with = "number")]
    pub error: f64,
    /// Other values and their names, such as "word error rate". Less is better, except for those in
    /// [`Training::higher`]. Names that end in "error rate" are shares, and are shown in percent.
    #[serde(default, with = "number::named")]
    pub more: Vec<(String, f64)>,
}
