//! The batches of an epoch assigned to ranks: the same number of steps for each, without communication.
//! And the position in an epoch, small enough for every checkpoint.

use std::sync::Arc;

use crate::base::digest::hex;
use crate::base::rng::Rng;
use crate::base::setting::{differ, difference};
use crate::cut::batches::Batches;
use crate::data::lengths::{Lengths, Pad};
use crate::data::units::Together;
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::plan::arrange::{Clock, Time, held};
use crate::plan::epoch::Plan;
use crate::plan::measure::Counts;
use crate::ranks::assign::{Assigned, assign};

/// The steps of an epoch, or of the rest of it, over several ranks.
///
/// Each rank computes the same schedule from the same plan and takes its own batches from it, without
/// communication.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, strategy::Blurred};
///
/// let lengths = Example::Documents.lengths();
/// let plan = Planner::new(Blurred::default(), Budget::padded(16_384)).plan(&lengths, 0)?;
/// let schedule = plan.schedule(8)?;
/// let mine = schedule.for_rank(3)?;
/// assert_eq!(mine.len(), schedule.len()); // on every rank
/// println!("{:.1} % waiting", 100.0 * schedule.idle_share());
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    plan: Plan,
    world_size: u32,
    per_step: u32,
    /// What was taken before these batches were assigned.
    before: Vec<Segment>,
    /// How many steps of this assignment were taken before.
    taken: usize,
    batches: Arc<Batches>,
    assigned: Assigned,
}

impl Schedule {
    /// The number of steps that are left, the same on every rank.
    pub fn len(&self) -> usize {
        self.assigned.slots.len() / self.per_step as usize - self.taken
    }

    /// Whether nothing is left of the epoch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of ranks.
    pub fn world_size(&self) -> u32 {
        self.world_size
    }

    /// How many batches each rank takes in a step.
    pub fn accumulate(&self) -> u32 {
        self.per_step / self.world_size
    }

    /// Keeps only the first `steps` steps.
    pub fn first(mut self, steps: usize) -> Result<Self, Error> {
        if steps > self.len() {
            return Err(Error::TooManySteps { asked: steps, steps: self.len() });
        }
        if steps < self.len() {
            // What is left at the end is not left yet.
            self.assigned.dropped.clear();
        }
        self.assigned.slots.truncate((self.taken + steps) * self.per_step as usize);
        Ok(self)
    }

    /// The batches of one rank: those of its first step, then those of its second, and so on.
    pub fn for_rank(&self, rank: u32) -> Result<Plan, Error> {
        if rank >= self.world_size {
            return Err(Error::BadRank { rank, world_size: self.world_size });
        }
        let places = (rank..self.per_step).step_by(self.world_size as usize);
        let mine = self.steps().flat_map(|step| places.clone().map(|place| step[place as usize]));
        Ok(self.plan_of(&mine.collect::<Vec<u32>>()))
    }

    /// All batches: those of the first step, rank after rank, then those of the second, and so on. A
    /// framework that assigns them to the ranks in turn gives each rank its own.
    pub fn all_ranks(&self) -> Plan {
        self.plan_of(&self.steps().flatten().copied().collect::<Vec<u32>>())
    }

    /// These batches as a plan. All of them in their own order are shared, and not copied.
    fn plan_of(&self, slots: &[u32]) -> Plan {
        if slots.iter().copied().eq(0..self.batches.len() as u32) {
            return self.plan.with_batches(Arc::clone(&self.batches));
        }
        self.plan.with_batches(self.assigned.gathered(&self.batches, slots))
    }

    /// How many sequences, and how many positions that are not padding, all ranks have in each step:
    /// what a loss is divided by.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn counts(&self, lengths: &Lengths) -> Vec<Counts> {
        let counts = |&slot: &u32| Counts::of(self.batch(slot), lengths);
        self.steps().map(|step| step.iter().map(counts).sum()).collect()
    }

    /// The share of the ranks' time that is spent waiting for the slowest rank of each step. The time
    /// of a batch comes from the cost model of the plan; without one it is the batch length for
    /// `aligned` steps, and the cells for others. The time of a packed row comes from the lengths in it.
    pub fn idle_share(&self) -> f64 {
        self.idle_share_in(self.plan.provenance().time())
    }

    /// The idle share by another cost model.
    pub fn idle_share_by(&self, model: &CostModel) -> f64 {
        self.idle_share_in(Time::Seconds(*model))
    }

    fn idle_share_in(&self, time: Time) -> f64 {
        let clock = self.clock(time);
        let (work, slowest) = self.times(|slot| self.time_of(slot, clock), 0.0);
        waiting(work, f64::from(self.world_size) * slowest)
    }

    /// How many seconds all steps take by a cost model, if each waits for its slowest rank.
    pub fn duration_by(&self, model: &CostModel) -> f64 {
        let clock = self.clock(Time::Seconds(*model));
        self.times(|slot| self.time_of(slot, clock), 0.0).1
    }

    /// The same, but a rank launches its batches ahead while it computes: a step takes as long as the
    /// launches of its batches or their computation, whichever is longer.
    pub fn seconds(&self, model: &CostModel) -> f64 {
        let rows = self.clock(Time::Cells).rows;
        let computing = |slot| {
            let (batch, pad) = self.batch(slot);
            match rows {
                None => model.computing(batch.len() as u32, pad.joint()),
                Some(lengths) => model.computing_row(pad.first, held(batch, pad, lengths)),
            }
        };
        self.times(computing, model.launch() * f64::from(self.accumulate())).1
    }

    /// How long its batches take. A schedule is only made of a plan that knows what it depends on.
    fn clock(&self, time: Time) -> Clock<'_> {
        self.plan.clock(time).unwrap_or(Clock { time, rows: None, units: None })
    }

    fn time_of(&self, slot: u32, clock: Clock) -> f64 {
        let (batch, pad) = self.batch(slot);
        clock.of(batch, pad)
    }

    /// What all ranks work together, and what the slowest rank of each step works: no step takes less than
    /// `least`.
    fn times(&self, time: impl Fn(u32) -> f64, least: f64) -> (f64, f64) {
        let mut loads = vec![0.0; self.world_size as usize];
        let (mut work, mut slowest) = (0.0, 0.0);
        for step in self.steps() {
            loads.fill(0.0);
            for (place, &slot) in step.iter().enumerate() {
                loads[place % self.world_size as usize] += time(slot);
            }
            work += loads.iter().sum::<f64>();
            slowest += loads.iter().copied().fold(least, f64::max);
        }
        (work, slowest)
    }

    /// A lower bound of the idle share, for any assignment of these batches to steps of the same size:
    /// each step must wait for its longest batch, and it is best if the longest ones are together.
    pub fn idle_bound(&self) -> f64 {
        self.idle_bound_in(self.plan.provenance().time())
    }

    /// The lower bound by another cost model.
    pub fn idle_bound_by(&self, model: &CostModel) -> f64 {
        self.idle_bound_in(Time::Seconds(*model))
    }

    fn idle_bound_in(&self, time: Time) -> f64 {
        let clock = self.clock(time);
        let mut times: Vec<f64> =
            self.steps().flatten().map(|&slot| self.time_of(slot, clock)).collect();
        let work: f64 = times.iter().sum();
        times.sort_unstable_by(|a, b| b.total_cmp(a));
        let longest: f64 = times.iter().step_by(self.per_step as usize).sum();
        waiting(work, f64::max(f64::from(self.world_size) * longest, work))
    }

    /// The sequences that are in no step, because the tail is dropped.
    pub fn dropped(&self) -> Vec<u32> {
        self.assigned.dropped.iter().flat_map(|&slot| self.batch(slot).0).copied().collect()
    }

    /// The sequences of these steps that occurred before, once for each repetition.
    pub fn repeated(&self) -> Vec<u32> {
        let mut met = vec![false; self.batches.len() + self.assigned.pieces.len()];
        let (taken, left) = self.assigned.slots.split_at(self.taken * self.per_step as usize);
        for &slot in taken {
            met[slot as usize] = true;
        }
        let again = |slot: &&u32| std::mem::replace(&mut met[**slot as usize], true);
        left.iter().filter(again).flat_map(|&slot| self.batch(slot).0).copied().collect()
    }

    /// Returns a cursor after every rank has taken `steps` of these steps.
    pub fn cursor(&self, steps: usize) -> Result<Cursor, Error> {
        let (ranks, left) = (self.per_step, self.len());
        if steps > left {
            return Err(Error::TooManySteps { asked: steps, steps: left });
        }
        let mut segments = self.before.clone();
        if self.taken + steps > 0 {
            segments.push(Segment { ranks, steps: (self.taken + steps) as u32 });
        }
        Ok(Cursor::new(&self.plan, segments))
    }

    /// The batches of the steps that are left, by number.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &[u32]> {
        self.assigned.slots.chunks(self.per_step as usize).skip(self.taken)
    }

    pub(crate) fn batch(&self, slot: u32) -> (&[u32], Pad) {
        self.assigned.batch(&self.batches, slot)
    }
}

/// The share of `all` that is not `work`; never below zero by rounding.
fn waiting(work: f64, all: f64) -> f64 {
    if all > 0.0 { (1.0 - work / all).max(0.0) } else { 0.0 }
}

/// The steps of a plan.
impl Plan {
    /// The batches of one of `world_size` ranks: the same number on every rank.
    ///
    /// [`schedule`](Plan::schedule) returns the batches of all ranks, and more.
    ///
    /// ```
    /// use lengthwise::{Budget, Lengths, Planner, strategy::Sorted};
    ///
    /// let lengths = Lengths::new((1..=100).collect::<Vec<u32>>())?;
    /// let plan = Planner::new(Sorted, Budget::sequences(10)).plan(&lengths, 0)?;
    /// for batch in &plan.for_rank(0, 4)? {
    ///     println!("{batch:?}"); // 10 batches are 3 steps of 4, the last of smaller ones
    /// }
    /// assert!(plan.for_rank(4, 4).is_err());
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn for_rank(&self, rank: u32, world_size: u32) -> Result<Plan, Error> {
        if rank >= world_size {
            return Err(Error::BadRank { rank, world_size });
        }
        self.schedule(world_size)?.for_rank(rank)
    }

    /// Assigns the batches to `world_size` ranks, step by step.
    pub fn schedule(&self, world_size: u32) -> Result<Schedule, Error> {
        let schedule = self.resume(&Cursor::new(self, Vec::new()), world_size)?;
        if schedule.is_empty() {
            return Err(Error::NoFullStep { batches: self.len(), places: schedule.per_step });
        }
        Ok(schedule)
    }

    /// Returns the rest of the epoch after a cursor, for the given number of ranks: exactly the
    /// sequences that no rank has seen.
    ///
    /// With the same number of batches per step, the schedule continues as it was; with another number,
    /// the rest is assigned again. Nothing is replayed: resuming takes the same time at the end of an
    /// epoch as at its beginning, plus one assignment for every earlier change of that number.
    pub fn resume(&self, cursor: &Cursor, world_size: u32) -> Result<Schedule, Error> {
        cursor.check(self)?;
        let made = self.provenance();
        let clock = self.clock(made.time())?;
        made.check_ranks(world_size)?;
        let per_step = made.per_step(world_size)?;
        // Groups are assigned as what stays whole, and become sequences again at the end.
        let units = self.units().filter(|_| made.share == Together::Batch);
        let clock = Clock { units: units.map(|units| &**units), ..clock };
        let mut batches = self.places();
        let sequences = batches.indices.len();
        if sequences < per_step as usize {
            return Err(Error::TooFewForRanks { sequences, places: per_step, world_size });
        }
        let assign = |batches: &Batches, places: (u32, u32), segments: &[Segment]| {
            let turn = 1 + segments.len() as u32;
            let rng = Rng::new(made.seed, made.epoch).at_turn(turn);
            assign(batches, places, (made, clock), &rng)
        };
        let mut before = Vec::new();
        let segments = cursor.merged();
        let continued = segments.last().is_some_and(|last| last.ranks == per_step);
        for &segment in &segments[..segments.len() - usize::from(continued)] {
            // Which batches were seen does not depend on their slots.
            let assigned = assign(&batches, (segment.ranks, segment.ranks), &before);
            batches = Arc::new(assigned.unseen(&batches, segment.places_of(&assigned)?));
            before.push(segment);
        }
        let mut assigned = assign(&batches, (per_step, world_size), &before);
        let taken = match segments.last() {
            Some(last) if continued => last.places_of(&assigned)? / per_step as usize,
            _ => 0,
        };
        if let Some(units) = units {
            batches = Arc::new(batches.expanded(units));
            assigned.pieces = assigned.pieces.expanded(units);
        }
        let plan = self.clone();
        Ok(Schedule { plan, world_size, per_step, before, taken, batches, assigned })
    }
}

/// The position in an epoch: what was planned, and how many steps all ranks have taken.
///
/// It is a few numbers and one line of settings, the same on every rank, for an epoch of any size.
/// [`Schedule::cursor`](crate::Schedule::cursor) returns one, and [`Plan::resume`](crate::Plan::resume)
/// resumes from it, with the same number of ranks or another.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, strategy::Blurred};
///
/// let lengths = Example::Speech.lengths();
/// let plan = Planner::new(Blurred::default(), Budget::padded(12_800)).plan(&lengths, 0)?;
/// let cursor = plan.schedule(8)?.cursor(30)?; // 8 ranks took 30 steps
/// let rest = plan.resume(&cursor, 6)?; // and 6 ranks see the rest
/// let seen: usize = plan.schedule(8)?.counts(&lengths)[..30].iter().map(|c| c.sequences as usize).sum();
/// let unseen: usize = rest.counts(&lengths).iter().map(|c| c.sequences as usize).sum();
/// assert_eq!(seen + unseen, lengths.len());
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The settings that the steps depend on, as `name=value` with spaces between.
    pub settings: String,
    /// The [digest](crate::Lengths::digest) of the lengths.
    pub lengths: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// The [digest](Plan::digest) of the plan.
    pub plan: u64,
    /// What was taken so far, in order.
    pub segments: Vec<Segment>,
}

/// Steps that were taken one after another with the same number of batches each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The batches of a step: the world size, times the batches that each rank accumulates.
    pub ranks: u32,
    /// How many steps.
    pub steps: u32,
}

impl Cursor {
    /// The version of cursors that this release makes and reads.
    pub const VERSION: u32 = 1;

    pub(crate) fn new(plan: &Plan, segments: Vec<Segment>) -> Self {
        let made = plan.provenance();
        let settings = made.settings().into_iter().map(|(name, value)| format!("{name}={value}"));
        let settings = settings.collect::<Vec<_>>().join(" ");
        let (lengths, seed, epoch) = (made.lengths, made.seed, made.epoch);
        Self { settings, lengths, seed, epoch, plan: plan.digest(), segments }
    }

    /// For how many ranks the optimizer steps were planned, if they were. To resume, make the plan for
    /// the same number, [on any number of ranks](crate::Planner::canonical_ranks).
    pub fn planned_ranks(&self) -> Option<u32> {
        let mut settings = self.settings.split(' ');
        settings.find_map(|setting| setting.strip_prefix("ranks=")?.parse().ok())
    }

    /// How many steps were taken in all.
    pub fn steps(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.steps)).sum()
    }

    /// The common cursor of ranks that stopped together, from the cursors of all of them.
    ///
    /// It is an error if ranks stopped at different steps: some batches were then seen by only a part
    /// of the ranks, and there is no common position to resume from.
    pub fn of_ranks(cursors: &[Cursor]) -> Result<Cursor, Error> {
        let Some(first) = cursors.first() else { return Err(Error::NoRanks) };
        for (rank, other) in cursors.iter().enumerate().skip(1) {
            if let Err(Error::OtherRun { what, cursor, plan }) = first.same_run(other) {
                return Err(Error::RanksOfOtherRuns { rank, what, values: [cursor, plan] });
            }
            if first.merged() != other.merged() {
                let steps = [first, other].map(Cursor::steps);
                return Err(Error::RanksApart { rank, steps });
            }
        }
        Ok(first.clone())
    }

    /// Refuses a plan that this cursor does not count in.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        self.same_run(&Cursor::new(plan, Vec::new()))?;
        let sequences = plan.indices().len();
        let cannot_be = |ranks: &u32| *ranks == 0 || *ranks as usize > sequences;
        let what = match self.segments.iter().map(|segment| segment.ranks).find(cannot_be) {
            _ if self.segments.len() > MOST_SEGMENTS => {
                format!("{} changes of the number of ranks", self.segments.len())
            }
            Some(ranks) => format!("a step of {ranks} batches"),
            None => return Ok(()),
        };
        Err(Error::BadCursor { what })
    }

    /// Refuses a cursor of another run, and names the first difference.
    fn same_run(&self, plan: &Cursor) -> Result<(), Error> {
        let found = differ("lengths", [self.lengths, plan.lengths].map(hex))
            .or_else(|| difference(&self.settings, &plan.settings))
            .or_else(|| differ("seed", [self.seed, plan.seed]))
            .or_else(|| differ("epoch", [self.epoch, plan.epoch]))
            .or_else(|| differ("plan", [self.plan, plan.plan].map(hex)));
        match found {
            Some((what, [cursor, plan])) => Err(Error::OtherRun { what, cursor, plan }),
            None => Ok(()),
        }
    }

    /// The segments without empty ones; what was taken with the same number of batches is one.
    pub(crate) fn merged(&self) -> Vec<Segment> {
        let mut merged: Vec<Segment> = Vec::new();
        for &segment in self.segments.iter().filter(|segment| segment.steps > 0) {
            match merged.last_mut() {
                Some(last) if last.ranks == segment.ranks => {
                    last.steps = last.steps.saturating_add(segment.steps);
                }
                _ => merged.push(segment),
            }
        }
        merged
    }
}

/// More changes of the number of ranks in one epoch than occur in practice; each is assigned again.
const MOST_SEGMENTS: usize = 1000;

impl Segment {
    /// How many slots it took of the batches assigned to steps of its size.
    pub(crate) fn places_of(self, assigned: &Assigned) -> Result<usize, Error> {
        let Self { ranks, steps: counted } = self;
        let steps = assigned.slots.len() / ranks as usize;
        if counted as usize > steps {
            return Err(Error::CursorBeyondEnd { ranks, counted, steps });
        }
        Ok(counted as usize * ranks as usize)
    }
}
