//! Comparisons of two rows, seed by seed: every row with the first, and the pairs that an experiment names.
//!
//! On each measure all comparisons together are tested at 5 % (Holm's correction). Tables, sentences, the
//! page and the summary take their words from here, and so agree on what is beyond chance.

use std::collections::BTreeMap;

use super::{
    equal_time::EqualTime,
    records::{Training, Validation},
    row::{Outcome, Row},
    student::{Paired, findable, holm, mean},
};

/// How probable it may be that any difference on a measure is called one and is chance.
pub(super) const LEVEL: f64 = 0.05;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measure<'a> {
    /// Seconds of training in an epoch; the median of each run. Compared as ratios.
    Seconds,
    /// The validation loss in the end.
    Loss,
    /// The share of errors in the end.
    Error,
    /// Another value of validation in the end.
    More(&'a str),
    /// The validation loss when the first row ends this epoch.
    LossAtEqualTime(u32),
}

/// All comparisons on one measure.
#[derive(Clone, Debug)]
pub(super) struct Compared<'a> {
    pub(super) measure: Measure<'a>,
    pub(super) comparisons: Vec<Comparison<'a>>,
    /// The number of comparisons that share the 5 %.
    pub(super) tests: usize,
}

/// One row compared with another.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) found: Result<Difference, Untested>,
}

/// Why nothing can be said about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untested {
    /// So many seeds, none or one, have values in both rows.
    Seeds(usize),
    /// Runs diverged.
    Diverged,
    /// There are no values, or some are no numbers.
    NoNumbers,
    /// Every seed has the same difference, so that it is not known how much it varies.
    NoSpread,
}

/// What the seeds show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) seeds: usize,
    /// The mean of the row that is compared with, over these seeds.
    pub(super) before: f64,
    /// The mean difference; of time the geometric mean of the ratios.
    pub(super) value: f64,
    /// The 95 % interval.
    pub(super) low: f64,
    pub(super) high: f64,
    /// By the paired t-test alone, and corrected for the number of comparisons.
    pub(super) p: f64,
    pub(super) corrected: f64,
    /// The difference that these seeds would find with a probability of 80 %; of time the change of the
    /// ratio, such as 0.02.
    pub(super) smallest: f64,
}

impl Difference {
    /// Whether chance does not explain it.
    pub(super) fn beyond_chance(&self) -> bool {
        self.corrected < LEVEL
    }
}

impl Measure<'_> {
    /// Whether it is compared as a ratio.
    pub(super) fn is_ratio(self) -> bool {
        self == Measure::Seconds
    }

    /// Whether it is a share, which is shown in percent.
    pub(super) fn is_share(self) -> bool {
        match self {
            Measure::Error => true,
            Measure::More(name) => name.ends_with("error rate"),
            Measure::Seconds | Measure::Loss | Measure::LossAtEqualTime(_) => false,
        }
    }
}

impl<'a> Compared<'a> {
    /// The comparison of a row with the first one.
    pub(super) fn with_first(&self, first: &str, name: &str) -> Option<&Comparison<'a>> {
        self.comparisons.iter().find(|one| one.from == first && one.to == name)
    }

    /// What was found for this row in comparison with the first one.
    pub(super) fn difference(&self, first: &str, name: &str) -> Option<Difference> {
        self.with_first(first, name)?.found.ok()
    }

    /// The smallest effects of such comparisons: the least and the most. Where nothing differs, none is known.
    pub(super) fn smallest(&self, which: impl Fn(&Comparison<'a>) -> bool) -> Option<(f64, f64)> {
        let such = || self.comparisons.iter().filter(|one| which(one));
        let all = || {
            such().filter_map(|one| Some(one.found.ok()?.smallest)).filter(|effect| *effect > 0.0)
        };
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }

    /// Of the values of each row by seed, for these pairs of rows; not corrected yet.
    fn new(
        measure: Measure<'a>,
        pairs: &[(&Row<'a>, &Row<'a>)],
        of: impl Fn(&Row<'a>) -> Result<BTreeMap<u64, f64>, Untested>,
    ) -> Self {
        let comparisons = pairs.iter().map(|(from, to)| {
            let found = of(from).and_then(|before| difference(measure, &before, &of(to)?));
            Comparison { from: from.name, to: to.name, found }
        });
        let comparisons = comparisons.collect();
        Self { measure, comparisons, tests: 0 }
    }
}

impl Training {
    /// The pairs of rows that are compared: each with the first, and then those that were named. No two
    /// rows are compared twice.
    pub(super) fn compared_rows<'r, 'a>(
        &self,
        rows: &'r [Row<'a>],
    ) -> Vec<(&'r Row<'a>, &'r Row<'a>)> {
        let row = |name: &str| rows.iter().find(|row| row.name == name);
        let mut pairs: Vec<(&Row<'_>, &Row<'_>)> = Vec::new();
        if let [first, others @ ..] = rows {
            pairs.extend(others.iter().map(|other| (first, other)));
        }
        for (from, to) in &self.pairs {
            let (Some(from), Some(to)) = (row(from), row(to)) else { continue };
            let same = |&(a, b): &(&Row<'_>, &Row<'_>)| {
                (a.name, b.name) == (from.name, to.name) || (b.name, a.name) == (from.name, to.name)
            };
            if from.name != to.name && !pairs.iter().any(same) {
                pairs.push((from, to));
            }
        }
        pairs
    }

    /// All comparisons of the results and of time, in the order of the table; of measures that no row has, none.
    pub(super) fn compared<'a>(&'a self, rows: &[Row<'a>]) -> Vec<Compared<'a>> {
        let pairs = self.compared_rows(rows);
        let results = [Measure::Seconds, Measure::Loss, Measure::Error]
            .into_iter()
            .chain(self.more().into_iter().map(Measure::More));
        let compared = results.map(|measure| {
            let mut compared = Compared::new(measure, &pairs, |row| row.by_seed(measure));
            correct(std::slice::from_mut(&mut compared));
            compared
        });
        compared.filter(|all| all.comparisons.iter().any(Comparison::has_values)).collect()
    }
}

impl EqualTime {
    /// The comparisons of the validation loss at equal time: each row with the first, whenever that ends an
    /// epoch. They share the 5 % over all these times.
    pub(super) fn compared<'a>(&self, rows: &[Row<'a>]) -> Vec<Compared<'a>> {
        let [first, others @ ..] = rows else { return Vec::new() };
        let pairs: Vec<_> = others.iter().map(|other| (first, other)).collect();
        let of = |epoch: u32| {
            let mut compared = Compared::new(Measure::LossAtEqualTime(epoch), &pairs, |row| {
                self.values(row, epoch).ok_or(Untested::NoNumbers)
            });
            // Before a row has values, or when it was done already, there is nothing to compare.
            compared.comparisons.retain(Comparison::has_values);
            compared
        };
        let mut all: Vec<_> = self.epochs().iter().map(|&epoch| of(epoch)).collect();
        correct(&mut all);
        all
    }
}

impl Comparison<'_> {
    /// Whether both rows have values, tested or not.
    fn has_values(&self) -> bool {
        self.found != Err(Untested::NoNumbers)
    }
}

impl Row<'_> {
    /// The value of each seed; of runs of the same seed the first.
    fn by_seed(&self, measure: Measure<'_>) -> Result<BTreeMap<u64, f64>, Untested> {
        let more =
            |name: &str, v: &Validation| v.more.iter().find(|one| one.0 == name).map(|one| one.1);
        match measure {
            Measure::Seconds => Ok(first_of_each(self.seconds_by_seed())),
            Measure::Loss | Measure::LossAtEqualTime(_) => self.results_by_seed(|v| Some(v.loss)),
            Measure::Error => self.results_by_seed(|v| Some(v.error)),
            Measure::More(name) => self.results_by_seed(|v| more(name, v)),
        }
    }

    fn results_by_seed(
        &self,
        of: impl Fn(&Validation) -> Option<f64>,
    ) -> Result<BTreeMap<u64, f64>, Untested> {
        match self.outcome(&of) {
            Outcome::Diverged(..) => Err(Untested::Diverged),
            Outcome::Unknown => Err(Untested::NoNumbers),
            Outcome::Values(_) => Ok(first_of_each(self.last_by_seed(of))),
        }
    }
}

fn first_of_each(values: impl Iterator<Item = (u64, f64)>) -> BTreeMap<u64, f64> {
    let mut first = BTreeMap::new();
    for (seed, value) in values {
        first.entry(seed).or_insert(value);
    }
    first
}

/// What the seeds that both have show, before any correction.
fn difference(
    measure: Measure<'_>,
    before: &BTreeMap<u64, f64>,
    after: &BTreeMap<u64, f64>,
) -> Result<Difference, Untested> {
    let shared = || before.iter().filter_map(|(seed, one)| Some((*one, *after.get(seed)?)));
    if before.is_empty() || after.is_empty() {
        return Err(Untested::NoNumbers);
    }
    let ratio = measure.is_ratio();
    let gap =
        |(before, after): (f64, f64)| if ratio { (after / before).ln() } else { after - before };
    let paired = Paired::of(&shared().map(gap).collect::<Vec<_>>())?;
    let before = mean(&shared().map(|(before, _)| before).collect::<Vec<_>>());
    let scale = |value: f64| if ratio { value.exp() } else { value };
    Ok(Difference {
        seeds: paired.count,
        before: before.unwrap_or(f64::NAN),
        value: scale(paired.mean),
        low: scale(paired.mean - paired.half_width),
        high: scale(paired.mean + paired.half_width),
        p: paired.p,
        corrected: paired.p,
        // The standard error until it is known how many tests share the level.
        smallest: paired.error,
    })
}

/// Corrects all p-values of these for their number, and computes the smallest effects at the level that is
/// left to each.
fn correct(all: &mut [Compared<'_>]) {
    let found = all.iter().flat_map(|one| &one.comparisons).filter_map(|one| one.found.ok());
    let values: Vec<f64> = found.map(|one| one.p).collect();
    let mut corrected = holm(&values).into_iter();
    let level = LEVEL / values.len().max(1) as f64;
    // It takes some time, and most comparisons have the same number of seeds.
    let mut known: BTreeMap<usize, f64> = BTreeMap::new();
    for compared in all {
        compared.tests = values.len();
        let ratio = compared.measure.is_ratio();
        for one in compared.comparisons.iter_mut().filter_map(|one| one.found.as_mut().ok()) {
            one.corrected = corrected.next().unwrap_or(1.0);
            let errors = *known.entry(one.seeds).or_insert_with(|| findable(one.seeds, level));
            let effect = errors * one.smallest;
            one.smallest = if ratio { effect.exp_m1() } else { effect };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{epoch, run, training};

    /// Rows that come to these errors, each from its seeds.
    fn rows(given: &[(&str, &[(u64, f64)])]) -> Training {
        let runs = given.iter().flat_map(|(name, errors)| {
            errors
                .iter()
                .map(move |&(seed, error)| run(name, seed, vec![epoch(1, 2.0 + error, error)]))
        });
        Training { runs: runs.collect(), ..training() }
    }

    fn on(training: &Training, measure: Measure<'_>) -> Vec<Result<Difference, Untested>> {
        let rows = training.rows();
        let all = training.compared(&rows);
        let one = all.iter().find(|one| one.measure == measure);
        one.map_or_else(Vec::new, |one| one.comparisons.iter().map(|one| one.found).collect())
    }

    /// Seeds differ much more than the rows do: only pairs show the difference.
    #[test]
    fn differences_are_those_of_pairs() {
        let training = rows(&[
            ("a", &[(1, 0.1), (2, 0.3), (3, 0.5), (4, 0.7)]),
            // In another order, and with one seed that the first does not have.
            ("b", &[(4, 0.71), (9, 0.9), (3, 0.52), (2, 0.31), (1, 0.12)]),
        ]);
        let found = on(&training, Measure::Error)[0].unwrap();
        assert_eq!(found.seeds, 4);
        assert!((found.value - 0.015).abs() < 1e-12 && (found.before - 0.4).abs() < 1e-12);
        // A standard error of 0.01 / √12, and the quantile 3.1824.
        assert!((found.high - found.value - 3.1824 * 0.01 / 12_f64.sqrt()).abs() < 1e-6);
        assert!(found.beyond_chance() && (found.p - 0.0138).abs() < 1e-4, "{found:?}");
        assert!(found.smallest > found.high - found.value, "{found:?}");
        // Time is compared by ratios: the geometric mean of 2.12 / 2.1 and so on.
        let time = on(&training, Measure::Seconds)[0].unwrap();
        let ratios = [2.12 / 2.1, 2.31 / 2.3, 2.52 / 2.5, 2.71_f64 / 2.7];
        assert!((time.value - ratios.iter().product::<f64>().powf(0.25)).abs() < 1e-12);
        assert!(time.low < time.value && time.value < time.high && time.low > 1.0);
        assert!(time.smallest > 0.0 && time.smallest < 0.02);
    }

    #[test]
    fn what_cannot_be_compared_is_not() {
        let seeds = |numbers: &[u64]| numbers.iter().map(|&n| (n, 0.1 + 0.01 * n as f64)).collect();
        let (three, one, others): (Vec<_>, Vec<_>, Vec<_>) =
            (seeds(&[1, 2, 3]), seeds(&[2]), seeds(&[7, 8]));
        let mut training =
            rows(&[("a", &three), ("one", &one), ("others", &others), ("c", &three)]);
        training.runs.last_mut().unwrap().epochs[0].loss = f64::NAN;
        training.runs.push(run("waiting", 1, vec![]));
        let expected = [
            Err(Untested::Seeds(1)),
            Err(Untested::Seeds(0)),
            Err(Untested::Diverged),
            Err(Untested::NoNumbers),
        ];
        assert_eq!(on(&training, Measure::Error), expected);
        assert_eq!(on(&training, Measure::More("BLEU")), []);
        let mut silent = rows(&[("a", &three), ("b", &three)]);
        for epoch in silent.runs.iter_mut().flat_map(|run| &mut run.epochs) {
            epoch.validation = None;
        }
        assert_eq!(on(&silent, Measure::Error), []);
        assert_eq!(on(&silent, Measure::Seconds).len(), 1);
    }

    #[test]
    fn pairs_are_compared_once() {
        let values = &[(1, 0.1), (2, 0.2)][..];
        let mut training = rows(&[("a", values), ("b", values), ("c", values)]);
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        training.pairs = vec![
            pair("b", "c"),
            pair("a", "b"),
            pair("c", "b"),
            pair("c", "c"),
            pair("a", "nobody"),
        ];
        let rows = training.rows();
        let names =
            training.compared_rows(&rows).into_iter().map(|(from, to)| (from.name, to.name));
        assert_eq!(names.collect::<Vec<_>>(), [("a", "b"), ("a", "c"), ("b", "c")]);
        assert!(training.compared(&rows).iter().all(|one| one.tests == 3));
    }

    /// The same difference is beyond chance alone, and not as one of many.
    #[test]
    fn many_comparisons_share_the_level() {
        let first = [(1, 0.10), (2, 0.20), (3, 0.30), (4, 0.40)];
        let near =
            first.map(|(seed, error)| (seed, error + if seed % 2 == 0 { 0.01 } else { -0.01 }));
        let other = [(1, 0.12), (2, 0.21), (3, 0.32), (4, 0.41)];
        let alone = on(&rows(&[("a", &first), ("b", &other)]), Measure::Error)[0].unwrap();
        let many: Vec<(&str, &[(u64, f64)])> =
            ["c", "d", "e", "f"].map(|name| (name, &near[..])).to_vec();
        let many = rows(&[&[("a", &first[..]), ("b", &other[..])], &many[..]].concat());
        let among = on(&many, Measure::Error)[0].unwrap();
        assert!(alone.beyond_chance() && !among.beyond_chance());
        assert_eq!((alone.p, alone.low), (among.p, among.low));
        assert!((among.corrected - 5.0 * alone.p).abs() < 1e-12);
        assert!(among.smallest > alone.smallest);
    }
}
