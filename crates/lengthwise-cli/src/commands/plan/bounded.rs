//! A plan with a bound on memory: lengths from a file that is mapped, batches one by one into another.

use std::io::{self, Write};

use lengthwise::{Error, Workspace};
use lengthwise_io::{
    Form, SpanPlanFile, Written,
    memory::{for_planning, needed_in_all},
};

use crate::args::planning::Plan;
use crate::commands::plan::asked::Given;
use crate::commands::plan::output::{say_plan, write_lines};
use crate::failure::Failure;
use crate::printer::{self, Progress};
use crate::{memory, signals};

pub(super) fn run(
    args: &Plan,
    form: Option<Form>,
    settings: Given,
    bound: u64,
) -> Result<(), Failure> {
    refuse(args)?;
    let output = args.output.as_deref();
    let input = args.input.given()?.map()?;
    let lengths = input.lengths();
    let mut progress = Progress::start();
    progress.at("planning");
    let workspace = Workspace::new().memory(for_planning(bound, output));
    let in_all = |failure: Failure| match failure {
        Failure::Plan(Error::OverMemory { what, needed, .. }) => {
            let (needed, more) = needed_in_all(&what, needed, output);
            memory::over(&what, needed, bound, &more)
        }
        other => other,
    };
    let (planner, _) = settings.planner(args, None, lengths, &input, &workspace).map_err(in_all)?;
    let plan = planner.spans_in(&workspace, lengths, args.epoch);
    let plan = plan.map_err(|error| in_all(input.named(error)))?;
    progress.at("counting what is not padding");
    let positions = plan.positions(&workspace, lengths);
    let file = SpanPlanFile { plan: &plan, positions: &positions };
    match (&args.output, form) {
        (Some(path), Some(form)) => {
            signals::writing(path);
            let name = printer::safe(&path.display().to_string());
            let written = Written::new(path, |output| {
                let tell = |bytes: u64| {
                    let megabytes = bytes as f64 / 1e6;
                    progress.often(|| format!("writing {name}: {megabytes:.0} MB"));
                };
                file.write(form, &mut Counting { output, done: 0, tell })
            })?;
            input.unchanged()?;
            written.keep()?;
        }
        (_, Some(form)) => printer::print_with(|output| file.write(form, output))?,
        (_, None) => {
            let batches = plan.iter().map(|(batch, _)| batch);
            printer::print_with(|output| write_lines(batches, output))?;
        }
    }
    input.unchanged()?;
    drop(progress);
    let (measures, made) = (plan.measure(&positions), plan.provenance());
    say_plan(&measures, made, plan.digest(), plan.over_long().1, &input);
    Ok(())
}

/// Refuses what needs the whole plan in memory, or more.
fn refuse(args: &Plan) -> Result<(), Failure> {
    let (part, ranks) = (&args.part, &args.ranks);
    let given = [part.canonical_ranks, part.rank, part.take].iter().any(Option::is_some);
    let cursors = part.cursor.is_some() || !part.resume.is_empty();
    if args.shards.statistics.is_some() {
        return Err(Failure::new(
            "a shard has a fixed number of batches, which takes several plans in memory, which \
             `--memory` does not bound",
            "leave out `--memory`: shards are not planned with a bound",
        ));
    }
    if let Some(like) = args.advice.like()?.filter(|like| like.keep_steps) {
        return Err(Failure::new(
            "keeping the number of optimizer steps takes the whole plan in memory, 8 bytes for each \
             sequence, which `--memory` does not bound",
            format!("leave out `--memory`, or give `--like {}`", like.batch_size),
        ));
    }
    let what = if args.input.chunk.is_some() {
        "cutting sequences into pieces takes 12 bytes for each piece, which `--memory` does not bound"
    } else if ranks.world_size > 1
        || ranks.accumulate.is_some_and(|each| each > 1)
        || ranks.update.is_some()
        || given
        || cursors
    {
        "assigning batches to ranks and steps takes the whole plan in memory, 8 bytes for each \
         sequence, which `--memory` does not bound"
    } else if part.constant_steps {
        "a constant number of steps takes five plans in memory, which `--memory` does not bound"
    } else {
        return Ok(());
    };
    Err(Failure::new(what, "leave out `--memory`, or plan the whole epoch for one rank"))
}

struct Counting<'a, W, F> {
    output: &'a mut W,
    done: u64,
    tell: F,
}

impl<W: Write, F: FnMut(u64)> Write for Counting<'_, W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.done += written as u64;
        (self.tell)(self.done);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
