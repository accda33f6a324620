//! Runs of one name together: what they took, and what they came to.

use super::{
    records::{Training, TrainingEpoch, TrainingRun, Validation},
    student::{Mean, mean, median},
};

/// Up to this share, epochs differ in their data because places of a plan are repeated or left out.
const SAME_DATA: f64 = 0.02;

/// The runs of one name.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) runs: Vec<&'a TrainingRun>,
    /// Those whose results count: the ones that got farthest, and the ones that diverged. A mean over
    /// runs of which some are not done would be of no epoch.
    counted: Vec<&'a TrainingRun>,
}

/// What the runs of a row came to in the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Nothing was measured.
    Unknown,
    /// So many of so many runs diverged.
    Diverged(usize, usize),
    /// The value of each run.
    Values(Vec<f64>),
}

/// A point of a curve: the mean over the runs after an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) epoch: u32,
    /// Of training until the end of this epoch.
    pub(super) seconds: f64,
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Training {
    /// One row for each name, in the order they come.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for run in &self.runs {
            match rows.iter_mut().find(|row| row.name == run.name) {
                Some(row) => row.runs.push(run),
                None => rows.push(Row { name: &run.name, runs: vec![run], counted: Vec::new() }),
            }
        }
        for row in &mut rows {
            let farthest = row.last_epoch();
            row.counted = row.runs.clone();
            row.counted.retain(|run| last_epoch(run) == farthest || run.ended || diverged(run));
        }
        rows
    }

    /// The names of all other values, in the order they first come.
    pub(super) fn more(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let epochs = self.runs.iter().flat_map(|run| &run.epochs);
        for (name, _) in epochs.filter_map(|epoch| epoch.validation.as_ref()).flat_map(|v| &v.more)
        {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// What the first row came to, which others are to reach; `None` if it came to nothing.
    pub(super) fn target(rows: &[Row<'_>]) -> Option<f64> {
        rows.first()?.outcome(|v| Some(v.error)).mean().filter(|target| target.is_finite())
    }
}

impl Outcome {
    /// The values of the runs, if all have come to something.
    pub(super) fn values(&self) -> &[f64] {
        match self {
            Outcome::Values(values) => values,
            Outcome::Unknown | Outcome::Diverged(..) => &[],
        }
    }

    /// Their mean.
    pub(super) fn mean(&self) -> Option<f64> {
        mean(self.values())
    }

    /// Their mean and its interval.
    pub(super) fn interval(&self) -> Option<Mean> {
        Mean::of(self.values())
    }
}

impl Row<'_> {
    /// The last epoch that any run has; 0 if none has one.
    pub(super) fn last_epoch(&self) -> u32 {
        self.runs.iter().map(|run| last_epoch(run)).max().unwrap_or(0)
    }

    /// The runs that have not had all their epochs, and did not end or diverge before; where it was not written
    /// down how many they are to have, these are `all`.
    pub(super) fn behind(&self, all: u32) -> impl Iterator<Item = &TrainingRun> {
        self.runs.iter().copied().filter(move |run| {
            last_epoch(run) < run.planned_epochs.unwrap_or(all) && !run.ended && !diverged(run)
        })
    }

    /// The runs that diverged.
    pub(super) fn diverged(&self) -> impl Iterator<Item = &TrainingRun> {
        self.runs.iter().copied().filter(|run| diverged(run))
    }

    /// The median over all epochs of all runs.
    pub(super) fn seconds(&self) -> Option<f64> {
        median(self.epochs().map(|epoch| epoch.seconds).collect())
    }

    /// The seed of each run that has an epoch, and the median of its times.
    pub(super) fn seconds_by_seed(&self) -> impl Iterator<Item = (u64, f64)> {
        self.runs.iter().filter_map(|run| {
            let whole = run.epochs.iter().filter(|epoch| epoch.loss.is_finite());
            Some((run.seed, median(whole.map(|epoch| epoch.seconds).collect())?))
        })
    }

    /// The runs whose results count.
    pub(super) fn counted(&self) -> impl Iterator<Item = &TrainingRun> {
        self.counted.iter().copied()
    }

    /// How much of something is done in a second: the median over all epochs of all runs.
    pub(super) fn rate(&self, of: impl Fn(&TrainingEpoch) -> u64) -> Option<f64> {
        let timed = self.epochs().filter(|epoch| epoch.seconds > 0.0);
        median(timed.map(|epoch| of(epoch) as f64 / epoch.seconds).collect())
    }

    /// The share of padding in all cells of all epochs.
    pub(super) fn padding(&self) -> Option<f64> {
        let cells: f64 = self.epochs().map(|epoch| epoch.cells as f64).sum();
        let frames: f64 = self.epochs().map(|epoch| epoch.frames as f64).sum();
        (cells > 0.0).then(|| 1.0 - frames / cells)
    }

    /// The mean number of frames in an epoch that did not break off.
    pub(super) fn frames(&self) -> Option<f64> {
        let whole = self.epochs().filter(|epoch| epoch.loss.is_finite());
        mean(&whole.map(|epoch| epoch.frames as f64).collect::<Vec<_>>())
    }

    /// Whether an epoch has about as many frames as one of another row.
    pub(super) fn has_the_data_of(&self, other: &Self) -> bool {
        match (self.frames(), other.frames()) {
            (Some(own), Some(other)) => (own - other).abs() <= SAME_DATA * other,
            _ => true,
        }
    }

    /// The mean over all epochs.
    pub(super) fn shapes(&self) -> Option<f64> {
        mean(&self.epochs().map(|epoch| epoch.shapes as f64).collect::<Vec<_>>())
    }

    /// The mean number of optimizer steps in an epoch.
    pub(super) fn steps(&self) -> Option<f64> {
        mean(&self.epochs().map(|epoch| epoch.steps as f64).collect::<Vec<_>>())
    }

    /// The mean number of batches that each worker has in an optimizer step, if they were counted.
    pub(super) fn batches_per_step(&self) -> Option<f64> {
        let each = self.epochs().filter(|epoch| epoch.batches > 0).map(|epoch| {
            let workers = epoch.together.as_ref().map_or(1, |together| together.workers.len());
            epoch.batches as f64 / (epoch.steps * workers.max(1) as u64) as f64
        });
        mean(&each.collect::<Vec<_>>()).filter(|mean| mean.is_finite())
    }

    /// The mean step mix of the epochs in which it was measured.
    pub(super) fn step_mix(&self) -> Option<f64> {
        mean(&self.epochs().filter_map(|epoch| epoch.step_mix).collect::<Vec<_>>())
    }

    /// The most memory of all epochs, if it was measured.
    pub(super) fn peak_bytes(&self) -> Option<f64> {
        let most = self.epochs().map(|epoch| epoch.peak_bytes).max()?;
        (most > 0).then_some(most as f64)
    }

    /// The last value of each run that counts.
    pub(super) fn outcome(&self, of: impl Fn(&Validation) -> Option<f64>) -> Outcome {
        let wrong = self.counted.iter().filter(|run| diverged(run)).count();
        if wrong > 0 {
            return Outcome::Diverged(wrong, self.counted.len());
        }
        let values: Vec<f64> = self.last_by_seed(of).map(|(_, value)| value).collect();
        if values.is_empty() { Outcome::Unknown } else { Outcome::Values(values) }
    }

    /// The seed of each run that counts, and its last value.
    pub(super) fn last_by_seed(
        &self,
        of: impl Fn(&Validation) -> Option<f64>,
    ) -> impl Iterator<Item = (u64, f64)> {
        self.counted.iter().filter_map(move |run| {
            let last = run.epochs.iter().rev().find_map(|epoch| epoch.validation.as_ref());
            Some((run.seed, of(last?).filter(|value| !value.is_nan())?))
        })
    }

    /// The means after each epoch after which all runs that count have a number.
    pub(super) fn curve(&self, of: impl Fn(&Validation) -> f64) -> Vec<Point> {
        let Some(first) = self.counted.first() else { return Vec::new() };
        let point = |epoch: u32| -> Option<Point> {
            let (mut values, mut seconds) = (Vec::new(), Vec::new());
            for run in &self.counted {
                let at = run.epochs.iter().position(|one| one.epoch == epoch)?;
                let value = of(run.epochs[at].validation.as_ref()?);
                values.push((value.is_finite() && !lost(&run.epochs[at])).then_some(value)?);
                seconds.push(run.epochs[..=at].iter().map(|one| one.seconds).sum());
            }
            Some(Point {
                epoch,
                seconds: mean(&seconds)?,
                mean: mean(&values)?,
                least: values.iter().copied().fold(f64::INFINITY, f64::min),
                most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            })
        };
        first.epochs.iter().filter_map(|one| point(one.epoch)).collect()
    }

    /// How long it trained until the mean over its runs had no more errors than this.
    pub(super) fn seconds_to(&self, target: f64) -> Option<f64> {
        // Equal means may differ in their last bit.
        let reached = |point: &&Point| point.mean <= target * (1.0 + 1e-9);
        self.curve(|v| v.error).iter().find(reached).map(|point| point.seconds)
    }

    /// All epochs but those that broke off, as time and counts of a part are not those of an epoch.
    pub(super) fn epochs(&self) -> impl Iterator<Item = &TrainingEpoch> {
        self.runs.iter().flat_map(|run| &run.epochs).filter(|epoch| epoch.loss.is_finite())
    }
}

/// The last epoch of a run; 0 if it has none.
pub(super) fn last_epoch(run: &TrainingRun) -> u32 {
    run.epochs.last().map_or(0, |epoch| epoch.epoch)
}

pub(super) fn diverged(run: &TrainingRun) -> bool {
    run.epochs.last().is_some_and(lost)
}

/// Whether nothing could be computed any more. Some losses are infinite for a sequence that is too
/// short for its labels; of the validation loss alone that says nothing.
pub(super) fn lost(epoch: &TrainingEpoch) -> bool {
    !epoch.loss.is_finite()
        || epoch.validation.as_ref().is_some_and(|v| v.loss.is_nan() || v.error.is_infinite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{epoch, run, training};

    #[test]
    fn runs_of_one_name_are_one_row() {
        let training = training();
        let rows = training.rows();
        assert_eq!(
            rows.iter().map(|row| row.name).collect::<Vec<_>>(),
            ["shuffled", "semi-sorted"]
        );
        assert!(rows.iter().all(|row| row.runs.len() == 3));
    }

    #[test]
    fn a_run_behind_the_others_of_its_name_counts_in_time_only() {
        let runs = vec![
            run("a", 0, vec![epoch(1, 2.0, 0.5), epoch(2, 2.0, 0.3)]),
            run("a", 1, vec![epoch(1, 4.0, 0.9)]),
            run("a", 2, vec![]),
        ];
        let training = Training { runs, ..training() };
        let row = &training.rows()[0];
        assert_eq!(row.outcome(|v| Some(v.error)), Outcome::Values(vec![0.3]));
        assert_eq!(row.seconds(), Some(2.0));
        assert_eq!(row.seconds_by_seed().collect::<Vec<_>>(), [(0, 2.0), (1, 4.0)]);
        assert_eq!(row.behind(2).map(|run| run.seed).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_target_is_reached_by_the_mean() {
        let runs = vec![
            run("a", 0, vec![epoch(1, 2.0, 0.5), epoch(2, 2.0, 0.2)]),
            run("a", 1, vec![epoch(1, 4.0, 0.5), epoch(2, 4.0, 0.4)]),
        ];
        let training = Training { runs, ..training() };
        let rows = training.rows();
        // One seed never gets there alone.
        let target = Training::target(&rows).unwrap();
        assert!((target - 0.3).abs() < 1e-12);
        assert_eq!(rows[0].seconds_to(target), Some(6.0));
        assert_eq!(rows[0].seconds_to(0.5), Some(3.0));
        assert_eq!(rows[0].seconds_to(0.1), None);
    }

    #[test]
    fn a_run_that_diverged_is_no_mean() {
        let mut wrong = epoch(2, 1.0, 0.3);
        wrong.loss = f64::NAN;
        let runs = vec![
            run("a", 0, vec![epoch(1, 1.0, 0.5), epoch(2, 1.0, 0.4), epoch(3, 1.0, 0.3)]),
            run("a", 1, vec![epoch(1, 1.0, 0.5), wrong]),
        ];
        let training = Training { runs, ..training() };
        let row = &training.rows()[0];
        assert_eq!(row.outcome(|v| Some(v.error)), Outcome::Diverged(1, 2));
        assert_eq!(row.behind(3).count(), 0);
        // The curve ends there, though errors can be counted.
        assert_eq!(row.curve(|v| v.error).len(), 1);
        assert_eq!(Training::target(&training.rows()), None);
    }

    #[test]
    fn an_infinite_validation_loss_alone_is_no_divergence() {
        let mut odd = epoch(1, 1.0, 0.3);
        odd.validation.as_mut().unwrap().loss = f64::INFINITY;
        let training = Training { runs: vec![run("a", 0, vec![odd])], ..training() };
        let row = &training.rows()[0];
        assert_eq!(row.outcome(|v| Some(v.error)), Outcome::Values(vec![0.3]));
        assert_eq!(row.outcome(|v| Some(v.loss)), Outcome::Values(vec![f64::INFINITY]));
        assert!(row.curve(|v| v.loss).is_empty());
    }

    #[test]
    fn a_run_that_ended_counts_and_an_epoch_that_broke_off_does_not() {
        let mut runs = vec![
            run("a", 1, vec![epoch(1, 2.0, 0.5), epoch(2, 2.0, 0.4)]),
            run("a", 2, vec![epoch(1, 4.0, 0.3)]),
        ];
        runs[1].ended = true;
        let training = Training { runs, ..training() };
        let row = &training.rows()[0];
        assert_eq!(row.outcome(|v| Some(v.error)), Outcome::Values(vec![0.4, 0.3]));
        assert_eq!(row.behind(2).count(), 0);
        assert!(!training.verdict().concat().contains("Not all runs are done"));
        let mut broken = epoch(2, 0.001, 0.9);
        (broken.loss, broken.validation) = (f64::NAN, None);
        let runs = vec![run("a", 1, vec![epoch(1, 2.0, 0.5), broken])];
        let training = Training { runs, ..training };
        assert_eq!(training.rows()[0].seconds(), Some(2.0));
    }
}
