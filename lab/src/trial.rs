//! One training of one model under one way to batch, as one of its workers sees it.

use std::time::Instant;

use lengthwise::{Chunks, CostModel, Lengths, Plan, Step};
use lengthwise_nn::{Engine, Loss};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    batch::{Batch, Piece},
    bytes::{floats, of_floats},
    data::{Dataset, Targets},
    error::Error,
    examine,
    examine::Examiner,
    experiment::Trained,
    learning::Learning,
    meeting::{Agreed, Asks, Done, meet},
    model::Model,
    place::{Ended, Learnt, Place, Snapshot},
    rest::Rest,
    team::{Mode, Team},
};

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

/// One training of one model under one way to batch, as one of its workers sees it.
///
/// All workers take the same number of steps, and meet now and then: after every step where their
/// gradients are one, and otherwise to average their parameters, or to keep them.
pub struct Trial<'a, E: Engine> {
    bench: Bench<'a, E>,
    training: &'a Trained,
    team: &'a dyn Team,
    lengths: Lengths,
    chunks: Option<Chunks>,
    parameters: E::Buffer,
    gradient: E::Buffer,
    state: [E::Buffer; 2],
    /// The parameters that all workers had in common last, once they have gone on from there by
    /// themselves.
    common: Option<Vec<f32>>,
    place: Place,
    /// What is left of the epoch that is under way.
    rest: Option<Rest>,
    /// What was done since the workers met, in how many steps, and after how many they meet again.
    done: Done,
    alone: u64,
    pace: u64,
    /// When the workers met last.
    met: Instant,
    /// The steps of this epoch that this worker measured.
    measured: Vec<Step>,
}

impl<E: Engine> std::fmt::Debug for Trial<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trial").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub struct Stepped {
    /// What this worker trained on.
    pub sequences: Vec<u32>,
    /// What they were padded to.
    pub length: u32,
    /// How long that took.
    pub seconds: f64,
    /// What the workers agreed on, if they met.
    pub agreed: Option<Agreed>,
    /// Whether an epoch is over.
    pub over: bool,
}

impl<'a, E: Engine> Trial<'a, E> {
    /// A training from its beginning.
    pub fn new(
        bench: Bench<'a, E>,
        training: &'a Trained,
        team: &'a dyn Team,
    ) -> Result<Self, Error> {
        let parameters = bench.model.start(training.seed);
        let zeros = || vec![0.0; parameters.len()];
        let state = [zeros(), zeros()];
        let learnt = vec![Learnt { parameters, state }];
        Self::resume(
            bench,
            training,
            team,
            Snapshot { place: Place::start(), learnt, common: None },
        )
    }

    /// A training that goes on from where it was. If it had another number of workers, and they were to
    /// average what they have learnt, they do so here.
    pub fn resume(
        bench: Bench<'a, E>,
        training: &'a Trained,
        team: &'a dyn Team,
        snapshot: Snapshot,
    ) -> Result<Self, Error> {
        let whole = examine::lengths(bench.data)?;
        let chunks = training.chunk.map(|size| cut(bench.data, &whole, size)).transpose()?;
        let lengths = chunks.as_ref().map_or(whole, |chunks| chunks.lengths().clone());
        // What cannot be planned is said before anything is trained.
        let (plan, _) = Rest::of_epoch(&training.planner, &lengths, 0, team.size())?;
        let largest = plan.measure(&lengths).largest_batch_cells;
        let (engine, needed) = (bench.engine, bench.model.bytes(largest));
        if !engine.room(needed) {
            return Err(Error::new(
                format!("a batch of {largest} cells needs about {} MB", needed / 1_000_000),
                "give a smaller budget, or a smaller model",
            ));
        }
        let place = snapshot.place.clone();
        let (mine, common) = snapshot.for_worker(training.mode, team)?;
        let Learnt { parameters, state: [first, second] } = mine;
        Ok(Self {
            gradient: engine.zeros(parameters.len())?,
            parameters: engine.upload(parameters)?,
            state: [engine.upload(first)?, engine.upload(second)?],
            bench,
            training,
            team,
            lengths,
            chunks,
            common,
            place,
            rest: None,
            done: Done::default(),
            alone: 0,
            pace: 1,
            met: Instant::now(),
            measured: Vec::new(),
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

    /// What is trained.
    pub fn model(&self) -> &Model {
        self.bench.model
    }

    /// Who trains.
    pub fn team(&self) -> &dyn Team {
        self.team
    }

    /// How many steps the epoch under way has, once its plan is made.
    pub fn steps_of_epoch(&self) -> Option<usize> {
        self.rest.as_ref().map(Rest::steps)
    }

    /// The lengths that it plans for.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// What a step costs, by what was measured.
    pub fn cost(&self) -> Option<CostModel> {
        self.place.cost.as_ref().and_then(|cost| cost.parse().ok())
    }

    /// What tells this worker's parameters from others.
    pub fn digest(&self) -> Result<u64, Error> {
        Ok(xxh3_64(&of_floats(&self.bench.engine.download(&self.parameters)?)))
    }

    /// The gradient of the last step: of this worker's batch, or of all workers' where it is one.
    pub fn gradient(&self) -> Result<Vec<f32>, Error> {
        Ok(self.bench.engine.download(&self.gradient)?)
    }

    /// All that it is now. Workers call this together, after they met.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let mine = self.mine()?;
        let (place, common) = (self.place.clone(), self.common.clone());
        if common.is_none() {
            return Ok(Snapshot { place, learnt: vec![mine], common });
        }
        let count = mine.parameters.len();
        let all = floats(&self.team.all_gather(&of_floats(&mine.flat()))?);
        let learnt = all.chunks_exact(3 * count).map(Learnt::of_flat).collect();
        Ok(Snapshot { place, learnt, common })
    }

    /// Trains on one batch. After the last of an epoch, what was learnt is examined.
    pub fn step(&mut self, asks: Asks) -> Result<Stepped, Error> {
        let mut rest = match self.rest.take() {
            Some(rest) => rest,
            None => self.begin()?,
        };
        let stepped = self.learn(&mut rest, asks)?;
        if stepped.over {
            self.end_epoch(&mut rest)?;
        } else {
            self.rest = Some(rest);
        }
        Ok(stepped)
    }

    /// Plans the rest of an epoch.
    fn begin(&mut self) -> Result<Rest, Error> {
        self.met = Instant::now();
        let plan = self.training.planner.plan(&self.lengths, self.place.epochs.len() as u64)?;
        if plan.is_empty() {
            // Everything was left out by the planner's settings.
            return Err(Error::new("the plan has no batches", "give a larger budget"));
        }
        self.place.current.shapes = shapes(&plan);
        let rest = Rest::new(&plan, &self.place.taken, self.team.size())?;
        self.done.work += self.met.elapsed().as_secs_f64();
        Ok(rest)
    }

    fn learn(&mut self, rest: &mut Rest, asks: Asks) -> Result<Stepped, Error> {
        let team = self.team;
        let done = (self.place.epochs.len() as f64 + rest.share()) / f64::from(self.bench.epochs);
        let number = self.place.steps + 1;
        let mut stepped = {
            let _core = team.core();
            let start = Instant::now();
            let mut stepped = match rest.next(team.rank()) {
                Some((batch, length)) => self.look(batch, length)?,
                None => Stepped::nothing(),
            };
            if self.training.mode != Mode::Sync {
                if self.common.is_none() {
                    self.common = Some(self.bench.engine.download(&self.parameters)?);
                }
                if !stepped.sequences.is_empty() {
                    self.update(number, done)?;
                }
            }
            if team.size() > 1 {
                // Others may wait for this device.
                self.bench.engine.wait()?;
            }
            stepped.seconds = start.elapsed().as_secs_f64();
            stepped
        };
        self.done.work += stepped.seconds;
        if !stepped.sequences.is_empty() {
            let (size, length) = (stepped.sequences.len() as u32, stepped.length);
            self.measured.push(Step { size, length, seconds: stepped.seconds });
        }
        self.alone += 1;
        rest.take();
        self.place.take(team.size());
        self.place.current.steps += 1;
        stepped.over = rest.is_over();
        match self.training.mode {
            Mode::Sync => {
                let agreed = self.meet(rest, asks)?;
                self.sum_gradient(agreed.part as f32)?;
                let _core = team.core();
                let start = Instant::now();
                self.update(number, done)?;
                self.done.work += start.elapsed().as_secs_f64();
                stepped.agreed = Some(agreed);
            }
            Mode::Average { every, decay } => {
                let taken = self.place.steps_of_epoch();
                let due = stepped.over || (every > 0 && taken.is_multiple_of(every as usize));
                if due || self.alone >= self.pace {
                    stepped.agreed = Some(self.meet(rest, asks)?);
                }
                if due {
                    self.average(decay)?;
                }
            }
        }
        if stepped.agreed.is_some_and(|agreed| !agreed.loss.is_finite()) {
            self.place.ended = Some(Ended::Diverged);
            stepped.over = true;
        }
        Ok(stepped)
    }

    /// The gradient of a batch.
    fn look(&mut self, batch: &[u32], length: u32) -> Result<Stepped, Error> {
        let Bench { engine, model, data, .. } = self.bench;
        engine.reset_peak();
        let resting = engine.peak_bytes();
        let pieces: Vec<Piece> = batch.iter().map(|&index| self.piece(index)).collect();
        let shown = Batch::new(data, &pieces, length as usize);
        engine.clear(&mut self.gradient)?;
        let passed = model.pass(engine, &self.parameters, &shown)?;
        let Loss { total, count, .. } = passed.backward(&mut self.gradient)?;
        let done = &mut self.done;
        done.loss += total;
        done.counted += count as u64;
        done.sequences += pieces.len() as u64;
        done.frames += pieces.iter().map(|piece| piece.length as u64).sum::<u64>();
        done.cells += pieces.len() as u64 * u64::from(length);
        // Parameters, their gradient and both states rest between steps.
        let resting_parts = 4 * 4 * model.parameters() as u64;
        let needed = engine.peak_bytes().saturating_sub(resting) + resting_parts;
        done.peak_bytes = done.peak_bytes.max(needed);
        Ok(Stepped { sequences: batch.to_vec(), length, ..Stepped::nothing() })
    }

    /// Follows the gradient in a step of this number, when this part of the whole training is over.
    fn update(&mut self, number: u64, done: f64) -> Result<(), Error> {
        let Bench { engine, learning, .. } = self.bench;
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
    fn meet(&mut self, rest: &mut Rest, asks: Asks) -> Result<Agreed, Error> {
        rest.meet();
        let agreed = meet(self.team, &self.done, asks, self.alone, &mut self.place)?;
        self.done = Done::default();
        self.alone = 0;
        self.pace = agreed.pace;
        if let Some(together) = &mut self.place.current.together {
            together.wall += self.met.elapsed().as_secs_f64();
        }
        self.met = Instant::now();
        Ok(agreed)
    }

    /// Makes the gradient that of all workers' batches together: the mean over all that was counted, of
    /// which this worker has counted a `part`.
    fn sum_gradient(&mut self, part: f32) -> Result<(), Error> {
        if self.team.size() == 1 {
            return Ok(());
        }
        let engine = self.bench.engine;
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

    /// All go on from the mean of what they have learnt.
    fn average(&mut self, decay: f32) -> Result<(), Error> {
        let engine = self.bench.engine;
        let common = self.common.take().unwrap_or_default();
        let mut all = self.mine()?.flat();
        if self.team.size() > 1 {
            self.sum(&mut all)?;
        }
        let mean = Learnt::of_flat(&all).averaged(self.team.size(), decay, &common);
        let Learnt { parameters, state: [first, second] } = mean;
        self.parameters = engine.upload(parameters)?;
        self.state = [engine.upload(first)?, engine.upload(second)?];
        Ok(())
    }

    fn mine(&self) -> Result<Learnt, Error> {
        let engine = self.bench.engine;
        let [first, second] = &self.state;
        Ok(Learnt {
            parameters: engine.download(&self.parameters)?,
            state: [engine.download(first)?, engine.download(second)?],
        })
    }

    fn sum(&mut self, values: &mut [f32]) -> Result<(), Error> {
        let start = Instant::now();
        self.team.sum(values)?;
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

    fn end_epoch(&mut self, rest: &mut Rest) -> Result<(), Error> {
        let Bench { engine, model, examiner, learning, .. } = self.bench;
        // What the last step did after its meeting.
        self.meet(rest, Asks::default())?;
        self.predict(rest)?;
        let mut record = self.place.end();
        if self.chunks.is_some() {
            // Rates are those of sequences; a piece is a part of one.
            record.sequences = self.bench.data.len() as u64;
        }
        if self.place.ended.is_none() {
            self.compare()?;
            let validation = examiner.examine(engine, model, &self.parameters, self.team)?;
            record.validation = Some(validation);
        }
        self.place.epochs.push(record);
        if learning.patience > 0 && self.place.without_progress() >= learning.patience as usize {
            self.place.ended.get_or_insert(Ended::Patience);
        }
        Ok(())
    }

    /// What steps cost, as the first worker measured them, and for how long each worker had to wait by
    /// that and the plan.
    fn predict(&mut self, rest: &Rest) -> Result<(), Error> {
        let fit = CostModel::fit(&self.measured).map(|fit| fit.model.to_string());
        self.measured.clear();
        let mut words = fit.unwrap_or_default().into_bytes();
        self.team.broadcast(&mut words)?;
        if !words.is_empty() {
            self.place.cost = String::from_utf8(words).ok();
        }
        let cost = self.cost();
        let Some(together) = &mut self.place.current.together else { return Ok(()) };
        let idle = rest.idle(|size, length| match cost {
            Some(cost) => cost.seconds(size, length),
            None => f64::from(size) * f64::from(length),
        });
        // Of an epoch that was gone on with, nobody knows all meetings.
        let idle = idle.unwrap_or_else(|| vec![f64::NAN; together.workers.len()]);
        for (worker, idle) in together.workers.iter_mut().zip(idle) {
            worker.predicted = idle;
        }
        Ok(())
    }

    /// Refuses to go on if workers have come to different parameters.
    fn compare(&self) -> Result<(), Error> {
        if self.team.size() == 1 {
            return Ok(());
        }
        let all = self.team.all_gather(&self.digest()?.to_le_bytes())?;
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

impl Stepped {
    fn nothing() -> Self {
        Self { sequences: Vec::new(), length: 0, seconds: 0.0, agreed: None, over: false }
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
