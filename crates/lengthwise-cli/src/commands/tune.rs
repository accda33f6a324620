//! `lengthwise tune`

use std::fmt::Write as _;

use lengthwise::{Choice, Conditions, Limits, Point, Shapes, recommended_shapes, tune};
use serde::Serialize;

use crate::{args::Tune, cost_model, failure::Failure, printer};

#[derive(Serialize)]
struct Answer {
    version: u32,
    within_limits: bool,
    strategy: String,
    shapes: String,
    budget: String,
    best: Figures,
    command: String,
    python: String,
    /// The best point of every family within the limits.
    candidates: Vec<Figures>,
    /// Everything else that was measured on the way.
    searched: Vec<Figures>,
}

/// A measured point.
#[derive(Serialize)]
pub(crate) struct Figures {
    strategy: String,
    padding_rate: f64,
    mean_batch_padding_rate: f64,
    mean_batch_length: f64,
    batches: f64,
    shapes: f64,
    /// Absent where nobody met again.
    effective_mates: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_seconds: Option<f64>,
}

impl From<&Point> for Figures {
    fn from(point: &Point) -> Self {
        Self {
            strategy: point.strategy.to_string(),
            padding_rate: point.padding_rate,
            mean_batch_padding_rate: point.mean_batch_padding_rate,
            mean_batch_length: point.mean_batch_length,
            batches: point.batches,
            shapes: point.shapes,
            effective_mates: Some(point.effective_mates).filter(|mates| mates.is_finite()),
            predicted_seconds: point.seconds,
        }
    }
}

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    let limits = limits(args)?;
    let conditions = Conditions {
        budget: cost_model::budget(&args.budget)?,
        shapes: Shapes::Exact,
        seed: args.seed,
        cost_model: args.cost_model.as_deref().map(cost_model::named).transpose()?,
    };
    let given = args.shapes.as_deref().map(str::parse::<Shapes>).transpose()?;
    let input = args.input.read_or_default()?;
    let nothing_said = limits == Limits::default() && conditions.cost_model.is_none();
    let shapes = match given {
        Some(shapes) => shapes,
        None if nothing_said => recommended_shapes(input.lengths(), conditions.budget)?,
        None => Shapes::Exact,
    };
    let conditions = Conditions { shapes, ..conditions };
    let choice = tune(input.lengths(), &conditions, limits)?;
    let answer = answer(args, &choice, &conditions);
    if args.json {
        printer::print(&(serde_json::to_string_pretty(&answer).unwrap_or_default() + "\n"))?;
    } else {
        printer::print(&readable(&choice, &answer))?;
    }
    if choice.within_limits { Ok(()) } else { Err(Failure::CheckFailed(nearest(&choice))) }
}

fn limits(args: &Tune) -> Result<Limits, Failure> {
    let bad = |name: &str, given: f64, expected: &str| {
        Err(Failure::new(format!("`--{name}` cannot be {given}"), format!("it must be {expected}")))
    };
    if let Some(given) = args.max_seconds
        && !(given > 0.0 && given.is_finite())
    {
        return bad("max-seconds", given, "a number of seconds above 0");
    }
    match (args.max_padding, args.min_mates) {
        (Some(given), _) if !(given > 0.0 && given < 1.0) => {
            bad("max-padding", given, "a share above 0 and below 1, such as 0.05")
        }
        (_, Some(given)) if !(given >= 1.0 && given.is_finite()) => {
            bad("min-mates", given, "a number from 1")
        }
        (max_padding, min_mates) => {
            let (max_shapes, max_seconds) = (args.max_shapes, args.max_seconds);
            Ok(Limits { max_padding, min_mates, max_shapes, max_seconds })
        }
    }
}

fn answer(args: &Tune, choice: &Choice, conditions: &Conditions) -> Answer {
    let (strategy, shapes, budget) = (
        choice.best.strategy.to_string(),
        choice.shapes.to_string(),
        conditions.budget.to_string(),
    );
    Answer {
        version: 1,
        within_limits: choice.within_limits,
        command: format!(
            "lengthwise plan {} --strategy {strategy} --budget {budget} --shapes {shapes} \
             --arrange spread --seed {}",
            args.input.as_typed(),
            args.seed
        ),
        python: format!(
            "lw.plan(lengths, \"{strategy}\", budget=\"{budget}\", shapes=\"{shapes}\", \
             arrange=\"spread\", \
             seed={})",
            args.seed
        ),
        strategy,
        shapes,
        budget,
        best: Figures::from(&choice.best),
        candidates: choice.candidates.iter().map(Figures::from).collect(),
        searched: choice.searched.iter().map(Figures::from).collect(),
    }
}

fn readable(choice: &Choice, answer: &Answer) -> String {
    let mut candidates: Vec<&Point> = choice.candidates.iter().collect();
    candidates.sort_by(|a, b| b.effective_mates.total_cmp(&a.effective_mates));
    let mut text = table(&candidates);
    _ = write!(
        text,
        "\n{} points measured. On epochs not seen before, {} with shapes {} has\n{:.2} % padding, \
         {} effective mates and {:.0} shapes{}.\n\n{}\n{}\n",
        choice.searched.len() + candidates.len(),
        answer.strategy,
        answer.shapes,
        100.0 * choice.best.padding_rate,
        mates(&choice.best),
        choice.best.shapes,
        choice.best.seconds.map_or(String::new(), |s| format!(", and takes {s:.2} s an epoch")),
        answer.command,
        answer.python
    );
    text
}

/// One line for every point.
pub(crate) fn table(points: &[&Point]) -> String {
    let mut text = format!(
        "{:28}{:>10}{:>10}{:>9}{:>12}{}\n",
        "strategy",
        "padding %",
        "batches",
        "shapes",
        "mates",
        if points.iter().any(|point| point.seconds.is_some()) { "   epoch s" } else { "" }
    );
    for point in points {
        _ = writeln!(
            text,
            "{:28}{:>10.2}{:>10.0}{:>9.0}{:>12}{}",
            point.strategy.to_string(),
            100.0 * point.padding_rate,
            point.batches,
            point.shapes,
            mates(point),
            point.seconds.map_or(String::new(), |seconds| format!("{seconds:>10.2}"))
        );
    }
    text
}

fn mates(point: &Point) -> String {
    format!("{:.0}", point.effective_mates)
}

fn nearest(choice: &Choice) -> String {
    format!(
        "no strategy keeps all limits; the nearest has {:.2} % padding and {} effective mates",
        100.0 * choice.best.padding_rate,
        mates(&choice.best)
    )
}
