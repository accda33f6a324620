//! What tuning found: the choice, the candidates, and the lines that use it.

use std::fmt::Write as _;

use lengthwise::tune::{Choice, Conditions, Limits, Point};
use serde::{Deserialize, Serialize};

/// What tuning found.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Tuning {
    /// The version of the JSON form.
    pub version: u32,
    /// Whether the choice keeps all limits; if not, it comes nearest.
    pub within_limits: bool,
    /// The strategy in its string form.
    pub strategy: String,
    /// The shapes that go with it.
    pub shapes: String,
    /// The budget it was chosen for.
    pub budget: String,
    /// What it was measured to give on epochs that the search had not seen.
    pub best: PointFigures,
    /// Limits that the measured figures miss by no more than the error of measuring them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The command that plans with it, if the input is known to the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The call that plans with it.
    pub python: String,
    /// The best point of every family within the limits.
    pub candidates: Vec<PointFigures>,
    /// Everything else that was measured on the way.
    pub searched: Vec<PointFigures>,
}

/// A measured point.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `lengthwise::tune::Point`")]
pub struct PointFigures {
    pub strategy: String,
    pub padding_rate: f64,
    pub mean_batch_padding_rate: f64,
    pub mean_batch_length: f64,
    pub batches: f64,
    pub shapes: f64,
    /// Per pair of batch-mates; see [`Figures`](crate::Figures).
    pub mixing: f64,
    pub mixing_error: f64,
    pub mixing_per_sequence: f64,
    pub mixing_per_sequence_error: f64,
    pub repeat_rate: f64,
    pub effective_mates: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
}

impl From<&Point> for PointFigures {
    fn from(point: &Point) -> Self {
        Self {
            strategy: point.strategy.to_string(),
            padding_rate: point.padding_rate,
            mean_batch_padding_rate: point.mean_batch_padding_rate,
            mean_batch_length: point.mean_batch_length,
            batches: point.batches,
            shapes: point.shapes,
            mixing: point.mixing.per_pair,
            mixing_error: point.mixing.per_pair_error,
            mixing_per_sequence: point.mixing.per_sequence,
            mixing_per_sequence_error: point.mixing.per_sequence_error,
            repeat_rate: point.mixing.repeat_rate,
            effective_mates: point.effective_mates,
            predicted_seconds: point.seconds,
        }
    }
}

impl Tuning {
    /// What was found under these conditions and limits. `input` is how the command line names the
    /// lengths, if it does.
    pub fn new(
        choice: &Choice,
        conditions: &Conditions,
        limits: &Limits,
        input: Option<&str>,
    ) -> Self {
        let (strategy, shapes) = (choice.best.strategy.to_string(), choice.shapes.to_string());
        let (budget, seed) = (conditions.budget.to_string(), conditions.seed);
        let figures = |points: &[Point]| points.iter().map(PointFigures::from).collect();
        Self {
            version: 1,
            within_limits: choice.within_limits,
            command: input.map(|input| {
                format!(
                    "lengthwise plan {input} --strategy {strategy} --budget {budget} --shapes \
                     {shapes} --arrange spread --seed {seed}"
                )
            }),
            python: format!(
                "lw.plan(lengths, \"{strategy}\", budget=\"{budget}\", shapes=\"{shapes}\", \
                 arrange=\"spread\", seed={seed})"
            ),
            strategy,
            shapes,
            budget,
            best: PointFigures::from(&choice.best),
            remarks: if choice.within_limits { remarks(&choice.best, limits) } else { Vec::new() },
            candidates: figures(&choice.candidates),
            searched: figures(&choice.searched),
        }
    }

    /// What was found as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// What was found as a table, a sentence and the lines that use it.
    pub fn to_text(&self) -> String {
        let mut candidates: Vec<&PointFigures> = self.candidates.iter().collect();
        candidates.sort_by(|a, b| mates(b).total_cmp(&mates(a)));
        let mut text = table(&candidates);
        let Self { strategy, shapes, best, .. } = self;
        let seconds = best.predicted_seconds;
        let takes = seconds.map_or(String::new(), |s| format!(", and takes {s:.2} s an epoch"));
        _ = write!(
            text,
            "\n{} points measured. On epochs not seen before, {strategy} with shapes {shapes} has\n\
             {:.2} % padding, {:.0} effective mates and {:.0} shapes{takes}.\n\n",
            self.searched.len() + candidates.len(),
            100.0 * best.padding_rate,
            mates(best),
            best.shapes
        );
        for remark in &self.remarks {
            _ = writeln!(text, "{remark}\n");
        }
        for line in self.command.iter().chain([&self.python]) {
            _ = writeln!(text, "{line}");
        }
        text
    }

    /// What is wrong if no strategy keeps all limits.
    pub fn nearest(&self) -> String {
        format!(
            "no strategy keeps all limits; the nearest has {:.2} % padding and {:.0} effective mates",
            100.0 * self.best.padding_rate,
            mates(&self.best)
        )
    }
}

/// What the figures of a choice that keeps its limits are beyond them all the same: epochs differ, and
/// limits are kept to within the error of measuring them.
fn remarks(best: &Point, limits: &Limits) -> Vec<String> {
    let close = "within the error of measurement, since epochs differ";
    let mates = limits.min_mates.filter(|least| best.effective_mates < *least);
    let mates = mates.map(|least| {
        let mates = best.effective_mates;
        format!("{mates:.0} effective mates are a little below the limit of {least}: {close}.")
    });
    let padding = limits.max_padding.filter(|most| best.padding_rate > *most).map(|most| {
        let [padding, most] = [best.padding_rate, most].map(|share| 100.0 * share);
        format!("{padding:.2} % padding is a little above the limit of {most:.2} %: {close}.")
    });
    let seconds = limits.max_seconds.zip(best.seconds).filter(|(most, seconds)| seconds > most);
    let seconds = seconds.map(|(most, seconds)| {
        format!("{seconds:.4} s an epoch are a little above the limit of {most} s: {close}.")
    });
    [mates, padding, seconds].into_iter().flatten().collect()
}

/// One line for every point.
fn table(points: &[&PointFigures]) -> String {
    let seconds = points.iter().any(|point| point.predicted_seconds.is_some());
    let mut text =
        String::from("strategy                     padding %   batches   shapes       mates");
    text += if seconds { "   epoch s\n" } else { "\n" };
    for point in points {
        let PointFigures { strategy, batches, shapes, .. } = point;
        let seconds = point.predicted_seconds.map(|seconds| format!("{seconds:>10.2}"));
        _ = writeln!(
            text,
            "{strategy:28}{:>10.2}{batches:>10.0}{shapes:>9.0}{:>12.0}{}",
            100.0 * point.padding_rate,
            mates(point),
            seconds.unwrap_or_default()
        );
    }
    text
}

fn mates(point: &PointFigures) -> f64 {
    point.effective_mates
}
