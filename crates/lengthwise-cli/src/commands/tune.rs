//! `lengthwise tune`

use lengthwise::{
    Shapes,
    tune::{Conditions, Limits, recommended_shapes, tune},
};
use lengthwise_report::Tuning;

use crate::args::comparing::Tune;
use crate::failure::Failure;
use crate::{cost_model, memory, printer};

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
    let &Tune { max_padding, min_mates, max_shapes, max_seconds, .. } = args;
    let seconds = max_seconds.filter(|seconds| !(*seconds > 0.0 && seconds.is_finite()));
    let padding = max_padding.filter(|share| !(*share > 0.0 && *share < 1.0));
    let mates = min_mates.filter(|mates| !(*mates >= 1.0 && mates.is_finite()));
    for (name, wrong, expected) in [
        ("max-seconds", seconds, "a number of seconds above 0"),
        ("max-padding", padding, "a share above 0 and below 1, such as 0.05"),
        ("min-mates", mates, "a number from 1"),
    ] {
        if let Some(given) = wrong {
            let what = format!("`--{name}` cannot be {given}");
            return Err(Failure::new(what, format!("it must be {expected}")));
        }
    }
    Ok(Limits { max_padding, min_mates, max_shapes, max_seconds })
}
