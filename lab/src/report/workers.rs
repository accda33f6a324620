//! What the workers of a row did, where several trained together.

use super::{
    records::{Together, TrainingEpoch, WorkerEpoch},
    row::Row,
    student::mean,
};

/// More seconds than any measurement has.
const LONGEST: f64 = 1e12;
/// By how much shares of time must differ to be worth a sentence.
const MUCH: f64 = 0.05;

/// How many workers there are in the epochs of a row: the least and the most. A training can go on with
/// fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) least: usize,
    pub(super) most: usize,
}

/// One of the workers: means over all epochs that it was in, of all seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worker {
    pub(super) rank: usize,
    /// How many epochs it was in.
    pub(super) epochs: usize,
    /// Seconds of an epoch.
    pub(super) work: f64,
    pub(super) wait: f64,
    /// The share of its time that it waited, and that it had to by the plan.
    pub(super) idle: f64,
    pub(super) predicted: Option<f64>,
}

/// Workers wait longer than they had to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Late {
    /// Those that others wait for; none if it is now one and now another.
    pub(super) ranks: Vec<usize>,
    /// The share of the others' time that they wait, and that they had to.
    pub(super) idle: f64,
    pub(super) predicted: f64,
}

/// Whether several workers trained together anywhere.
pub(super) fn any_together(rows: &[Row<'_>]) -> bool {
    rows.iter().any(Row::has_together)
}

impl Row<'_> {
    /// How many workers there are; `None` before the first epoch is over.
    pub(super) fn workers(&self) -> Option<Count> {
        let epochs = self.runs.iter().flat_map(|run| &run.epochs);
        let counts = epochs.map(|epoch| together(epoch).map_or(1, |of| of.workers.len()));
        counts.fold(None, |known, count| {
            let Count { least, most } = known.unwrap_or(Count { least: count, most: count });
            Some(Count { least: least.min(count), most: most.max(count) })
        })
    }

    /// Whether several workers trained together in any epoch.
    pub(super) fn has_together(&self) -> bool {
        self.workers().is_some_and(|count| count.most > 1)
    }

    /// The epochs of several workers whose times are numbers.
    fn together(&self) -> impl Iterator<Item = &Together> {
        let known = |one: &WorkerEpoch| is_time(one.work) && is_time(one.wait);
        let all_known = move |of: &&Together| of.workers.iter().all(known);
        self.epochs().filter_map(together).filter(all_known)
    }

    /// How long all epochs of several workers took by the clock, and with a core for each.
    pub(super) fn clock(&self) -> (f64, f64) {
        let known = self.epochs().filter_map(|epoch| Some((together(epoch)?.wall, epoch.seconds)));
        let known = known.filter(|(wall, _)| is_time(*wall));
        known.fold((0.0, 0.0), |(walls, all), (wall, seconds)| (walls + wall, all + seconds))
    }

    /// How long an epoch exchanges parameters or gradients: the mean over epochs and seeds.
    pub(super) fn exchange(&self) -> Option<f64> {
        let known = self.together().map(|of| of.exchange).filter(|time| is_time(*time));
        mean(&known.collect::<Vec<_>>())
    }

    /// The share of time that workers waited: the mean over workers, epochs and seeds.
    pub(super) fn idle(&self) -> Option<f64> {
        let workers = self.together().flat_map(|of| &of.workers);
        mean(&workers.map(WorkerEpoch::idle).collect::<Vec<_>>())
    }

    /// The share of time that they had to wait by the plan: the mean over the same.
    pub(super) fn predicted(&self) -> Option<f64> {
        let workers = self.together().flat_map(|of| &of.workers);
        mean(&workers.filter_map(predicted).collect::<Vec<_>>())
    }

    /// The workers of all epochs, by their ranks.
    pub(super) fn each_worker(&self) -> Vec<Worker> {
        let mut ranks: Vec<Vec<&WorkerEpoch>> = Vec::new();
        for of in self.together() {
            ranks.resize_with(ranks.len().max(of.workers.len()), Vec::new);
            ranks.iter_mut().zip(&of.workers).for_each(|(rank, one)| rank.push(one));
        }
        let worker = |(rank, all): (usize, Vec<&WorkerEpoch>)| {
            let over = |of: &dyn Fn(&WorkerEpoch) -> f64| {
                mean(&all.iter().map(|one| of(one)).collect::<Vec<_>>())
            };
            Some(Worker {
                rank,
                epochs: all.len(),
                work: over(&|one| one.work)?,
                wait: over(&|one| one.wait)?,
                idle: over(&WorkerEpoch::idle)?,
                predicted: mean(&all.iter().filter_map(|one| predicted(one)).collect::<Vec<_>>()),
            })
        };
        ranks.into_iter().enumerate().filter_map(worker).collect()
    }
}

/// The worker that others wait for, if they wait much longer than by the plan: the one that waits least.
pub(super) fn late(workers: &[Worker]) -> Option<Late> {
    let least = workers.iter().map(|one| one.idle).reduce(f64::min)?;
    let most = workers.iter().map(|one| one.idle).reduce(f64::max)?;
    let (slow, others): (Vec<Worker>, Vec<Worker>) =
        workers.iter().partition(|one| one.idle <= f64::midpoint(least, most));
    let idle_of = |all: &[Worker]| mean(&all.iter().map(|one| one.idle).collect::<Vec<_>>());
    let gap = idle_of(&others).zip(idle_of(&slow)).map(|(others, slow)| others - slow);
    let (slow, waiting) = match gap {
        Some(gap) if gap > MUCH => (slow, others.as_slice()),
        _ => (Vec::new(), workers),
    };
    let idle = idle_of(waiting)?;
    let predicted = mean(&waiting.iter().map(|one| one.predicted).collect::<Option<Vec<_>>>()?)?;
    let ranks = slow.iter().map(|one| one.rank).collect();
    (idle - predicted > MUCH).then_some(Late { ranks, idle, predicted })
}

/// Whether it is a number of seconds that something can take.
pub(super) fn is_time(seconds: f64) -> bool {
    (0.0..LONGEST).contains(&seconds)
}

/// Whether it is a part of a whole.
pub(super) fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

/// What several workers did in an epoch.
fn together(epoch: &TrainingEpoch) -> Option<&Together> {
    epoch.together.as_ref().filter(|of| of.workers.len() > 1)
}

/// The share by the plan, if it is one.
fn predicted(one: &WorkerEpoch) -> Option<f64> {
    Some(one.predicted).filter(|share| is_share(*share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        Training,
        testing::{epoch, run, shared, training},
    };

    #[test]
    fn shares_are_means_over_workers_epochs_and_seeds() {
        let runs = vec![
            run("a", 0, vec![shared(1, &[(4.0, 0.0, 0.0), (3.0, 1.0, 0.1)])]),
            run("a", 1, vec![shared(1, &[(2.0, 2.0, 0.0), (4.0, 0.0, 0.1)])]),
            run("b", 0, vec![epoch(1, 8.0, 0.5)]),
            run("c", 0, vec![]),
        ];
        let training = Training { runs, ..training() };
        let rows = training.rows();
        assert_eq!(rows[0].workers(), Some(Count { least: 2, most: 2 }));
        assert_eq!(rows[0].idle(), Some(0.1875));
        assert_eq!(rows[0].predicted(), Some(0.05));
        let workers = rows[0].each_worker();
        assert_eq!((workers[0].work, workers[0].wait, workers[0].idle), (3.0, 1.0, 0.25));
        assert_eq!((workers[1].rank, workers[1].epochs, workers[1].predicted), (1, 2, Some(0.1)));
        // One alone has no other to wait for.
        assert_eq!(rows[1].workers(), Some(Count { least: 1, most: 1 }));
        assert_eq!((rows[1].idle(), rows[1].predicted()), (None, None));
        assert_eq!(rows[2].workers(), None);
        assert!(any_together(&rows) && !any_together(&rows[1..]));
    }

    #[test]
    fn a_training_can_go_on_with_fewer() {
        let three = shared(1, &[(4.0, 0.0, 0.0), (3.0, 1.0, 0.2), (2.0, 2.0, 0.4)]);
        let two = shared(2, &[(6.0, 0.0, 0.0), (3.0, 3.0, 0.4)]);
        let one = shared(3, &[(12.0, 0.0, 0.0)]);
        let training = Training { runs: vec![run("a", 0, vec![three, two, one])], ..training() };
        let row = &training.rows()[0];
        assert_eq!(row.workers(), Some(Count { least: 1, most: 3 }));
        let workers = row.each_worker();
        assert_eq!(workers.iter().map(|one| one.epochs).collect::<Vec<_>>(), [2, 2, 1]);
        assert!((workers[0].work - 5.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_number_does_not_count() {
        for wrong in [f64::NAN, f64::INFINITY, -1.0, f64::MAX] {
            let good = shared(1, &[(3.0, 1.0, 0.1), (4.0, 0.0, 0.0)]);
            let mut odd = shared(2, &[(wrong, 0.0, 0.1), (4.0, 9.0, 0.1)]);
            let runs = vec![run("a", 0, vec![good.clone(), odd.clone()])];
            let training = Training { runs, ..training() };
            assert_eq!(training.rows()[0].idle(), Some(0.125));
            // A share that is none is not known; the times are.
            odd = shared(2, &[(3.0, 1.0, wrong), (4.0, 0.0, 0.3)]);
            let training = Training { runs: vec![run("a", 0, vec![odd])], ..training };
            let row = &training.rows()[0];
            assert_eq!((row.idle(), row.predicted()), (Some(0.125), Some(0.3)));
            assert_eq!(row.each_worker()[0].predicted, None);
        }
    }

    #[test]
    fn no_time_is_no_waiting() {
        let still = shared(1, &[(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]);
        let training = Training { runs: vec![run("a", 0, vec![still])], ..training() };
        assert_eq!(training.rows()[0].idle(), Some(0.0));
    }

    #[test]
    fn the_late_ones_are_those_that_wait_least() {
        let workers = |idle: &[f64], predicted: Option<f64>| -> Vec<Worker> {
            let worker = |(rank, &idle)| {
                let (work, wait) = (10.0 * (1.0 - idle), 10.0 * idle);
                Worker { rank, epochs: 1, work, wait, idle, predicted }
            };
            idle.iter().enumerate().map(worker).collect()
        };
        let of = |idle: &[f64]| late(&workers(idle, Some(0.03))).map(|late| late.ranks);
        // As the plan says, or nearly so.
        assert_eq!(of(&[0.03, 0.03, 0.0]), None);
        assert_eq!(of(&[0.07, 0.07, 0.0]), None);
        assert_eq!(of(&[0.2, 0.2, 0.01, 0.19]), Some(vec![2]));
        assert_eq!(of(&[0.0, 0.2, 0.01, 0.19]), Some(vec![0, 2]));
        // All wait, and for none in particular.
        assert_eq!(of(&[0.2, 0.21, 0.2, 0.19]), Some(vec![]));
        assert_eq!(of(&[0.2, 0.2]), Some(vec![]));
        assert_eq!(late(&workers(&[0.0, 0.3], None)), None);
        assert_eq!(late(&[]), None);
        let one = late(&workers(&[0.0, 0.3, 0.5], Some(0.1))).unwrap();
        assert_eq!((one.ranks, one.idle), (vec![0], 0.4));
    }
}
