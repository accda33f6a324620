//! One training of one model under one way to batch.

use std::time::Instant;

use lengthwise::{Chunks, Lengths, Plan, Planner, Strategy};
use lengthwise_nn::{Engine, Rule};
use lengthwise_report::training::TrainingEpoch;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Examiner, Schedule,
    batch::{Batch, Piece},
    data::{Dataset, Targets},
    examine,
    model::Model,
};

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
    fn rule(self) -> Rule {
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

/// What is trained, on what, how, and what is measured by whom: the same for all trials of an
/// experiment.
pub struct Bench<'a, E: Engine> {
    /// Where the arithmetic happens.
    pub engine: &'a E,
    /// What is trained.
    pub model: &'a Model,
    /// On what.
    pub data: &'a Dataset,
    /// Who says what was learnt.
    pub examiner: &'a Examiner<'a>,
    /// How.
    pub learning: &'a Learning,
    /// For how many epochs.
    pub epochs: u32,
}

impl<E: Engine> Clone for Bench<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Engine> Copy for Bench<'_, E> {}

impl<E: Engine> std::fmt::Debug for Bench<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("epochs", &self.epochs).finish_non_exhaustive()
    }
}

/// How far a training is, without its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Steps taken.
    pub steps: u64,
    /// Batches done of the epoch that is under way.
    pub batches: usize,
    /// The epoch that is under way: what was measured so far. Its loss is a sum.
    pub current: TrainingEpoch,
    /// How many were counted in that sum.
    pub counted: u64,
    /// The epochs that are over.
    pub epochs: Vec<TrainingEpoch>,
    /// Whether it ended before its last epoch, and why.
    pub ended: Option<Ended>,
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

impl Place {
    fn start() -> Self {
        Self {
            steps: 0,
            batches: 0,
            current: fresh(1),
            counted: 0,
            epochs: Vec::new(),
            ended: None,
        }
    }
}

fn fresh(epoch: u32) -> TrainingEpoch {
    TrainingEpoch {
        epoch,
        seconds: 0.0,
        steps: 0,
        sequences: 0,
        frames: 0,
        cells: 0,
        shapes: 0,
        peak_bytes: 0,
        loss: 0.0,
        validation: None,
        together: None,
    }
}

/// All that a training is, to be kept and to go on from.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// How far it is.
    pub place: Place,
    /// The parameters.
    pub parameters: Vec<f32>,
    /// Both states of the optimizer.
    pub state: [Vec<f32>; 2],
}

/// One training of one model under one way to batch.
pub struct Trial<'a, E: Engine> {
    bench: Bench<'a, E>,
    planner: Planner<Strategy>,
    lengths: Lengths,
    chunks: Option<Chunks>,
    parameters: E::Buffer,
    gradient: E::Buffer,
    state: [E::Buffer; 2],
    place: Place,
    /// The plan of the epoch that is under way.
    plan: Option<Plan>,
}

impl<E: Engine> std::fmt::Debug for Trial<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trial").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub enum Stepped {
    /// A batch of this mean loss.
    Batch {
        /// The loss.
        loss: f64,
    },
    /// The last batch of an epoch, which is over now.
    Epoch,
}

impl<'a, E: Engine> Trial<'a, E> {
    /// A training from its beginning: parameters from this seed, and sequences cut into chunks where a
    /// size is given.
    pub fn new(
        bench: Bench<'a, E>,
        planner: Planner<Strategy>,
        chunk: Option<u32>,
        seed: u64,
    ) -> Result<Self, Error> {
        let parameters = bench.model.start(seed);
        let zeros = || vec![0.0; parameters.len()];
        let state = [zeros(), zeros()];
        let snapshot = Snapshot { place: Place::start(), parameters, state };
        Self::resume(bench, planner.seed(seed), chunk, snapshot)
    }

    /// A training that goes on from where it was; the planner has its seed.
    pub fn resume(
        bench: Bench<'a, E>,
        planner: Planner<Strategy>,
        chunk: Option<u32>,
        snapshot: Snapshot,
    ) -> Result<Self, Error> {
        let whole = examine::lengths(bench.data)?;
        let chunks = chunk.map(|size| cut(bench.data, &whole, size)).transpose()?;
        let lengths = chunks.as_ref().map_or(whole, |chunks| chunks.lengths().clone());
        // What cannot be planned is said before anything is trained.
        let largest = planner.plan(&lengths, 0)?.measure(&lengths).largest_batch_cells;
        let (engine, needed) = (bench.engine, bench.model.bytes(largest));
        if !engine.room(needed) {
            return Err(Error::new(
                format!("a batch of {largest} cells needs about {} MB", needed / 1_000_000),
                "give a smaller budget, or a smaller model",
            ));
        }
        let Snapshot { place, parameters, state: [first, second] } = snapshot;
        Ok(Self {
            gradient: engine.zeros(parameters.len())?,
            parameters: engine.upload(parameters)?,
            state: [engine.upload(first)?, engine.upload(second)?],
            bench,
            planner,
            lengths,
            chunks,
            place,
            plan: None,
        })
    }

    /// How far it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether nothing is left to do.
    pub fn finished(&self) -> bool {
        self.place.ended.is_some() || self.place.epochs.len() as u32 >= self.bench.epochs
    }

    /// How many batches the epoch under way has, once its plan is made.
    pub fn batches(&self) -> Option<usize> {
        self.plan.as_ref().map(Plan::len)
    }

    /// All that it is now.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let engine = self.bench.engine;
        let [first, second] = &self.state;
        Ok(Snapshot {
            place: self.place.clone(),
            parameters: engine.download(&self.parameters)?,
            state: [engine.download(first)?, engine.download(second)?],
        })
    }

    /// Trains on one batch. After the last of an epoch, what was learnt is examined.
    pub fn step(&mut self) -> Result<Stepped, Error> {
        let Bench { engine, model, data, learning, .. } = self.bench;
        engine.reset_peak();
        let resting = engine.peak_bytes();
        let start = Instant::now();
        let epoch = self.place.epochs.len() as u64;
        let plan = if let Some(plan) = self.plan.take() {
            plan
        } else {
            let plan = self.planner.plan(&self.lengths, epoch)?;
            self.place.current.shapes = shapes(&plan);
            plan
        };
        let at = self.place.batches;
        let (Some(batch), Some(steps)) = (plan.get(at), plan.batch_length(at)) else {
            // Everything was left out by the planner's settings.
            return Err(Error::new("the plan has no batches", "give a larger budget"));
        };
        let pieces: Vec<Piece> = batch.iter().map(|&index| self.piece(index)).collect();
        let batch = Batch::new(data, &pieces, steps as usize);
        engine.clear(&mut self.gradient)?;
        let passed = model.pass(engine, &self.parameters, &batch)?;
        let loss = passed.backward(&mut self.gradient)?;
        if learning.clip > 0.0 {
            engine.clip(&mut self.gradient, learning.clip)?;
        }
        let done = (epoch as f64 + at as f64 / plan.len() as f64) / f64::from(self.bench.epochs);
        let rate = learning.rate * learning.schedule.share(done, learning.warmup) as f32;
        self.place.steps += 1;
        engine.update(
            learning.optimizer.rule(),
            rate,
            self.place.steps,
            &mut self.parameters,
            &self.gradient,
            &mut self.state,
        )?;
        let mean = loss.total / loss.count.max(1) as f64;
        let current = &mut self.place.current;
        current.seconds += start.elapsed().as_secs_f64();
        current.steps += 1;
        current.sequences += pieces.len() as u64;
        current.frames += pieces.iter().map(|piece| piece.length as u64).sum::<u64>();
        current.cells += pieces.len() as u64 * u64::from(steps);
        current.loss += loss.total;
        self.place.counted += loss.count as u64;
        self.place.batches += 1;
        // Parameters, their gradient and both states rest between steps.
        let resting_parts = 4 * 4 * model.parameters() as u64;
        let needed = engine.peak_bytes().saturating_sub(resting) + resting_parts;
        let current = &mut self.place.current;
        current.peak_bytes = current.peak_bytes.max(needed);
        let over = self.place.batches == plan.len();
        if !mean.is_finite() {
            self.place.ended = Some(Ended::Diverged);
        }
        if over || self.place.ended.is_some() {
            self.end_epoch()?;
            return Ok(Stepped::Epoch);
        }
        self.plan = Some(plan);
        Ok(Stepped::Batch { loss: mean })
    }

    fn piece(&self, index: u32) -> Piece {
        match self.chunks.as_ref().and_then(|chunks| chunks.get(index)) {
            Some(chunk) => Piece {
                sequence: chunk.sequence as usize,
                offset: chunk.offset as usize,
                length: chunk.length as usize,
            },
            None => Piece {
                sequence: index as usize,
                offset: 0,
                length: self.lengths.as_slice()[index as usize] as usize,
            },
        }
    }

    fn end_epoch(&mut self) -> Result<(), Error> {
        let Bench { engine, model, examiner, learning, .. } = self.bench;
        let next = fresh(self.place.current.epoch + 1);
        let mut record = std::mem::replace(&mut self.place.current, next);
        record.loss /= self.place.counted.max(1) as f64;
        if self.chunks.is_some() {
            // Rates are those of sequences; a piece is a part of one.
            record.sequences = self.bench.data.len() as u64;
        }
        if self.place.ended.is_none() {
            record.validation = Some(examiner.examine(engine, model, &self.parameters)?);
        }
        self.place.epochs.push(record);
        (self.place.batches, self.place.counted) = (0, 0);
        if learning.patience > 0 && self.without_progress() >= learning.patience as usize {
            self.place.ended = Some(Ended::Patience);
        }
        Ok(())
    }

    /// How many epochs there were since the lowest validation loss.
    fn without_progress(&self) -> usize {
        let losses = self.place.epochs.iter().map(|epoch| {
            epoch.validation.as_ref().map_or(f64::INFINITY, |validation| validation.loss)
        });
        let (best, _) = losses.enumerate().fold((0, f64::INFINITY), |best, (at, loss)| {
            if loss < best.1 { (at, loss) } else { best }
        });
        self.place.epochs.len() - 1 - best
    }
}

/// Cuts sequences into pieces, where every piece has labels of its own.
pub(crate) fn cut(data: &Dataset, lengths: &Lengths, size: u32) -> Result<Chunks, Error> {
    let whole = match &data.targets {
        Targets::Labels { .. } => return Ok(Chunks::new(lengths, size)?),
        Targets::Transcripts { .. } => "a transcript",
        Targets::Classes { .. } => "a class",
        Targets::Frames(_) => "vectors",
    };
    Err(Error::new(
        format!("`chunk` is {size}, and what is to be said is {whole} of a whole sequence"),
        "leave `chunk` out; only sequences with a label for every position can be cut",
    ))
}

/// How many shapes a plan has.
fn shapes(plan: &Plan) -> u64 {
    let mut all: Vec<(usize, u32)> =
        plan.iter().map(<[u32]>::len).zip(plan.batch_lengths().iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}
