//! `lengthwise tune`

use lengthwise::{
    Settings,
    tune::{Limits, recommend},
};
use lengthwise_report::Tuning;

use crate::args::comparing::Tune;
use crate::failure::Failure;
use crate::{cost_model, memory, printer};

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    let settings = Settings {
        arrange: args.settings.arrange.parse()?,
        over_long: args.settings.over_long.parse()?,
        steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
        tail: args.ranks.tail.parse()?,
        cost_model: args.cost_model.as_deref().map(cost_model::named).transpose()?,
        update: args.ranks.update()?,
        share: args.settings.share.parse()?,
        one_kind: args.settings.one_kind.parse()?,
        seed: args.settings.seed,
        ..Settings::new("", args.advice.budget(args.budget.as_deref())?)
    };
    let ranks = args.ranks.world_size;
    let mut wanted = args.advice.wanted(settings, ranks)?;
    wanted.shapes = args.shapes.as_deref().map(str::parse).transpose()?;
    wanted.micro_batches = args.ranks.accumulate;
    wanted.limits = limits(args)?;
    let input = args.input.read_or_default(memory::TUNE)?;
    wanted.settings.mix = input.groups.mix(args.settings.mix.as_deref())?;
    let found = recommend(input.lengths(), &wanted).map_err(|error| input.named(error))?;
    let typed = args.input.as_typed() + &args.settings.as_typed();
    let tuning = Tuning::new(&found, Some(&typed), ranks);
    printer::print(&if args.json {
        tuning.to_json() + "\n"
    } else {
        tuning.to_text(printer::look(), printer::width())
    })?;
    if tuning.within_limits {
        Ok(())
    } else {
        Err(Failure::check(tuning.nearest(), "raise the limits, or leave one out"))
    }
}

fn limits(args: &Tune) -> Result<Limits, Failure> {
    let limits = Limits {
        max_padding: args.max_padding,
        min_mixing: args.min_mixing,
        min_mates: args.min_mates,
        max_shapes: args.max_shapes,
        max_step_mix: args.max_step_mix,
        min_steps: args.min_optimizer_steps,
        max_steps: args.max_optimizer_steps,
        max_seconds: args.max_seconds,
    };
    limits.check().map_err(|(name, given, expected)| {
        let what = format!("`--{}` cannot be {given}", name.replace('_', "-"));
        Failure::new(what, format!("it must be {expected}"))
    })?;
    Ok(limits)
}
