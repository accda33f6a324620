//! `lengthwise cost`

use std::{fmt::Write as _, io, io::Write as _, path::Path};

use lengthwise::{
    CostModel,
    cost::{Fit, Step},
};
use lengthwise_io::{CostModelFile, MeasuredStep, WorstStep, read_steps, read_steps_from, save};
use lengthwise_report::parts::table::{TextColumn, TextTable};
use lengthwise_report::{Look, noun, wrapped};

use crate::args::comparing::Cost;
use crate::failure::Failure;
use crate::{printer, signals};

/// How many measured steps are shown beside what the model predicts.
const SHOWN: usize = 6;

pub(crate) fn run(args: &Cost) -> Result<(), Failure> {
    if let Some(path) = &args.output
        && path.extension().is_none_or(|extension| extension != "json")
    {
        let what = format!("{}: unknown format of a cost model", path.display());
        return Err(Failure::new(what, "name the file .json"));
    }
    let (source, measured) = if args.steps == Path::new("-") {
        let source = "standard input";
        (source.into(), read_steps_from(io::stdin().lock(), source)?)
    } else {
        (args.steps.to_string_lossy(), read_steps(&args.steps)?)
    };
    let step = |&MeasuredStep { batch_size: size, batch_length: length, seconds, .. }: &_| Step {
        size,
        length,
        seconds,
    };
    let steps: Vec<Step> = measured.iter().map(step).collect();
    let fit = CostModel::fit(&steps)
        .map_err(|error| Failure::of_plan(format!("{source}: {error}"), &error))?;
    let MeasuredStep { line, batch_size, batch_length, seconds } = measured[fit.worst];
    let predicted_seconds = fit.model.seconds(batch_size, batch_length);
    let relative_error = fit.worst_relative_error;
    let worst =
        WorstStep { line, batch_size, batch_length, seconds, predicted_seconds, relative_error };
    let json = CostModelFile::new(&fit, worst).to_json();
    if let Some(path) = &args.output {
        signals::writing(path);
        save(path, |file| file.write_all(json.as_bytes()))?;
    }
    if fit.is_flat() {
        printer::say(&format!(
            "warning: the measured times hardly depend on batch size and batch length (r2 {:.4}): a \
             budget of this cost model limits nothing",
            fit.r2
        ));
    }
    printer::print(&if args.json {
        json
    } else {
        readable(&fit, &worst, &measured, printer::width())
    })
}

fn readable(fit: &Fit, worst: &WorstStep, measured: &[MeasuredStep], width: usize) -> String {
    let line = |line: String| wrapped(&line, width);
    let rows = fit.rows;
    let mut text = line(format!("{rows} measured {}", noun(rows as u64, "step", "steps")));
    text.push('\n');
    text += &line(format!(
        "seconds of a step of B sequences padded to L: a + b*L + c*B*L + d*B*L*L{}",
        if fit.model.launch() > 0.0 { ", and at least h" } else { "" }
    ));
    text.push('\n');
    let units = [
        "s for a step",
        "s for each position of the batch length",
        "s for each cell",
        "s for each pair of positions of a sequence",
        "s to launch a batch",
    ];
    let launch = Some(fit.model.launch()).filter(|&seconds| seconds > 0.0);
    let values = fit.model.coefficients().into_iter().chain(launch);
    for ((name, value), unit) in "abcdh".chars().zip(values).zip(units) {
        _ = writeln!(text, "  {name}  {value:<10.3e}{unit}");
    }
    text.push('\n');
    text += &line(format!("mean error {:.1} %, r2 {:.4}", 100.0 * fit.mean_relative_error, fit.r2));
    text += &line(format!(
        "worst error {:+.1} %, on line {}: batch size {}, batch length {}",
        100.0 * worst.relative_error,
        worst.line,
        worst.batch_size,
        worst.batch_length
    ));
    text.push('\n');
    text += &table(&fit.model, &spread(measured)).text(Look::Plain, width);
    text.push('\n');
    text + &line(format!("as a setting: {}", fit.model))
}

/// Measured steps beside what the model predicts.
fn table(model: &CostModel, steps: &[MeasuredStep]) -> TextTable {
    let predicted = |step: &MeasuredStep| model.seconds(step.batch_size, step.batch_length);
    let column = |heading: [&str; 2], dispensable, cell: &dyn Fn(&MeasuredStep) -> String| {
        TextColumn::plain(dispensable, heading, steps.iter().map(cell).collect())
    };
    TextTable {
        corner: "batch size",
        names: steps.iter().map(|step| format!("{:>10}", step.batch_size)).collect(),
        columns: vec![
            column(["batch", "length"], 0, &|step| step.batch_length.to_string()),
            column(["measured", "ms"], 1, &|step| format!("{:.3}", 1e3 * step.seconds)),
            column(["predicted", "ms"], 1, &|step| format!("{:.3}", 1e3 * predicted(step))),
            column(["error", "%"], 0, &|step| {
                format!("{:+.1}", 100.0 * (predicted(step) / step.seconds - 1.0))
            }),
        ],
        star: "",
    }
}

fn spread(measured: &[MeasuredStep]) -> Vec<MeasuredStep> {
    let mut steps = measured.to_vec();
    steps.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let shown = SHOWN.min(steps.len());
    (0..shown).map(|at| steps[at * (steps.len() - 1) / (shown - 1).max(1)]).collect()
}
