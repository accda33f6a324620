//! `lengthwise frontier`

use std::fmt::Write as _;

use lengthwise::measure::Per;
use lengthwise::tune::{Conditions, Curve, Family, frontier};
use lengthwise_report::{PointFigures, one_line, percent_within};
use serde::Serialize;

use crate::args::comparing::Frontier;
use crate::failure::Failure;
use crate::printer::{self, Progress};
use crate::{cost_model, memory};

/// Shares of the mixing of random shuffling at which families are compared.
const LEVELS: [f64; 3] = [0.05, 0.1, 0.2];

#[derive(Serialize)]
struct Answer {
    version: u32,
    source: String,
    budget: String,
    shapes: String,
    levels: Vec<Level>,
    curves: Vec<Points>,
}

/// The padding of `blurred` and of the best other family at equal mixing.
#[derive(Serialize)]
struct Level {
    mixing: f64,
    /// What the mixing counts: each `pair` of batch-mates the same, or each `sequence`.
    per: &'static str,
    blurred: Option<f64>,
    best_other: Option<f64>,
    best_other_family: Option<&'static str>,
    /// The padding of `blurred` over that of the best other.
    ratio: Option<f64>,
}

#[derive(Serialize)]
struct Points {
    family: &'static str,
    points: Vec<PointFigures>,
}

pub(crate) fn run(args: &Frontier) -> Result<(), Failure> {
    let conditions = Conditions {
        budget: cost_model::budget(&args.budget)?,
        shapes: args.shapes.parse()?,
        seed: args.seed,
        cost_model: None,
    };
    let input = args.input.read_or_default(memory::FRONTIER)?.of_one_length("frontier")?;
    let lengths = input.lengths();
    let mut progress = Progress::start();
    let curves = frontier(lengths, &conditions, args.steps, args.epochs.into(), |family| {
        progress.at(&format!("measuring {}", family.name()));
    })?;
    drop(progress);
    let points = |curve: &Curve| Points {
        family: curve.family.name(),
        points: curve.points.iter().map(PointFigures::from).collect(),
    };
    let answer = Answer {
        version: 1,
        source: input.source.clone(),
        budget: conditions.budget.to_string(),
        shapes: conditions.shapes.to_string(),
        levels: Per::ALL
            .iter()
            .flat_map(|&per| LEVELS.map(|mixing| level(&curves, mixing, per)))
            .collect(),
        curves: curves.iter().map(points).collect(),
    };
    if args.json {
        return printer::print_pretty_json(&answer);
    }
    printer::print(&readable(&answer, args, lengths.len()))
}

fn level(curves: &[Curve], mixing: f64, per: Per) -> Level {
    let found = curves.iter().map(|curve| Some((curve.padding_at(mixing, per)?, curve.family)));
    let found = found.flatten();
    let (ours, others): (Vec<_>, Vec<_>) = found.partition(|found| found.1 == Family::Blurred);
    let blurred = ours.first().map(|found| found.0);
    let best = others.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    Level {
        mixing,
        per: per.name(),
        blurred,
        best_other: best.map(|(padding, _)| padding),
        best_other_family: best.map(|(_, family)| family.name()),
        ratio: blurred.zip(best).map(|(blurred, (other, _))| blurred / other),
    }
}

fn readable(answer: &Answer, args: &Frontier, sequences: usize) -> String {
    let Answer { source, budget, shapes, .. } = answer;
    let mut text = format!("{}: {sequences} sequences\n", one_line(source));
    let Frontier { seed, epochs, .. } = args;
    _ = writeln!(text, "budget {budget}, shapes {shapes}, seed {seed}, {epochs} epochs\n");
    for curve in &answer.curves {
        text += &table(&curve.points);
        text.push('\n');
    }
    text += "     at mixing  blurred %  best other %                       ratio\n";
    let percent =
        |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.2}", 100.0 * rate));
    for level in &answer.levels {
        _ = writeln!(
            text,
            "{:>14}{:>11}{:>14}  {:18}{:>8}",
            format!("{:.0} % / {}", 100.0 * level.mixing, level.per),
            percent(level.blurred),
            percent(level.best_other),
            level.best_other_family.unwrap_or("-"),
            level.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
        );
    }
    text
}

/// One line for every point, with the mixing per pair of batch-mates and per sequence.
fn table(points: &[PointFigures]) -> String {
    let mut text = String::from(
        "strategy                     padding %   batches   shapes   mixing %   per sequence %\n",
    );
    for point in points {
        let PointFigures { strategy, batches, shapes, .. } = point;
        _ = writeln!(
            text,
            "{strategy:28}{:>10.2}{batches:>10.0}{shapes:>9.0}{:>11}{:>17}",
            100.0 * point.padding_rate,
            percent_within(point.mixing, point.mixing_error),
            percent_within(point.mixing_per_sequence, point.mixing_per_sequence_error),
        );
    }
    text
}
