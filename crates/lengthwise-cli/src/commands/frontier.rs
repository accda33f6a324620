//! `lengthwise frontier`

use std::fmt::Write as _;

use lengthwise::tune::{Conditions, Curve, Family, frontier};
use lengthwise_report::{PointFigures, one_line, points_table};
use serde::Serialize;

use crate::args::comparing::Frontier;
use crate::failure::Failure;
use crate::printer::{self, Progress};
use crate::{cost_model, memory};

/// Shares of all sequences at which families are compared.
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

/// The padding of `blurred` and of the best other family at equal company.
#[derive(Serialize)]
struct Level {
    effective_mates: f64,
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
        levels: LEVELS.map(|share| level(&curves, share * lengths.len() as f64)).into(),
        curves: curves.iter().map(points).collect(),
    };
    if args.json {
        return printer::print_pretty_json(&answer);
    }
    printer::print(&readable(&answer, args, lengths.len()))
}

fn level(curves: &[Curve], mates: f64) -> Level {
    let found = curves.iter().filter_map(|curve| Some((curve.padding_at(mates)?, curve.family)));
    let (ours, others): (Vec<_>, Vec<_>) = found.partition(|found| found.1 == Family::Blurred);
    let blurred = ours.first().map(|found| found.0);
    let best = others.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    Level {
        effective_mates: mates,
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
        text += &points_table(&curve.points.iter().collect::<Vec<_>>());
        text.push('\n');
    }
    text += "      at mates   blurred %  best other %                       ratio\n";
    let percent =
        |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.2}", 100.0 * rate));
    for level in &answer.levels {
        let share = 100.0 * level.effective_mates / sequences as f64;
        _ = writeln!(
            text,
            "{:>14}{:>12}{:>14}  {:18}{:>8}",
            format!("{:.0} ({share:.0} %)", level.effective_mates),
            percent(level.blurred),
            percent(level.best_other),
            level.best_other_family.unwrap_or("-"),
            level.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
        );
    }
    text
}
