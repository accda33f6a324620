//! One training of one model under one way to batch, as one of its workers sees it.

use std::time::Instant;

use lengthwise::{Chunks, CostModel, Lengths, Plan, cost::Step};
use lengthwise_nn::{Engine, Loss};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    batch::{Batch, Piece},
    bytes::{floats, of_floats},
    collective::{Collective, Mode},
    data::{Dataset, Targets},
    error::Error,
    evaluate,
    evaluate::Evaluator,
    experiment::Trained,
    learning::Learning,
    model::Model,
    progress::{Ended, Progress, Snapshot, Weights},
    remaining::Remaining,
    sync_point::{Agreement, Done, Requests, synchronize},
};

/// What is trained, on what, how, and what is measured by whom: the same for all trials of an
/// experiment.
pub struct Setup<'a, E: Engine> {
    /// Where the arithmetic happens.
    pub engine: &'a E,
    /// What is trained.
    pub model: &'a Model,
    /// On what.
    pub data: &'a Dataset,
    /// Evaluates the model on data that it was not trained on.
    pub evaluator: &'a Evaluator<'a>,
    /// How.
    pub learning: &'a Learning,
}

impl<E: Engine> Clone for Setup<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Engine> Copy for Setup<'_, E> {}

impl<E: Engine> std::fmt::Debug for Setup<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("learning", &self.learning).finish_non_exhaustive()
    }
}

/// One training of one model under one way to batch, as one of its workers sees it.
///
/// All workers take the same number of steps. They synchronize after every step if they share a gradient, and
/// otherwise to average or save their parameters.
pub struct Trial<'a, E: Engine> {
    setup: Setup<'a, E>,
    training: &'a Trained,
    collective: &'a dyn Collective,
    lengths: Lengths,
    chunks: Option<Chunks>,
    parameters: E::Buffer,
    gradient: E::Buffer,
    state: [E::Buffer; 2],
    /// The parameters that all workers had in common last, once they have gone on from there by
    /// themselves.
    common: Option<Vec<f32>>,
    progress: Progress,
    /// What is left of the epoch that is under way.
    remaining: Option<Remaining>,
    /// What was done since the last sync point, in how many steps, and the most steps until the next.
    done: Done,
    steps_since_sync: u64,
    interval: u64,
    /// When the workers synchronized last.
    synced_at: Instant,
    /// The steps of this epoch that this worker measured.
    measured: Vec<Step>,
}

impl<E: Engine> std::fmt::Debug for Trial<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trial").field("progress", &self.progress).finish_non_exhaustive()
    }
}

/// What an optimizer step did.
#[derive(Clone, Debug, PartialEq)]
pub struct Stepped {
    /// The micro-batches that this worker trained on: one, or several whose gradients were accumulated.
    pub batches: Vec<MicroBatch>,
    /// What the workers agreed on, if they synchronized after this step.
    pub agreement: Option<Agreement>,
    /// Whether an epoch is over.
    pub over: bool,
}

/// One of the batches of an optimizer step.
#[derive(Clone, Debug, PartialEq)]
pub struct MicroBatch {
    /// Its sequences.
    pub sequences: Vec<u32>,
    /// The length that they were padded to.
    pub length: u32,
    /// How long its gradient took.
    pub seconds: f64,
}

impl<'a, E: Engine> Trial<'a, E> {
    /// A training from its beginning.
    pub fn new(
        setup: Setup<'a, E>,
        training: &'a Trained,
        collective: &'a dyn Collective,
    ) -> Result<Self, Error> {
        let parameters = setup.model.start(training.seed);
        let zeros = || vec![0.0; parameters.len()];
        let state = [zeros(), zeros()];
        let weights = vec![Weights { parameters, state }];
        Self::resume(
            setup,
            training,
            collective,
            Snapshot { progress: Progress::start(), weights, common: None },
        )
    }

    /// A training that goes on from where it was. If it had another number of workers, and they were to
    /// average their weights, they do so here.
    pub fn resume(
        setup: Setup<'a, E>,
        training: &'a Trained,
        collective: &'a dyn Collective,
        snapshot: Snapshot,
    ) -> Result<Self, Error> {
        let whole = evaluate::lengths(setup.data)?;
        let chunks = training.chunk.map(|size| cut(setup.data, &whole, size)).transpose()?;
        let lengths = chunks.as_ref().map_or(whole, |chunks| chunks.lengths().clone());
        // What cannot be planned is said before anything is trained.
        let (plan, _) = Remaining::of_epoch(&training.planner, &lengths, 0, collective.size())?;
        let largest = plan.measure(&lengths).largest_batch_cells;
        let (engine, needed) = (setup.engine, setup.model.bytes(largest));
        if !engine.has_memory(needed) {
            return Err(Error::new(
                format!("a batch of {largest} cells needs about {} MB", needed / 1_000_000),
                "give a smaller budget, or a smaller model",
            ));
        }
        let progress = snapshot.progress.clone();
        let (mine, common) = snapshot.for_worker(training.mode, collective)?;
        let Weights { parameters, state: [first, second] } = mine;
        Ok(Self {
            gradient: engine.zeros(parameters.len())?,
            parameters: engine.upload(parameters)?,
            state: [engine.upload(first)?, engine.upload(second)?],
            setup,
            training,
            collective,
            lengths,
            chunks,
            common,
            progress,
            remaining: None,
            done: Done::default(),
            steps_since_sync: 0,
            interval: 1,
            synced_at: Instant::now(),
            measured: Vec::new(),
        })
    }

    /// How far it is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Whether nothing is left to do.
    pub fn finished(&self) -> bool {
        self.progress.ended.is_some() || self.progress.epochs.len() as u32 >= self.training.epochs
    }

    /// What is trained.
    pub fn model(&self) -> &Model {
        self.setup.model
    }

    /// The workers that train together.
    pub fn collective(&self) -> &dyn Collective {
        self.collective
    }

    /// How many steps the epoch under way has, once its plan is made.
    pub fn steps_of_epoch(&self) -> Option<usize> {
        self.remaining.as_ref().map(Remaining::steps)
    }

    /// The lengths that it plans for.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// What a step costs, by what was measured.
    pub fn cost(&self) -> Option<CostModel> {
        self.progress.cost.as_ref().and_then(|cost| cost.parse().ok())
    }

    /// What tells this worker's parameters from others.
    pub fn digest(&self) -> Result<u64, Error> {
        Ok(xxh3_64(&of_floats(&self.setup.engine.download(&self.parameters)?)))
    }

    /// The gradient of the last step: of this worker's micro-batches, or of all workers' where it is one.
    pub fn gradient(&self) -> Result<Vec<f32>, Error> {
        Ok(self.setup.engine.download(&self.gradient)?)
    }

    /// The state to save. All workers call this together, after a sync point.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let mine = self.mine()?;
        let (progress, common) = (self.progress.clone(), self.common.clone());
        if common.is_none() {
            return Ok(Snapshot { progress, weights: vec![mine], common });
        }
        let count = mine.parameters.len();
        let all = floats(&self.collective.all_gather(&of_floats(&mine.flat()))?);
        let weights = all.chunks_exact(3 * count).map(Weights::of_flat).collect();
        Ok(Snapshot { progress, weights, common })
    }

    /// Takes an optimizer step. After the last of an epoch, the model is evaluated.
    pub fn step(&mut self, requests: Requests) -> Result<Stepped, Error> {
        let mut remaining = match self.remaining.take() {
            Some(remaining) => remaining,
            None => self.begin()?,
        };
        let stepped = self.learn(&mut remaining, requests)?;
        if stepped.over {
            self.end_epoch(&mut remaining)?;
        } else {
            self.remaining = Some(remaining);
        }
        Ok(stepped)
    }

    /// Plans what remains of the epoch.
    fn begin(&mut self) -> Result<Remaining, Error> {
        self.synced_at = Instant::now();
        let plan = self.training.planner.plan(&self.lengths, self.progress.epochs.len() as u64)?;
        if plan.is_empty() {
            // Everything was left out by the planner's settings.
            return Err(Error::new("the plan has no batches", "give a larger budget"));
        }
        self.progress.current.shapes = shapes(&plan);
        let remaining = Remaining::new(&plan, &self.progress.taken, self.collective.size())?;
        self.done.work += self.synced_at.elapsed().as_secs_f64();
        Ok(remaining)
    }

    fn learn(&mut self, remaining: &mut Remaining, requests: Requests) -> Result<Stepped, Error> {
        let collective = self.collective;
        let done = (self.progress.epochs.len() as f64 + remaining.share())
            / f64::from(self.training.epochs);
        let number = self.progress.steps + 1;
        let mut stepped = self.compute(&remaining.next(collective.rank()), number, done)?;
        self.steps_since_sync += 1;
        remaining.take();
        self.progress.take(collective.size());
        self.progress.current.steps += 1;
        stepped.over = remaining.is_over();
        match self.training.mode {
            Mode::Sync => {
                let agreement = self.synchronize(remaining, requests)?;
                self.sum_gradient(agreement.part as f32)?;
                let _core = collective.core();
                let start = Instant::now();
                self.update(number, done)?;
                self.done.work += start.elapsed().as_secs_f64();
                stepped.agreement = Some(agreement);
            }
            Mode::Average { every, decay } => {
                let taken = self.progress.steps_of_epoch();
                let due = stepped.over || (every > 0 && taken.is_multiple_of(every as usize));
                if due || self.steps_since_sync >= self.interval {
                    stepped.agreement = Some(self.synchronize(remaining, requests)?);
                }
                if due {
                    self.average(decay)?;
                }
            }
        }
        if stepped.agreement.is_some_and(|agreement| !agreement.loss.is_finite()) {
            self.progress.ended = Some(Ended::Diverged);
            stepped.over = true;
        }
        Ok(stepped)
    }

    /// The work of this worker in a step: the gradient of its micro-batches, and where workers train
    /// apart, the update.
    fn compute(
        &mut self,
        batches: &[(&[u32], u32)],
        number: u64,
        done: f64,
    ) -> Result<Stepped, Error> {
        let _core = self.collective.core();
        let start = Instant::now();
        let mut batches = self.gradient_of_all(batches)?;
        if self.training.mode != Mode::Sync {
            if self.common.is_none() {
                self.common = Some(self.setup.engine.download(&self.parameters)?);
            }
            if !batches.is_empty() {
                self.update(number, done)?;
            }
        }
        if self.collective.size() > 1 {
            // Others may wait for this device.
            self.setup.engine.wait()?;
        }
        let seconds = start.elapsed().as_secs_f64();
        self.done.work += seconds;
        // A device may end what it was asked for, and workers that train apart update, after the last.
        let known: f64 = batches.iter().map(|batch| batch.seconds).sum();
        if let Some(last) = batches.last_mut() {
            last.seconds += seconds - known;
        }
        self.measured.extend(batches.iter().map(|MicroBatch { sequences, length, seconds }| {
            Step { size: sequences.len() as u32, length: *length, seconds: *seconds }
        }));
        Ok(Stepped { batches, agreement: None, over: false })
    }

    /// The gradient of the mean loss over all micro-batches of a step. It is that of one batch that has
    /// all their sequences, up to rounding: each counts by what its loss is a mean over.
    fn gradient_of_all(&mut self, batches: &[(&[u32], u32)]) -> Result<Vec<MicroBatch>, Error> {
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.setup.engine;
        engine.clear(&mut self.gradient)?;
        let several = batches.len() > 1;
        let (mut all, mut counted) = (Vec::with_capacity(batches.len()), 0);
        for &(batch, length) in batches {
            let start = Instant::now();
            counted += self.add_gradient_of(batch, length, several)?;
            let seconds = start.elapsed().as_secs_f64();
            all.push(MicroBatch { sequences: batch.to_vec(), length, seconds });
        }
        if several {
            engine.scale(&mut self.gradient, 1.0 / counted.max(1) as f32)?;
        }
        Ok(all)
    }

    /// Adds the gradient of a batch: of the sum of its losses where several batches are accumulated, and
    /// otherwise of their mean. Returns how many losses there are.
    fn add_gradient_of(
        &mut self,
        batch: &[u32],
        length: u32,
        several: bool,
    ) -> Result<usize, Error> {
        let Setup { engine, model, data, .. } = self.setup;
        engine.reset_peak();
        let resting = engine.peak_bytes();
        let pieces: Vec<Piece> = batch.iter().map(|&index| self.piece(index)).collect();
        let shown = Batch::new(data, &pieces, length as usize);
        let passed = model.pass(engine, &self.parameters, &shown)?;
        let weight = if several { passed.loss.count as f32 } else { 1.0 };
        let Loss { total, count, .. } = passed.weighted_backward(weight, &mut self.gradient)?;
        let done = &mut self.done;
        done.loss += total;
        done.counted += count as u64;
        done.batches += 1;
        done.sequences += pieces.len() as u64;
        done.frames += pieces.iter().map(|piece| piece.length as u64).sum::<u64>();
        done.cells += pieces.len() as u64 * u64::from(length);
        // Parameters, their gradient and both states rest between steps.
        let resting_parts = 4 * 4 * model.parameters() as u64;
        let needed = engine.peak_bytes().saturating_sub(resting) + resting_parts;
        done.peak_bytes = done.peak_bytes.max(needed);
        Ok(count)
    }

    /// Follows the gradient in a step of this number, when this part of the whole training is over.
    fn update(&mut self, number: u64, done: f64) -> Result<(), Error> {
        let Setup { engine, learning, .. } = self.setup;
        if learning.clip > 0.0 {
            engine.clip(&mut self.gradient, learning.clip)?;
        }
        let rate = learning.rate * learning.schedule.share(done, learning.warmup) as f32;
        engine.update(
            learning.optimizer.rule(),
            rate,
            number,
            &mut self.parameters,
            &self.gradient,
            &mut self.state,
        )?;
        Ok(())
    }

    /// Tells all workers what was done, and hears what they did.
    fn synchronize(
        &mut self,
        remaining: &mut Remaining,
        requests: Requests,
    ) -> Result<Agreement, Error> {
        remaining.sync();
        let agreement = synchronize(
            self.collective,
            &self.done,
            requests,
            self.steps_since_sync,
            &mut self.progress,
        )?;
        self.done = Done::default();
        self.steps_since_sync = 0;
        self.interval = agreement.interval;
        if let Some(together) = &mut self.progress.current.together {
            together.wall += self.synced_at.elapsed().as_secs_f64();
        }
        self.synced_at = Instant::now();
        Ok(agreement)
    }

    /// Makes the gradient that of all workers' batches together: the mean over all that was counted, of
    /// which this worker has counted a `part`.
    fn sum_gradient(&mut self, part: f32) -> Result<(), Error> {
        if self.collective.size() == 1 {
            return Ok(());
        }
        let engine = self.setup.engine;
        let start = Instant::now();
        let mut gradient = engine.download(&self.gradient)?;
        for value in &mut gradient {
            // Without a batch the gradient is that of the step before.
            *value = if part > 0.0 { *value * part } else { 0.0 };
        }
        self.done.work += start.elapsed().as_secs_f64();
        self.sum(&mut gradient)?;
        self.gradient = engine.upload(gradient)?;
        Ok(())
    }

    /// All workers continue from the mean of their weights.
    fn average(&mut self, decay: f32) -> Result<(), Error> {
        let engine = self.setup.engine;
        let common = self.common.take().unwrap_or_default();
        let mut all = self.mine()?.flat();
        if self.collective.size() > 1 {
            self.sum(&mut all)?;
        }
        let mean = Weights::of_flat(&all).averaged(self.collective.size(), decay, &common);
        let Weights { parameters, state: [first, second] } = mean;
        self.parameters = engine.upload(parameters)?;
        self.state = [engine.upload(first)?, engine.upload(second)?];
        Ok(())
    }

    fn mine(&self) -> Result<Weights, Error> {
        let engine = self.setup.engine;
        let [first, second] = &self.state;
        Ok(Weights {
            parameters: engine.download(&self.parameters)?,
            state: [engine.download(first)?, engine.download(second)?],
        })
    }

    fn sum(&mut self, values: &mut [f32]) -> Result<(), Error> {
        let start = Instant::now();
        self.collective.sum(values)?;
        self.done.exchange = start.elapsed().as_secs_f64();
        Ok(())
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

    fn end_epoch(&mut self, remaining: &mut Remaining) -> Result<(), Error> {
        let Setup { engine, model, evaluator, learning, .. } = self.setup;
        // What the last step did after its sync point.
        self.synchronize(remaining, Requests::default())?;
        self.predict(remaining)?;
        let mut record = self.progress.end();
        if self.chunks.is_some() {
            // Rates are those of sequences; a piece is a part of one.
            record.sequences = self.setup.data.len() as u64;
        }
        if self.progress.ended.is_none() {
            self.compare()?;
            let validation =
                evaluator.evaluate(engine, model, &self.parameters, self.collective)?;
            record.validation = Some(validation);
        }
        self.progress.epochs.push(record);
        if learning.patience > 0 && self.progress.without_progress() >= learning.patience as usize {
            self.progress.ended.get_or_insert(Ended::Patience);
        }
        Ok(())
    }

    /// What steps cost, as the first worker measured them, and for how long each worker had to wait by
    /// that and the plan.
    fn predict(&mut self, remaining: &Remaining) -> Result<(), Error> {
        let fit = CostModel::fit(&self.measured).map(|fit| fit.model.to_string());
        self.measured.clear();
        let mut words = fit.unwrap_or_default().into_bytes();
        self.collective.broadcast(&mut words)?;
        if !words.is_empty() {
            self.progress.cost = String::from_utf8(words).ok();
        }
        let cost = self.cost();
        let Some(together) = &mut self.progress.current.together else { return Ok(()) };
        let idle = remaining.idle(|size, length| match cost {
            Some(cost) => cost.seconds(size, length),
            None => f64::from(size) * f64::from(length),
        });
        // Of an epoch that was gone on with, no process knows all sync points.
        let idle = idle.unwrap_or_else(|| vec![f64::NAN; together.workers.len()]);
        for (worker, idle) in together.workers.iter_mut().zip(idle) {
            worker.predicted = idle;
        }
        Ok(())
    }

    /// Refuses to go on if workers have come to different parameters.
    fn compare(&self) -> Result<(), Error> {
        if self.collective.size() == 1 {
            return Ok(());
        }
        let all = self.collective.all_gather(&self.digest()?.to_le_bytes())?;
        let other = all.chunks_exact(8).position(|digest| digest != &all[..8]);
        match other {
            None => Ok(()),
            Some(rank) => Err(Error::new(
                format!("worker {rank} has come to other parameters than worker 0"),
                "their processors or devices may compute differently: use equal ones, or `--mode average`",
            )),
        }
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
