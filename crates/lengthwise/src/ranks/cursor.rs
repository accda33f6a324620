//! Where an epoch stands, small enough to be in every checkpoint.

use crate::base::setting::difference;
use crate::error::Error;
use crate::plan::epoch::Plan;
use crate::ranks::assign::Assigned;

/// Where an epoch stands: what was planned, and how many steps all ranks have taken.
///
/// It is a few numbers and one line of settings, the same on every rank, whatever the epoch's size.
/// [`Schedule::cursor`](crate::Schedule::cursor) gives one, and
/// [`Plan::resume`](crate::Plan::resume) goes on from it, with the same number of ranks or another.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, strategy::Blurred};
///
/// let lengths = Example::Speech.lengths();
/// let plan = Planner::new(Blurred::default(), Budget::padded(12_800)).plan(&lengths, 0)?;
/// let cursor = plan.schedule(8)?.cursor(30)?; // 8 ranks took 30 steps
/// let rest = plan.resume(&cursor, 6)?; // and 6 ranks see what nobody has seen
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

    /// How many steps were taken in all.
    pub fn steps(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.steps)).sum()
    }

    /// The one cursor of ranks that stopped together, from the cursors of all of them.
    ///
    /// Ranks that stopped at different steps are refused: some batches were then seen by a part of
    /// the ranks, and there is no place to go on from.
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
        let hex = |digest: u64| format!("{digest:016x}");
        let settings = difference(&self.settings, &plan.settings);
        let mut all = [("lengths", [self.lengths, plan.lengths].map(hex))]
            .into_iter()
            .chain(settings.map(|(what, values)| (what, values.map(str::to_owned))))
            .chain([
                ("seed", [self.seed, plan.seed].map(|seed| seed.to_string())),
                ("epoch", [self.epoch, plan.epoch].map(|epoch| epoch.to_string())),
                ("plan", [self.plan, plan.plan].map(hex)),
            ]);
        match all.find(|(_, [cursor, plan])| cursor != plan) {
            Some((what, [cursor, plan])) => {
                Err(Error::OtherRun { what: what.to_owned(), cursor, plan })
            }
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

/// More changes of the number of ranks in one epoch than anybody has; each is dealt anew.
const MOST_SEGMENTS: usize = 1000;

impl Segment {
    /// How many places it took of the batches assigned to steps of its size.
    pub(crate) fn places_of(self, assigned: &Assigned) -> Result<usize, Error> {
        let Self { ranks, steps: counted } = self;
        let steps = assigned.slots.len() / ranks as usize;
        if counted as usize > steps {
            return Err(Error::CursorBeyondEnd { ranks, counted, steps });
        }
        Ok(counted as usize * ranks as usize)
    }
}
