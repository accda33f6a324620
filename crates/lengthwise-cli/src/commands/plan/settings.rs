//! The settings of a plan, from text to a planner.

use lengthwise::{Lengths, Planner, Settings, Shapes, Strategy, Workspace, tune::recommended_in};

use crate::{args::planning::Plan, cost_model, failure::Failure, input::Sequences};

/// What was typed. A strategy and shapes that were not are chosen once the lengths are known.
pub(super) struct Given {
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
    settings: Settings,
}

impl Given {
    pub(super) fn read(args: &Plan) -> Result<Self, Failure> {
        let strategy: Option<Strategy> = args.strategy.as_deref().map(str::parse).transpose()?;
        let budget = match (&args.budget, strategy.as_ref().and_then(Strategy::own_budget)) {
            (Some(given), _) => cost_model::budget(given)?,
            (None, Some(own)) => own,
            (None, None) => {
                return Err(Failure::new(
                    "there is no budget, and batches have no other size".to_owned(),
                    "give one, as in `--budget padded:20000`",
                ));
            }
        };
        let shapes = args.shapes.as_deref().map(str::parse).transpose()?;
        let settings = Settings {
            arrange: args.settings.arrange.parse()?,
            over_long: args.settings.over_long.parse()?,
            steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
            tail: args.ranks.tail.parse()?,
            cost_model: args.part.cost_model.as_deref().map(cost_model::named).transpose()?,
            accumulate: args.ranks.accumulate,
            canonical_ranks: args.part.canonical_ranks,
            seed: args.settings.seed,
            ..Settings::new("", budget)
        };
        Ok(Self { strategy, shapes, settings })
    }

    pub(super) fn planner(
        self,
        args: &Plan,
        lengths: &Lengths,
        input: &Sequences,
        workspace: &Workspace,
    ) -> Result<Planner<Strategy>, Failure> {
        let Self { strategy, shapes, settings } = self;
        let budget = settings.budget;
        let (strategy, shapes) = recommended_in(workspace, lengths, budget, strategy, shapes)
            .map_err(|error| input.named(error))?;
        let planner = Planner::with(strategy, Settings { shapes, ..settings });
        // Shards always have as many.
        if args.part.constant_steps && args.shards.shard.is_none() {
            return planner.constant_steps(lengths).map_err(|error| input.named(error));
        }
        Ok(planner)
    }
}
