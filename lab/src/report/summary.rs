//! What was measured and compared, for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    compare::{Compared, Comparison, Difference, LEVEL, Measure, Untested},
    equal_time::EqualTime,
    records::{Training, Validation},
    row::Row,
    student::{Mean, deviation, mean},
};

/// The version of the summary. Keys that are added do not change it.
const VERSION: u32 = 1;

#[derive(Debug, Serialize)]
struct Summary<'a> {
    version: u32,
    title: &'a str,
    error: &'a str,
    correction: Correction,
    runs: Vec<Run<'a>>,
    comparisons: Vec<OneComparison<'a>>,
    equal_time: Vec<AtTime<'a>>,
}

/// How it is decided what is beyond chance.
#[derive(Debug, Serialize)]
struct Correction {
    test: &'static str,
    method: &'static str,
    level: f64,
}

/// The runs of one name.
#[derive(Debug, Serialize)]
struct Run<'a> {
    name: &'a str,
    seeds: Vec<u64>,
    diverged: usize,
    epochs: u32,
    workers: Option<usize>,
    seconds_per_epoch: Option<f64>,
    sequences_per_second: Option<f64>,
    frames_per_second: Option<f64>,
    optimizer_steps: Option<f64>,
    batches_per_step: Option<f64>,
    padding: Option<f64>,
    shapes: Option<f64>,
    step_mix: Option<f64>,
    peak_bytes: Option<f64>,
    waiting: Option<f64>,
    waiting_by_plan: Option<f64>,
    seconds_to_target: Option<f64>,
    measures: BTreeMap<&'a str, OneMeasure>,
}

/// A measure over the seeds.
#[derive(Debug, Serialize)]
struct OneMeasure {
    seeds: usize,
    mean: f64,
    sd: Option<f64>,
    half_width: Option<f64>,
}

#[derive(Debug, Serialize)]
struct OneComparison<'a> {
    measure: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u32>,
    from: &'a str,
    to: &'a str,
    /// Why there is nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    untested: Option<&'static str>,
    #[serde(flatten)]
    found: Option<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    seeds: usize,
    kind: &'static str,
    from_mean: f64,
    value: f64,
    low: f64,
    high: f64,
    relative: f64,
    p: f64,
    p_corrected: f64,
    beyond_chance: bool,
    comparisons: usize,
    smallest_effect: Option<f64>,
}

/// The losses at equal time.
#[derive(Debug, Serialize)]
struct AtTime<'a> {
    epoch: u32,
    losses: Vec<Loss<'a>>,
}

#[derive(Debug, Serialize)]
struct Loss<'a> {
    name: &'a str,
    seeds: usize,
    mean: f64,
}

impl Training {
    /// What was measured and compared, as JSON: the runs of each name, every comparison with its interval,
    /// and the losses at equal time. The keys are documented in `docs/laboratory.md`.
    pub fn summary(&self) -> String {
        let rows = self.rows();
        let target = Self::target(&rows);
        let at = EqualTime::of(&rows);
        let mut comparisons = self.compared(&rows);
        comparisons.extend(at.iter().flat_map(|at| at.compared(&rows)));
        let summary = Summary {
            version: VERSION,
            title: &self.title,
            error: &self.error,
            correction: Correction { test: "paired t", method: "holm", level: LEVEL },
            runs: rows.iter().map(|row| self.run(row, target)).collect(),
            comparisons: comparisons.iter().flat_map(each).collect(),
            equal_time: at.iter().flat_map(|at| losses(&rows, at)).collect(),
        };
        serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n"
    }

    fn run<'a>(&'a self, row: &Row<'a>, target: Option<f64>) -> Run<'a> {
        let mut measures = BTreeMap::new();
        let results = |of: &dyn Fn(&Validation) -> Option<f64>| row.outcome(of).values().to_vec();
        measures.insert(
            key(Measure::Seconds),
            row.seconds_by_seed().map(|(_, seconds)| seconds).collect::<Vec<_>>(),
        );
        measures.insert(key(Measure::Loss), results(&|v| Some(v.loss)));
        measures.insert(key(Measure::Error), results(&|v| Some(v.error)));
        for name in self.more() {
            let value = |v: &Validation| v.more.iter().find(|one| one.0 == name).map(|one| one.1);
            measures.entry(name).or_insert_with(|| results(&value));
        }
        let one = |(name, values): (&'a str, Vec<f64>)| {
            let Mean { mean, half_width } = Mean::of(&values)?;
            let sd = deviation(&values);
            Some((name, OneMeasure { seeds: values.len(), mean, sd, half_width }))
        };
        Run {
            name: row.name,
            seeds: row.runs.iter().map(|run| run.seed).collect(),
            diverged: row.diverged().count(),
            epochs: row.last_epoch(),
            workers: row.workers().map(|count| count.most),
            seconds_per_epoch: row.seconds(),
            sequences_per_second: row.rate(|epoch| epoch.sequences),
            frames_per_second: row.rate(|epoch| epoch.frames),
            optimizer_steps: row.steps(),
            batches_per_step: row.batches_per_step(),
            padding: row.padding(),
            shapes: row.shapes(),
            step_mix: row.step_mix(),
            peak_bytes: row.peak_bytes(),
            waiting: row.idle(),
            waiting_by_plan: row.predicted(),
            seconds_to_target: target.and_then(|target| row.seconds_to(target)),
            measures: measures.into_iter().filter_map(one).collect(),
        }
    }
}

fn key(measure: Measure<'_>) -> &str {
    match measure {
        Measure::Seconds => "seconds_per_epoch",
        Measure::Loss => "loss",
        Measure::Error => "error",
        Measure::More(name) => name,
        Measure::LossAtEqualTime(_) => "loss_at_equal_time",
    }
}

fn each<'a>(compared: &Compared<'a>) -> Vec<OneComparison<'a>> {
    let measure = compared.measure;
    let one = |one: &Comparison<'a>| OneComparison {
        measure: key(measure),
        epoch: match measure {
            Measure::LossAtEqualTime(epoch) => Some(epoch),
            _ => None,
        },
        from: one.from,
        to: one.to,
        untested: one.found.err().map(|why| match why {
            Untested::Seeds(_) => "fewer than two seeds in common",
            Untested::Diverged => "runs diverged",
            Untested::NoNumbers => "no numbers",
            Untested::NoSpread => "the same difference with every seed",
        }),
        found: one.found.ok().map(|found| of(measure, compared.tests, found)),
    };
    compared.comparisons.iter().map(one).collect()
}

fn of(measure: Measure<'_>, comparisons: usize, found: Difference) -> Found {
    let Difference { seeds, before, value, low, high, p, corrected, smallest } = found;
    let ratio = measure.is_ratio();
    Found {
        seeds,
        kind: if ratio { "ratio" } else { "difference" },
        from_mean: before,
        value,
        low,
        high,
        relative: if ratio { value - 1.0 } else { value / before },
        p,
        p_corrected: corrected,
        beyond_chance: found.beyond_chance(),
        comparisons,
        smallest_effect: Some(smallest).filter(|effect| *effect > 0.0),
    }
}

fn losses<'a>(rows: &[Row<'a>], at: &EqualTime) -> Vec<AtTime<'a>> {
    let of = |epoch: u32| {
        let one = |row: &Row<'a>| {
            let values: Vec<f64> = at.values(row, epoch)?.into_values().collect();
            Some(Loss { name: row.name, seeds: values.len(), mean: mean(&values)? })
        };
        AtTime { epoch, losses: rows.iter().filter_map(one).collect() }
    };
    at.epochs().iter().map(|&epoch| of(epoch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{epoch, run, training};

    #[test]
    fn the_summary_has_these_keys() {
        let mut training = training();
        training.runs.retain(|run| run.seed < 2);
        for run in &mut training.runs {
            run.epochs.truncate(1);
            // Pairs that differ.
            let twice = if run.name == "shuffled" { 1.0 } else { 2.0 };
            let v = run.epochs[0].validation.as_mut().unwrap();
            (v.error, v.loss) =
                (0.5 + 0.125 * twice * run.seed as f64, 1.0 + twice * run.seed as f64);
            run.epochs[0].seconds = 4.0 * twice;
        }
        training.runs.push(run("one", 1, vec![epoch(1, 2.0, 0.5)]));
        let mut summary: serde_json::Value = serde_json::from_str(&training.summary()).unwrap();
        rounded(&mut summary);
        let mut lines = String::new();
        for (key, value) in summary.as_object().unwrap() {
            let all = value.as_array().map_or_else(|| vec![value], |all| all.iter().collect());
            lines.extend(all.iter().map(|one| format!("{key} {one}\n")));
        }
        let expected = expect_test::expect![[r#"
            comparisons {"from":"shuffled","measure":"seconds_per_epoch","to":"semi-sorted","untested":"the same difference with every seed"}
            comparisons {"from":"shuffled","measure":"seconds_per_epoch","to":"one","untested":"fewer than two seeds in common"}
            comparisons {"beyond_chance":false,"comparisons":1,"from":"shuffled","from_mean":1.5,"high":6.853102,"kind":"difference","low":-5.853102,"measure":"loss","p":0.5,"p_corrected":0.5,"relative":0.333333,"seeds":2,"smallest_effect":8.167004,"to":"semi-sorted","value":0.5}
            comparisons {"from":"shuffled","measure":"loss","to":"one","untested":"fewer than two seeds in common"}
            comparisons {"beyond_chance":false,"comparisons":1,"from":"shuffled","from_mean":0.5625,"high":0.856638,"kind":"difference","low":-0.731638,"measure":"error","p":0.5,"p_corrected":0.5,"relative":0.111111,"seeds":2,"smallest_effect":1.020876,"to":"semi-sorted","value":0.0625}
            comparisons {"from":"shuffled","measure":"error","to":"one","untested":"fewer than two seeds in common"}
            comparisons {"beyond_chance":true,"comparisons":1,"from":"shuffled","from_mean":1.505,"high":-0.041434,"kind":"difference","low":-0.057316,"measure":"word error rate","p":0.008058,"p_corrected":0.008058,"relative":-0.032807,"seeds":2,"smallest_effect":0.010209,"to":"semi-sorted","value":-0.049375}
            comparisons {"from":"shuffled","measure":"word error rate","to":"one","untested":"no numbers"}
            correction {"level":0.05,"method":"holm","test":"paired t"}
            error "character error rate"
            runs {"batches_per_step":1.0,"diverged":0,"epochs":1,"frames_per_second":1376024.0,"measures":{"error":{"half_width":0.794138,"mean":0.5625,"sd":0.088388,"seeds":2},"loss":{"half_width":6.353102,"mean":1.5,"sd":0.707107,"seeds":2},"seconds_per_epoch":{"half_width":0.0,"mean":4.0,"sd":0.0,"seeds":2},"word error rate":{"half_width":0.063531,"mean":1.505,"sd":0.007071,"seeds":2}},"name":"shuffled","optimizer_steps":655.0,"padding":0.311988,"peak_bytes":1234567890.0,"seconds_per_epoch":4.0,"seconds_to_target":4.0,"seeds":[0,1],"sequences_per_second":2620.0,"shapes":420.0,"step_mix":null,"waiting":null,"waiting_by_plan":null,"workers":1}
            runs {"batches_per_step":1.0,"diverged":0,"epochs":1,"frames_per_second":688012.0,"measures":{"error":{"half_width":1.588276,"mean":0.625,"sd":0.176777,"seeds":2},"loss":{"half_width":12.706205,"mean":2.0,"sd":1.414214,"seeds":2},"seconds_per_epoch":{"half_width":0.0,"mean":8.0,"sd":0.0,"seeds":2},"word error rate":{"half_width":0.071472,"mean":1.455625,"sd":0.007955,"seeds":2}},"name":"semi-sorted","optimizer_steps":655.0,"padding":0.017126,"peak_bytes":1234567890.0,"seconds_per_epoch":8.0,"seconds_to_target":null,"seeds":[0,1],"sequences_per_second":1310.0,"shapes":420.0,"step_mix":null,"waiting":null,"waiting_by_plan":null,"workers":1}
            runs {"batches_per_step":1.0,"diverged":0,"epochs":1,"frames_per_second":2752048.0,"measures":{"error":{"half_width":null,"mean":0.5,"sd":null,"seeds":1},"loss":{"half_width":null,"mean":2.0,"sd":null,"seeds":1},"seconds_per_epoch":{"half_width":null,"mean":2.0,"sd":null,"seeds":1}},"name":"one","optimizer_steps":655.0,"padding":0.311988,"peak_bytes":1234567890.0,"seconds_per_epoch":2.0,"seconds_to_target":2.0,"seeds":[1],"sequences_per_second":5240.0,"shapes":420.0,"step_mix":null,"waiting":null,"waiting_by_plan":null,"workers":1}
            title "a small model on `speech`"
            version 1
        "#]];
        expected.assert_eq(&lines);
    }

    /// Other machines may compute other last digits.
    fn rounded(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Number(number) if number.is_f64() => {
                *value = ((number.as_f64().unwrap() * 1e6).round() / 1e6).into();
            }
            serde_json::Value::Array(all) => all.iter_mut().for_each(rounded),
            serde_json::Value::Object(all) => all.values_mut().for_each(rounded),
            _ => {}
        }
    }

    /// What is no number is none there.
    #[test]
    fn the_summary_of_nothing_and_of_what_diverged() {
        let read = |training: &Training| -> serde_json::Value {
            serde_json::from_str(&training.summary()).unwrap()
        };
        let nothing = read(&Training { runs: Vec::new(), ..training() });
        assert_eq!(nothing["runs"], serde_json::json!([]));
        let mut wrong = training();
        for run in wrong.runs.iter_mut().filter(|run| run.name != "shuffled") {
            run.epochs[3].loss = f64::NAN;
        }
        let wrong = read(&wrong);
        assert_eq!(wrong["runs"][1]["diverged"], 3);
        assert!(wrong["runs"][1]["measures"].get("error").is_none());
        let errors = wrong["comparisons"].as_array().unwrap();
        let error = errors.iter().find(|one| one["measure"] == "error").unwrap();
        assert_eq!(error["untested"], "runs diverged");
        assert!(error.get("p").is_none());
    }
}
