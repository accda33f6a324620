//! `lengthwise cost`

use std::{fmt::Write as _, io, io::Write as _, path::Path};

use lengthwise::{
    CostModel,
    cost::{Fit, Step},
};
use lengthwise_io::{CostModelFile, MeasuredStep, WorstStep, read_steps, read_steps_from, save};

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
    printer::print(&if args.json { json } else { readable(&fit, &worst, &measured) })
}

fn readable(fit: &Fit, worst: &WorstStep, measured: &[MeasuredStep]) -> String {
    let mut text = format!(
        "{} measured steps\n\nseconds of a step of B sequences padded to L: \
         a + b*L + c*B*L + d*B*L*L{}\n\n",
        fit.rows,
        if fit.model.launch() > 0.0 { ", and at least h" } else { "" },
    );
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
    _ = writeln!(
        text,
        "\nmean error {:.1} %, r2 {:.4}\nworst error {:+.1} %, on line {}: batch size {}, batch length {}",
        100.0 * fit.mean_relative_error,
        fit.r2,
        100.0 * worst.relative_error,
        worst.line,
        worst.batch_size,
        worst.batch_length
    );
    text.push_str("\n  batch size  batch length  measured ms  predicted ms  error %\n");
    for step in spread(measured) {
        let predicted = fit.model.seconds(step.batch_size, step.batch_length);
        _ = writeln!(
            text,
            "  {:>10}  {:>12}  {:>11.3}  {:>12.3}  {:>+7.1}",
            step.batch_size,
            step.batch_length,
            1e3 * step.seconds,
            1e3 * predicted,
            100.0 * (predicted / step.seconds - 1.0)
        );
    }
    _ = writeln!(text, "\nas a setting: {}", fit.model);
    text
}

fn spread(measured: &[MeasuredStep]) -> Vec<MeasuredStep> {
    let mut steps = measured.to_vec();
    steps.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let shown = SHOWN.min(steps.len());
    (0..shown).map(|at| steps[at * (steps.len() - 1) / (shown - 1).max(1)]).collect()
}
