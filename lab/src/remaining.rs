//! The steps that remain of an epoch.

use std::collections::HashSet;

use lengthwise::{Lengths, Plan, Planner, Segment, Strategy};

use crate::{error::Error, progress::Taken};

/// What remains of an epoch for the present number of workers: all of it, or what other workers have left.
/// Some of its steps may be taken already.
#[derive(Debug)]
pub(crate) struct Remaining {
    /// The first step's batches in the order of ranks, then the second's, and so on.
    batches: Plan,
    /// Batches that repeat others, where there are fewer sequences than workers. They are not trained on.
    again: Vec<bool>,
    workers: usize,
    /// Micro-batches of each worker in a step.
    micro_batches: usize,
    /// How many steps others took before, and what share of all sequences they saw.
    before: usize,
    seen: f64,
    /// How many of these steps are taken.
    taken: usize,
    /// The step that this process began with, and the steps after which the workers synchronized since.
    begun: usize,
    sync_points: Vec<usize>,
}

impl Remaining {
    /// What `workers` have left of a plan after all that was taken.
    pub(crate) fn new(plan: &Plan, taken: &[Taken], workers: usize) -> Result<Self, Error> {
        let ranks = u32::try_from(workers).unwrap_or(u32::MAX);
        let (before, own) = match taken.split_last() {
            Some((last, before)) if last.workers == ranks => (before, last.steps as usize),
            _ => (taken, 0),
        };
        let mut cursor = plan.schedule(ranks)?.cursor(0)?;
        let segment = |taken: &Taken| -> Result<Segment, Error> {
            // A step of several micro-batches has as many for each of the workers that took it.
            let micro_batches = plan.schedule(taken.workers)?.accumulate();
            Ok(Segment { ranks: taken.workers * micro_batches, steps: taken.steps })
        };
        cursor.segments = before.iter().map(segment).collect::<Result<_, _>>()?;
        let schedule = plan.resume(&cursor, ranks)?;
        let (batches, micro_batches) = (schedule.all_ranks(), schedule.accumulate() as usize);
        let mut met = HashSet::new();
        // A batch that repeats another has none but its sequences.
        let again = batches
            .iter()
            .map(|batch| batch.iter().filter(|index| !met.insert(**index)).count() > 0)
            .collect();
        let all: usize = plan.iter().map(<[u32]>::len).sum();
        let seen = (all - met.len()) as f64 / all.max(1) as f64;
        let before = before.iter().map(|taken| taken.steps as usize).sum();
        let sync_points = Vec::new();
        Ok(Self {
            batches,
            again,
            workers,
            micro_batches,
            before,
            seen,
            taken: own,
            begun: own,
            sync_points,
        })
    }

    /// The same from the beginning of an epoch.
    pub(crate) fn of_epoch(
        planner: &Planner<Strategy>,
        lengths: &Lengths,
        epoch: u64,
        workers: usize,
    ) -> Result<(Plan, Self), Error> {
        let plan = planner.plan(lengths, epoch)?;
        let remaining = Self::new(&plan, &[], workers)?;
        Ok((plan, remaining))
    }

    /// Batches of all workers in a step.
    fn per_step(&self) -> usize {
        self.workers * self.micro_batches
    }

    fn own_steps(&self) -> usize {
        self.batches.len() / self.per_step()
    }

    /// How many steps the epoch has, with those that others took.
    pub(crate) fn steps(&self) -> usize {
        self.before + self.own_steps()
    }

    /// What share of the epoch is over: of its steps, where all are of as many workers.
    pub(crate) fn share(&self) -> f64 {
        self.seen + (1.0 - self.seen) * (self.taken as f64 / self.own_steps().max(1) as f64)
    }

    /// Whether nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        self.taken == self.own_steps()
    }

    /// The micro-batches of a worker in the next step, each with its length. A micro-batch that repeats
    /// another is left out.
    pub(crate) fn next(&self, rank: usize) -> Vec<(&[u32], u32)> {
        let places = (self.taken * self.per_step() + rank..(self.taken + 1) * self.per_step())
            .step_by(self.workers);
        let batch = |at: usize| Some((self.batches.get(at)?, self.batches.batch_length(at)?));
        places.filter(|&at| self.again.get(at) == Some(&false)).filter_map(batch).collect()
    }

    /// A step was taken.
    pub(crate) fn take(&mut self) {
        self.taken += 1;
    }

    /// The workers synchronize after this step.
    pub(crate) fn sync(&mut self) {
        if self.sync_points.last() != Some(&self.taken) {
            self.sync_points.push(self.taken);
        }
    }

    /// The share of its time that each worker has to wait for others at the sync points, where `time` says
    /// how long a batch of given size and length takes. `None` if this process has not seen all of them.
    pub(crate) fn idle(&self, time: impl Fn(u32, u32) -> f64) -> Option<Vec<f64>> {
        if self.before + self.begun > 0 {
            return None;
        }
        let (mut work, mut slowest) = (vec![0.0; self.workers], 0.0);
        let mut from = 0;
        for &to in &self.sync_points {
            let mut loads = vec![0.0; self.workers];
            for at in from * self.per_step()..to * self.per_step() {
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
        Some(work.into_iter().map(share).collect())
    }
}

#[cfg(test)]
mod tests {
    use lengthwise::{Budget, Update};

    use super::*;

    fn plan() -> Plan {
        let lengths = Lengths::new((1..=200).collect::<Vec<u32>>()).unwrap();
        let strategy: Strategy = "blurred".parse().unwrap();
        Planner::new(strategy, Budget::sequences(3)).plan(&lengths, 0).unwrap()
    }

    fn seen(remaining: &mut Remaining) -> Vec<u32> {
        let mut seen = Vec::new();
        while !remaining.is_over() {
            for rank in 0..remaining.workers {
                seen.extend(remaining.next(rank).into_iter().flat_map(|(batch, _)| batch));
            }
            remaining.take();
        }
        seen.sort_unstable();
        seen
    }

    #[test]
    fn the_share_that_is_over_does_not_jump_when_workers_change() {
        let plan = plan();
        for steps in [1, 8, 16] {
            let taken = [Taken { workers: 4, steps }];
            let share = Remaining::new(&plan, &taken, 4).unwrap().share();
            assert!((share - f64::from(steps) / 17.0).abs() < 1e-12);
            for workers in [1, 2, 5, 8] {
                let remaining = Remaining::new(&plan, &taken, workers).unwrap();
                assert!(
                    (remaining.share() - share).abs() < 0.02,
                    "{workers}: {}",
                    remaining.share()
                );
                // And goes on from there if it is stopped again.
                let more = [taken[0], Taken { workers: workers as u32, steps: 1 }];
                let mut later = Remaining::new(&plan, &more, workers).unwrap();
                assert!(later.share() > remaining.share());
                assert_eq!(later.steps(), remaining.steps());
                while !later.is_over() {
                    later.take();
                }
                assert!((later.share() - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn fewer_sequences_than_workers_are_seen_once() {
        let plan = plan();
        // All but the last batch is taken by one worker.
        let taken = [Taken { workers: 1, steps: plan.len() as u32 - 1 }];
        let left = seen(&mut Remaining::new(&plan, &taken, 1).unwrap());
        assert_eq!(left.len(), 3);
        for workers in [2, 4, 7] {
            assert_eq!(
                seen(&mut Remaining::new(&plan, &taken, workers).unwrap()),
                left,
                "{workers}"
            );
        }
    }

    #[test]
    fn micro_batches_of_a_step_are_shared_by_the_workers() {
        let lengths = Lengths::new((1..=200).collect::<Vec<u32>>()).unwrap();
        let strategy: Strategy = "proportional:batches=4".parse().unwrap();
        let planner = Planner::new(strategy, Budget::padded(1000)).update(Update::Sequences(20));
        let plan = planner.plan(&lengths, 0).unwrap();
        for (workers, micro_batches) in [(1, 4), (2, 2), (4, 1)] {
            let mut remaining = Remaining::new(&plan, &[], workers).unwrap();
            assert_eq!((remaining.steps(), remaining.next(0).len()), (10, micro_batches));
            assert_eq!(seen(&mut remaining), (0..200).collect::<Vec<u32>>());
        }
        // Three steps with one worker, then two workers see all that is left.
        let mut first = Remaining::new(&plan, &[], 1).unwrap();
        let mut before = Vec::new();
        for _ in 0..3 {
            before.extend(first.next(0).into_iter().flat_map(|(batch, _)| batch.to_vec()));
            first.take();
        }
        let taken = [Taken { workers: 1, steps: 3 }];
        let mut rest = Remaining::new(&plan, &taken, 2).unwrap();
        assert_eq!(rest.steps(), 10);
        before.extend(seen(&mut rest));
        before.sort_unstable();
        assert_eq!(before, (0..200).collect::<Vec<u32>>());
    }

    #[test]
    fn waiting_is_counted_between_sync_points() {
        let lengths = Lengths::new(vec![1, 2, 3, 4]).unwrap();
        let strategy: Strategy = "sorted".parse().unwrap();
        let planner =
            Planner::new(strategy, Budget::sequences(1)).steps(lengthwise::Steps::InOrder);
        let plan = planner.arrange(lengthwise::Arrange::AsBuilt).plan(&lengths, 0).unwrap();
        let idle = |sync_points: &[usize]| {
            let mut remaining = Remaining::new(&plan, &[], 2).unwrap();
            for step in 1..=2 {
                remaining.take();
                if sync_points.contains(&step) {
                    remaining.sync();
                }
            }
            remaining.idle(|_, length| f64::from(length)).unwrap()
        };
        // One worker has 1 and 3, the other 2 and 4.
        assert_eq!(idle(&[1, 2]), [1.0 - 4.0 / 6.0, 0.0]);
        assert_eq!(idle(&[2]), [1.0 - 4.0 / 6.0, 0.0]);
        let resumed = Remaining::new(&plan, &[Taken { workers: 2, steps: 1 }], 2).unwrap();
        assert_eq!(resumed.idle(|_, length| f64::from(length)), None);
    }
}
