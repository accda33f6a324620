//! The settings of a plan, from text to a planner.

use lengthwise::{
    Arrange, Budget, CostModel, Lengths, OverLong, Planner, Shapes, Steps, Strategy, Tail,
    Workspace, recommended_in,
};

use crate::{args::planning::Plan, cost_model, failure::Failure, input::Sequences};

pub(super) struct Settings {
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
    budget: Budget,
    arrange: Arrange,
    over_long: OverLong,
    steps: Option<Steps>,
    tail: Tail,
    cost_model: Option<CostModel>,
}

impl Settings {
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
        Ok(Self {
            strategy,
            shapes: args.shapes.as_deref().map(str::parse).transpose()?,
            budget,
            arrange: args.settings.arrange.parse()?,
            over_long: args.settings.over_long.parse()?,
            steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
            tail: args.ranks.tail.parse()?,
            cost_model: args.part.cost_model.as_deref().map(cost_model::named).transpose()?,
        })
    }

    pub(super) fn planner(
        self,
        args: &Plan,
        lengths: &Lengths,
        input: &Sequences,
        workspace: &Workspace,
    ) -> Result<Planner<Strategy>, Failure> {
        let Self { budget, strategy, shapes, .. } = self;
        let (strategy, shapes) = recommended_in(workspace, lengths, budget, strategy, shapes)
            .map_err(|error| input.named(error))?;
        let mut planner = Planner::new(strategy, budget)
            .shapes(shapes)
            .arrange(self.arrange)
            .over_long(self.over_long)
            .tail(self.tail)
            .accumulate(args.ranks.accumulate)
            .seed(args.settings.seed);
        if let Some(ranks) = args.part.canonical_ranks {
            planner = planner.canonical_ranks(ranks);
        }
        if let Some(steps) = self.steps {
            planner = planner.steps(steps);
        }
        if let Some(model) = self.cost_model {
            planner = planner.cost_model(model);
        }
        // Shards always have as many.
        if args.part.constant_steps && args.shards.shard.is_none() {
            return planner.constant_steps(lengths).map_err(|error| input.named(error));
        }
        Ok(planner)
    }
}
