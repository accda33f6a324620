//! Training progress, and the state that is saved in a checkpoint.

use crate::report::TrainingEpoch;
use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Mode},
    error::Error,
};

/// How far a training is, without its weights. It is the same on all workers after each sync point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps that each worker has taken.
    pub steps: u64,
    /// What was taken of the epoch that is under way.
    pub taken: Vec<Taken>,
    /// The epoch that is under way: what was measured so far. Its loss is a sum.
    pub current: TrainingEpoch,
    /// How many were counted in that sum.
    pub counted: u64,
    /// The epochs that are over.
    pub epochs: Vec<TrainingEpoch>,
    /// Whether it ended before its last epoch, and why.
    pub ended: Option<Ended>,
    /// What a step costs, as the first worker measured it in the last epoch that it could say so: a
    /// [`CostModel`](lengthwise::CostModel).
    pub cost: Option<String>,
}

/// Steps of one epoch that were taken one after another by as many workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How many workers.
    pub workers: u32,
    /// How many steps each.
    pub steps: u32,
}

/// Why a training ended before its last epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The validation loss did not fall any more.
    Patience,
    /// The loss is not a number any more.
    Diverged,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self {
            steps: 0,
            taken: Vec::new(),
            current: fresh(1),
            counted: 0,
            epochs: Vec::new(),
            ended: None,
            cost: None,
        }
    }

    /// How many steps of the epoch under way each worker has taken.
    pub fn steps_of_epoch(&self) -> usize {
        self.taken.iter().map(|taken| taken.steps as usize).sum()
    }

    /// One more step of so many workers.
    pub(crate) fn take(&mut self, workers: usize) {
        self.steps += 1;
        let workers = workers as u32;
        match self.taken.last_mut() {
            Some(last) if last.workers == workers => last.steps += 1,
            _ => self.taken.push(Taken { workers, steps: 1 }),
        }
    }

    /// Ends the epoch: gives what was measured, with its loss as a mean.
    pub(crate) fn end(&mut self) -> TrainingEpoch {
        let next = fresh(self.current.epoch + 1);
        let mut record = std::mem::replace(&mut self.current, next);
        record.loss /= self.counted.max(1) as f64;
        self.counted = 0;
        self.taken.clear();
        record
    }

    /// How many epochs there were since the lowest validation loss.
    pub(crate) fn without_progress(&self) -> usize {
        let losses = self.epochs.iter().map(|epoch| {
            epoch.validation.as_ref().map_or(f64::INFINITY, |validation| validation.loss)
        });
        let (best, _) = losses.enumerate().fold((0, f64::INFINITY), |best, (at, loss)| {
            if loss < best.1 { (at, loss) } else { best }
        });
        self.epochs.len() - 1 - best
    }
}

fn fresh(epoch: u32) -> TrainingEpoch {
    TrainingEpoch {
        epoch,
        seconds: 0.0,
        steps: 0,
        batches: 0,
        sequences: 0,
        frames: 0,
        cells: 0,
        shapes: 0,
        step_mix: None,
        peak_bytes: 0,
        loss: 0.0,
        validation: None,
        together: None,
    }
}

/// The state of a training, to be saved and resumed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// How far it is.
    pub progress: Progress,
    /// The weights of each worker, in the order of their ranks; one entry if all have the same.
    pub weights: Vec<Weights>,
    /// The parameters that all had in common last, where they have others now.
    pub common: Option<Vec<f32>>,
}

/// Parameters and optimizer state of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The parameters.
    pub parameters: Vec<f32>,
    /// Both states of the optimizer.
    pub state: [Vec<f32>; 2],
}

impl Snapshot {
    /// The weights that a worker resumes from, and the last common parameters if the workers have trained
    /// apart since. If the number of workers has changed, they resume from the mean.
    pub(crate) fn for_worker(
        self,
        mode: Mode,
        collective: &dyn Collective,
    ) -> Result<(Weights, Option<Vec<f32>>), Error> {
        let Self { mut weights, common, .. } = self;
        let decay = if let Mode::Average { decay, .. } = mode { decay } else { 0.0 };
        match common {
            None if !weights.is_empty() => Ok((weights.swap_remove(0), None)),
            Some(common) if weights.len() == collective.size() => {
                Ok((weights.swap_remove(collective.rank()), Some(common)))
            }
            Some(common) if !weights.is_empty() => {
                let mut sum = weights[0].flat();
                for other in &weights[1..] {
                    for (sum, value) in sum.iter_mut().zip(other.flat()) {
                        *sum += value;
                    }
                }
                let mean = Weights::of_flat(&sum).averaged(weights.len(), decay, &common);
                Ok((mean, None))
            }
            _ => Err(Error::new("a training without parameters", "begin anew with `--fresh`")),
        }
    }
}

impl Weights {
    /// Parameters, then both states.
    pub(crate) fn flat(&self) -> Vec<f32> {
        let [first, second] = &self.state;
        [self.parameters.as_slice(), first, second].concat()
    }

    pub(crate) fn of_flat(all: &[f32]) -> Self {
        let count = all.len() / 3;
        let part = |number: usize| all[number * count..(number + 1) * count].to_vec();
        Self { parameters: part(0), state: [part(1), part(2)] }
    }

    /// The mean of so many workers, of whom this is the sum: V(t) = mean of v(t) − β·V(t − 1) for
    /// parameters, and the mean for the states of the optimizer.
    pub(crate) fn averaged(mut self, workers: usize, decay: f32, common: &[f32]) -> Self {
        let [first, second] = &mut self.state;
        for values in [&mut self.parameters, first, second] {
            for value in values {
                *value /= workers as f32;
            }
        }
        for (value, before) in self.parameters.iter_mut().zip(common) {
            *value -= decay * before;
        }
        self
    }
}
