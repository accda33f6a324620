//! The validation loss at equal time: whenever the first row ends an epoch, seed by seed (paper 3, Fig. 5).

use std::collections::BTreeMap;

use super::{
    records::{TrainingEpoch, TrainingRun},
    row::Row,
    student::mean,
};

/// No more times than this are compared.
const TIMES: usize = 8;

/// The times at which rows are compared.
#[derive(Clone, Debug)]
pub(super) struct EqualTime {
    /// The epochs of the first row.
    epochs: Vec<u32>,
    /// For each of its seeds: when it ended each epoch.
    ends: BTreeMap<u64, Vec<(u32, f64)>>,
}

impl EqualTime {
    /// `None` if no other row has a loss when the first ends an epoch.
    pub(super) fn of(rows: &[Row<'_>]) -> Option<Self> {
        let [first, others @ ..] = rows else { return None };
        let mut ends = BTreeMap::new();
        for run in first.counted() {
            ends.entry(run.seed).or_insert_with(|| {
                ended(run).map(|(seconds, epoch)| (epoch.epoch, seconds)).collect()
            });
        }
        let mut at = Self { epochs: Vec::new(), ends };
        let all: Vec<u32> = (1..=first.last_epoch())
            .filter(|&epoch| at.values(first, epoch).is_some())
            .filter(|&epoch| others.iter().any(|row| at.values(row, epoch).is_some()))
            .collect();
        let shown = all.len().min(TIMES);
        // Evenly, and with the last.
        at.epochs = (1..=shown).map(|number| all[number * all.len() / shown - 1]).collect();
        (shown > 0).then_some(at)
    }

    /// The epochs of the first row at whose ends rows are compared.
    pub(super) fn epochs(&self) -> &[u32] {
        &self.epochs
    }

    /// When the first row ends this epoch: the mean over its seeds.
    pub(super) fn seconds(&self, epoch: u32) -> Option<f64> {
        let ends = self.ends.values().flatten().filter(|(at, _)| *at == epoch);
        mean(&ends.map(|(_, end)| *end).collect::<Vec<_>>())
    }

    /// The loss of each seed that the first row has too, when that seed of the first row ends this epoch. `None`
    /// if any has none: no epoch was over yet, or the run had been done for as long as one more epoch takes.
    pub(super) fn values(&self, row: &Row<'_>, epoch: u32) -> Option<BTreeMap<u64, f64>> {
        let mut values = BTreeMap::new();
        for run in row.counted() {
            let Some(ends) = self.ends.get(&run.seed) else { continue };
            let (_, end) = ends.iter().find(|(at, _)| *at == epoch)?;
            let value = loss_at(run, *end)?;
            values.entry(run.seed).or_insert(value);
        }
        (!values.is_empty()).then_some(values)
    }
}

/// The epochs of a run, and when each ended.
fn ended(run: &TrainingRun) -> impl Iterator<Item = (f64, &TrainingEpoch)> {
    run.epochs.iter().scan(0.0, |seconds, epoch| {
        *seconds += epoch.seconds;
        Some((*seconds, epoch))
    })
}

/// The loss of the last epoch that was over at this time.
fn loss_at(run: &TrainingRun, seconds: f64) -> Option<f64> {
    // Sums of the same times may differ in their last bit.
    let over = |end: f64| end <= seconds * (1.0 + 1e-9);
    let (end, epoch) = ended(run).take_while(|(end, _)| over(*end)).last()?;
    let done = run.epochs.last().is_some_and(|last| last.epoch == epoch.epoch);
    if done && over(end + epoch.seconds) && end < seconds {
        return None;
    }
    epoch.validation.as_ref().map(|v| v.loss).filter(|loss| loss.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        Training,
        testing::{epoch, run, training},
    };

    /// Epochs of so many seconds after which the loss is four times these errors.
    fn of(name: &str, seed: u64, seconds: f64, errors: &[f64]) -> TrainingRun {
        let epochs = (1..).zip(errors).map(|(number, error)| epoch(number, seconds, *error));
        run(name, seed, epochs.collect())
    }

    #[test]
    fn losses_are_those_of_the_models_that_there_are() {
        let runs = vec![
            of("a", 1, 4.0, &[0.5, 0.4, 0.3, 0.2]),
            of("a", 2, 5.0, &[0.5, 0.45, 0.35, 0.2]),
            // After 4 and 8 seconds this has had two and five epochs, after 5 and 10 three and all.
            of("b", 2, 1.6, &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
            of("b", 1, 1.6, &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
            of("slow", 1, 6.0, &[0.7, 0.6]),
            of("slow", 2, 6.0, &[0.7, 0.6]),
            of("others", 3, 1.0, &[0.7, 0.6]),
        ];
        let training = Training { runs, ..training() };
        let rows = training.rows();
        let at = EqualTime::of(&rows).unwrap();
        assert_eq!(at.epochs(), [1, 2, 3]);
        let values = |row: usize, epoch: u32| {
            at.values(&rows[row], epoch).map(|of| of.into_values().map(|v| v / 4.0).collect())
        };
        let near = |found: Option<Vec<f64>>, expected: &[f64]| {
            let found = found.unwrap();
            let gap = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(found.len() == expected.len() && gap < 1e-12, "{found:?}");
        };
        near(values(0, 2), &[0.4, 0.45]);
        near(values(1, 1), &[0.2, 0.3]);
        near(values(1, 2), &[0.5, 0.6]);
        // It was done long before; the slow one has no epoch yet.
        assert_eq!((values(1, 3), values(2, 1)), (None, None));
        near(values(2, 3), &[0.6, 0.6]);
        assert_eq!(values(3, 1), None);
        let compared = at.compared(&rows);
        let names: Vec<Vec<&str>> =
            compared.iter().map(|one| one.comparisons.iter().map(|of| of.to).collect()).collect();
        assert_eq!(names, [vec!["b"], vec!["b", "slow"], vec!["slow"]]);
        assert!(compared.iter().all(|one| one.tests == 4));
    }

    #[test]
    fn nothing_is_compared_where_nothing_is_equal() {
        let of = |runs: Vec<TrainingRun>| {
            let training = Training { runs, ..training() };
            EqualTime::of(&training.rows()).map(|at| at.epochs().to_vec())
        };
        assert_eq!(of(vec![]), None);
        assert_eq!(of(vec![of_one("a", 1)]), None);
        assert_eq!(of(vec![of_one("a", 1), of_one("b", 2)]), None);
        assert_eq!(of(vec![of_one("a", 1), of_one("b", 1)]), Some(vec![1]));
        let long = |name: &str| run(name, 1, (1..=20).map(|at| epoch(at, 1.0, 0.5)).collect());
        assert_eq!(of(vec![long("a"), long("b")]), Some(vec![2, 5, 7, 10, 12, 15, 17, 20]));
    }

    fn of_one(name: &str, seed: u64) -> TrainingRun {
        of(name, seed, 1.0, &[0.5])
    }
}
