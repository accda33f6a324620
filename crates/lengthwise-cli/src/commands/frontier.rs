//! `lengthwise frontier`

use lengthwise::measure::Per;
use lengthwise::tune::{Conditions, Curve, Family, frontier};
use lengthwise_report::parts::table::{TextColumn, TextTable};
use lengthwise_report::{Look, PointFigures, noun, one_line, percent_within, wrapped};
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
    printer::print(&readable(&answer, args, lengths.len(), printer::width()))
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

fn readable(answer: &Answer, args: &Frontier, sequences: usize, width: usize) -> String {
    let Answer { source, budget, shapes, .. } = answer;
    let Frontier { seed, epochs, .. } = args;
    let lines = [
        format!(
            "{}: {sequences} {}",
            one_line(source),
            noun(sequences as u64, "sequence", "sequences")
        ),
        format!(
            "budget {budget}, shapes {shapes}, seed {seed}, {epochs} {}",
            noun(u64::from(*epochs), "epoch", "epochs")
        ),
    ];
    let mut text: String = lines.iter().map(|line| wrapped(line, width)).collect();
    let tables = answer.curves.iter().map(|curve| of_points(&curve.points));
    for table in tables.chain([of_levels(&answer.levels)]) {
        text.push('\n');
        text += &table.text(Look::Plain, width);
    }
    text
}

/// One row for every point, with the mixing per pair of batch-mates and per sequence.
fn of_points(points: &[PointFigures]) -> TextTable {
    let column = |heading: [&str; 2], dispensable, cell: &dyn Fn(&PointFigures) -> String| {
        TextColumn::plain(dispensable, heading, points.iter().map(cell).collect())
    };
    TextTable {
        corner: "strategy",
        names: points.iter().map(|point| point.strategy.clone()).collect(),
        columns: vec![
            column(["padding", "%"], 0, &|point| format!("{:.2}", 100.0 * point.padding_rate)),
            column(["", "batches"], 2, &|point| format!("{:.0}", point.batches)),
            column(["", "shapes"], 1, &|point| format!("{:.0}", point.shapes)),
            column(["mixing", "per pair %"], 0, &|point| {
                percent_within(point.mixing, point.mixing_error)
            }),
            column(["mixing", "per sequence %"], 0, &|point| {
                percent_within(point.mixing_per_sequence, point.mixing_per_sequence_error)
            }),
        ],
        star: "",
    }
}

/// One row for every level of mixing.
fn of_levels(levels: &[Level]) -> TextTable {
    let column = |heading: [&str; 2], dispensable, cell: &dyn Fn(&Level) -> Option<String>| {
        let cell = |level| cell(level).unwrap_or_else(|| "-".to_owned());
        TextColumn::plain(dispensable, heading, levels.iter().map(cell).collect())
    };
    let percent = |rate: Option<f64>| rate.map(|rate| format!("{:.2}", 100.0 * rate));
    TextTable {
        corner: "at mixing",
        names: levels
            .iter()
            .map(|level| format!("{:.0} % per {}", 100.0 * level.mixing, level.per))
            .collect(),
        columns: vec![
            column(["blurred:", "padding %"], 0, &|level| percent(level.blurred)),
            column(["best other:", "padding %"], 0, &|level| percent(level.best_other)),
            column(["", "which"], 1, &|level| level.best_other_family.map(str::to_owned)),
            column(["", "ratio"], 0, &|level| level.ratio.map(|ratio| format!("{ratio:.2}"))),
        ],
        star: "",
    }
}
