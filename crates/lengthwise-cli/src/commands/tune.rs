//! `lengthwise tune`

use lengthwise::{
    Shapes,
    tune::{Conditions, Limits, recommended_shapes, tune},
};
use lengthwise_report::Tuning;

use crate::{args::comparing::Tune, cost_model, failure::Failure, memory, printer};

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    let limits = limits(args)?;
    let conditions = Conditions {
        budget: cost_model::budget(&args.budget)?,
        shapes: Shapes::Exact,
        seed: args.seed,
        cost_model: args.cost_model.as_deref().map(cost_model::named).transpose()?,
    };
    let given = args.shapes.as_deref().map(str::parse::<Shapes>).transpose()?;
    let input = args.input.read_or_default(memory::TUNE)?.of_one_length("tune")?;
    let nothing_said = limits == Limits::default() && conditions.cost_model.is_none();
    let shapes = match given {
        Some(shapes) => shapes,
        None if nothing_said => recommended_shapes(input.lengths(), conditions.budget)?,
        None => Shapes::Exact,
    };
    let conditions = Conditions { shapes, ..conditions };
    let choice = tune(input.lengths(), &conditions, limits)?;
    let tuning = Tuning::new(&choice, &conditions, &limits, Some(&args.input.as_typed()));
    printer::print(&if args.json { tuning.to_json() + "\n" } else { tuning.to_text() })?;
    if tuning.within_limits { Ok(()) } else { Err(Failure::CheckFailed(tuning.nearest())) }
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
