//! What is left of an epoch, for all workers.

use lengthwise::{Lengths, Plan, Planner, Schedule, Segment, Strategy};

use crate::{Error, Taken};

/// What is left of an epoch: the batches of all workers, step by step.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The first step's batches in the order of ranks, then the second's, and so on.
    batches: Plan,
    /// Those that repeat others, as there are fewer sequences than workers: nobody trains on them.
    again: Vec<bool>,
    workers: usize,
    /// How many steps were taken before.
    before: usize,
    /// How many of these are taken.
    taken: usize,
    /// After how many of these the workers met.
    meetings: Vec<usize>,
}

impl Rest {
    /// What `workers` have left of a plan after all that was taken.
    pub(crate) fn new(plan: &Plan, taken: &[Taken], workers: usize) -> Result<Self, Error> {
        let workers_of_plan = u32::try_from(workers).unwrap_or(u32::MAX);
        let mut cursor = plan.schedule(workers_of_plan)?.cursor(0)?;
        let segment = |taken: &Taken| Segment { ranks: taken.workers, steps: taken.steps };
        cursor.segments = taken.iter().map(segment).collect();
        let schedule: Schedule = plan.resume(&cursor, workers_of_plan)?;
        let batches = schedule.all_ranks();
        let mut met = std::collections::HashSet::new();
        // A batch that repeats another has none but its sequences.
        let again = batches
            .iter()
            .map(|batch| batch.iter().filter(|index| !met.insert(**index)).count() > 0)
            .collect();
        let before = taken.iter().map(|taken| taken.steps as usize).sum();
        Ok(Self { batches, again, workers, before, taken: 0, meetings: Vec::new() })
    }

    /// The same from the beginning of an epoch.
    pub(crate) fn of_epoch(
        planner: &Planner<Strategy>,
        lengths: &Lengths,
        epoch: u64,
        workers: usize,
    ) -> Result<(Plan, Self), Error> {
        let plan = planner.plan(lengths, epoch)?;
        let rest = Self::new(&plan, &[], workers)?;
        Ok((plan, rest))
    }

    /// How many steps the epoch has, with those that were taken before.
    pub(crate) fn steps(&self) -> usize {
        self.before + self.batches.len() / self.workers
    }

    /// Whether nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        self.taken * self.workers == self.batches.len()
    }

    /// The next batch of a worker and its length; nothing where that is a repetition.
    pub(crate) fn next(&self, rank: usize) -> Option<(&[u32], u32)> {
        let at = self.taken * self.workers + rank;
        if *self.again.get(at)? {
            return None;
        }
        Some((self.batches.get(at)?, self.batches.batch_length(at)?))
    }

    /// A step was taken.
    pub(crate) fn take(&mut self) {
        self.taken += 1;
    }

    /// The workers met.
    pub(crate) fn meet(&mut self) {
        if self.meetings.last() != Some(&self.taken) {
            self.meetings.push(self.taken);
        }
    }

    /// The share of its time that each worker has to wait for others at the meetings, where `time` says
    /// how long a batch of given size and length takes.
    pub(crate) fn idle(&self, time: impl Fn(u32, u32) -> f64) -> Vec<f64> {
        let (mut work, mut slowest) = (vec![0.0; self.workers], 0.0);
        let mut from = 0;
        for &to in &self.meetings {
            let mut loads = vec![0.0; self.workers];
            for at in from * self.workers..to * self.workers {
                let (Some(batch), Some(length)) =
                    (self.batches.get(at), self.batches.batch_length(at))
                else {
                    continue;
                };
                if !self.again[at] {
                    loads[at % self.workers] += time(batch.len() as u32, length);
                }
            }
            slowest += loads.iter().copied().fold(0.0, f64::max);
            for (work, load) in work.iter_mut().zip(loads) {
                *work += load;
            }
            from = to;
        }
        let share = |work: f64| if slowest > 0.0 { (1.0 - work / slowest).max(0.0) } else { 0.0 };
        work.into_iter().map(share).collect()
    }
}
