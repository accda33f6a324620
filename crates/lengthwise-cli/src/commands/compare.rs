//! `lengthwise compare`

use lengthwise::Strategy;
use lengthwise_report::{Comparison, Request};

use crate::{
    args::Compare,
    cost_model,
    failure::Failure,
    printer::{self, Progress},
};

pub(crate) fn run(args: &Compare) -> Result<(), Failure> {
    let strategies: Vec<Strategy> = if args.strategies.is_empty() {
        Strategy::all()
    } else {
        args.strategies.iter().map(|given| given.parse()).collect::<Result<_, _>>()?
    };
    let budget = cost_model::budget(&args.budget)?;
    let cost_model = args.cost_model.as_deref().map(cost_model::named).transpose()?;
    let shapes = args.shapes.parse()?;
    let arrange = args.settings.arrange.parse()?;
    let over_long = args.settings.over_long.parse()?;
    let steps = args.ranks.steps.as_deref().map(str::parse).transpose()?;
    let tail = args.ranks.tail.parse()?;
    let input = args.input.read_or_default()?;
    let request = Request {
        source: &input.source,
        lengths: input.lengths(),
        strategies: &strategies,
        budget,
        shapes,
        arrange,
        over_long,
        seed: args.settings.seed,
        epochs: args.epochs,
        world_size: args.ranks.world_size,
        accumulate: args.ranks.accumulate,
        steps,
        tail,
        cost_model,
    };
    let mut progress = Progress::start();
    let mut done = 0;
    let comparison = Comparison::run(&request, |strategy| {
        done += 1;
        progress.at(&format!("planning {strategy} ({done} of {})", strategies.len()));
    })?;
    drop(progress);
    if args.json {
        printer::print(&(comparison.to_json() + "\n"))
    } else {
        printer::print(&comparison.table(printer::look(), printer::width()))
    }
}
