//! `lengthwise plan`

mod asked;
mod bounded;
mod output;

use std::{borrow::Cow, io::Write as _};

use lengthwise::{Plan, Workspace};
use lengthwise_io::{Form, PlanFile, Written, save, to_json};

use crate::args::planning;
use crate::commands::plan::asked::{
    Given, Part, begin, corpus, refused, save_needs, say_batches_as_steps, say_shard, take,
};
use crate::commands::plan::output::{say_plan, write_lines};
use crate::failure::Failure;
use crate::input::Sequences;
use crate::{memory, printer, signals};

pub(crate) fn run(args: &planning::Plan) -> Result<(), Failure> {
    let form = match &args.output {
        Some(path) => Some(Form::of_path(path)?),
        None => args.json.then_some(Form::Json),
    };
    if form.is_none() && args.input.chunk.is_some() {
        return Err(Failure::new(
            "lines of indices cannot say where pieces are from",
            "print the plan with `--json`, or write it to a file with `-o`",
        ));
    }
    let settings = Given::read(args)?;
    if let Some(bound) = args.memory {
        return bounded::run(args, form, settings, bound);
    }
    if args.shards.statistics.is_some() && args.input.source.second.is_some() {
        return Err(Failure::new(
            "statistics are of one length, and sequences of two have no shards",
            "leave out `--second`, or `--statistics`",
        ));
    }
    let begin = begin(&args.part)?;
    let (shard, statistics) = corpus(&args.shards)?;
    let input = args.input.read(memory::PLAN)?;
    let named = |error| input.named(error);
    let mut lengths = Cow::Borrowed(input.lengths());
    if let Some(all) = statistics {
        lengths = Cow::Owned(input.lengths().clone().part_of(all).map_err(named)?);
    }
    let (mut planner, lines) =
        settings.planner(args, begin.as_ref(), &lengths, &input, &Workspace::new())?;
    if let Some(shard) = shard {
        planner = planner.shard(shard);
    }
    if let Some(path) = &args.shards.needs {
        let needs = planner.needs(&lengths).map_err(named)?;
        return save_needs(path, &needs);
    }
    let whole = planner.plan(&lengths, args.epoch).map_err(named)?;
    let part = take(args, &whole, begin, &lengths).map_err(|error| refused(&args.part, error))?;
    let plan = part.as_ref().map_or(&whole, |part| &part.plan);
    write(args, form, plan, part.as_ref(), &input)?;

    let (measures, made) = (plan.measure(input.lengths()), plan.provenance());
    say_plan(&measures, made, plan.digest(), plan.over_long().1, &input);
    if let Some(shard) = made.shard {
        say_shard(shard, plan);
    }
    match &part {
        Some(part) => part.say(),
        // A shard has a part of each step.
        None if made.shard.is_none() => say_batches_as_steps(&whole, &lengths)?,
        None => {}
    }
    for line in &lines {
        printer::say(line);
    }
    Ok(())
}

/// Writes the plan and the cursor, each to its file, or the plan to standard output.
fn write(
    args: &planning::Plan,
    form: Option<Form>,
    plan: &Plan,
    part: Option<&Part>,
    input: &Sequences,
) -> Result<(), Failure> {
    let mut file = PlanFile::new(plan.clone(), input.lengths());
    file.chunks.clone_from(&input.chunks);
    file.ranks = part.map(|part| part.ranks.clone());
    if input.ids.is_some() {
        file = file.ids(|index| input.id(index).unwrap_or_default());
    }
    for path in [&args.output, &args.part.cursor].into_iter().flatten() {
        signals::writing(path);
    }
    // Both are written before one of them appears.
    let cursor = args.part.cursor.as_ref().zip(part).map(|(path, part)| {
        Written::new(path, |output| writeln!(output, "{}", to_json(&part.end)))
    });
    let cursor = cursor.transpose()?;
    match (&args.output, form) {
        (Some(path), Some(form)) => save(path, |output| file.write(form, output))?,
        (_, Some(form)) => printer::print_with(|output| file.write(form, output))?,
        (_, None) => printer::print_with(|output| write_lines(plan.iter(), output))?,
    }
    Ok(cursor.map_or(Ok(()), Written::keep)?)
}
