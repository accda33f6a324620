//! Planners: lengths and settings, checked once, that plan one epoch after another.

use std::sync::Arc;

use lengthwise::{Arrange, OverLong, Shapes, Shard, Steps, Strategy, Tail, recommended};
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    interrupt::interruptible,
    lengths::{Column, Lengths, paired},
    plan::Plan,
    settings::{BudgetArgument, Flag, ModelArgument, Parsed, Whole, at_least_one, given},
    statistics::Statistics,
};

/// So many sequences take long enough to plan for Ctrl-C to be noticed.
const LONG: usize = 1 << 20;

/// Plans epochs: the same lengths, settings, seed and epoch give the same plan on every machine.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "it is the planner of Rust")]
pub(crate) struct Planner {
    planner: lengthwise::Planner<Strategy>,
    lengths: Arc<lengthwise::Lengths>,
    /// What batch lengths there can be, if they are few.
    rungs: Option<Vec<u32>>,
    described: String,
}

#[pymethods]
impl Planner {
    #[new]
    #[pyo3(signature = (
        lengths,
        strategy = None,
        *,
        second = None,
        budget = None,
        shapes = None,
        arrange = Parsed(Arrange::Spread),
        over_long = Parsed(OverLong::Error),
        steps = None,
        tail = Parsed(Tail::Split),
        cost_model = None,
        accumulate = Whole(1),
        canonical_ranks = None,
        constant_steps = Flag(false),
        seed = Whole(0),
        statistics = None,
        shard = None,
        shards = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
    fn new(
        py: Python<'_>,
        lengths: Column,
        strategy: Option<Parsed<Strategy>>,
        second: Option<Column>,
        budget: Option<BudgetArgument>,
        shapes: Option<Parsed<Shapes>>,
        arrange: Parsed<Arrange>,
        over_long: Parsed<OverLong>,
        steps: Option<Parsed<Steps>>,
        tail: Parsed<Tail>,
        cost_model: Option<ModelArgument>,
        accumulate: Whole<u32>,
        canonical_ranks: Option<Whole<u32>>,
        constant_steps: Flag,
        seed: Whole<u64>,
        statistics: Option<PyRef<'_, Statistics>>,
        shard: Option<Whole<u32>>,
        shards: Option<Whole<u32>>,
    ) -> PyResult<Self> {
        let (lengths, accumulate, seed) = (paired(lengths, second)?, accumulate.0, seed.0);
        at_least_one("accumulate", accumulate)?;
        canonical_ranks.map_or(Ok(()), |ranks| at_least_one("canonical_ranks", ranks.0))?;
        let statistics = statistics.map(|statistics| Arc::clone(&statistics.0));
        let shard = match (shard, shards) {
            (Some(shard), Some(shards)) => {
                Some(Shard::new(shard.0, shards.0).map_err(Failure::from)?)
            }
            (None, None) => None,
            _ => {
                let what = "one of `shard` and `shards` is given, and not the other".to_owned();
                let hint = "say which shard it is, and of how many".to_owned();
                return Err(Failure::Own("SettingError", what, hint).into());
            }
        };
        let make = || -> Result<Self> {
            let lengths = match statistics {
                Some(all) => Arc::new(lengthwise::Lengths::clone(&lengths).part_of(all)?),
                None => lengths,
            };
            let strategy = given(strategy);
            let own = || strategy.as_ref().and_then(Strategy::own_budget);
            let budget = budget.map(|given| given.0).or_else(own).ok_or_else(|| {
                Failure::Own(
                    "SettingError",
                    "there is no budget, and batches have no other size".to_owned(),
                    "give one, as in budget=\"padded:20000\"".to_owned(),
                )
            })?;
            let (strategy, shapes) = recommended(&lengths, budget, strategy, given(shapes))?;
            let part = shard.map_or_else(String::new, |Shard { number, of }| {
                format!(", shard {number} of {of}")
            });
            let described =
                format!("strategy {strategy}, budget {budget}, shapes {shapes}, seed {seed}{part}");
            let mut planner = lengthwise::Planner::new(strategy, budget)
                .shapes(shapes)
                .arrange(arrange.0)
                .over_long(over_long.0)
                .tail(tail.0)
                .accumulate(accumulate)
                .seed(seed);
            if let Some(ranks) = canonical_ranks {
                if accumulate != 1 {
                    return Err(Failure::Own(
                        "SettingError",
                        "`accumulate` and `canonical_ranks` are both given".to_owned(),
                        "give one of them: canonical ranks say how many batches a step has on any \
                         number of ranks"
                            .to_owned(),
                    ));
                }
                planner = planner.canonical_ranks(ranks.0);
            }
            if let Some(shard) = shard {
                planner = planner.shard(shard);
            }
            if let Some(steps) = given(steps) {
                planner = planner.steps(steps);
            }
            if let Some(model) = cost_model {
                planner = planner.cost_model(model.0);
            }
            if constant_steps.0 {
                planner = planner.constant_steps(&lengths)?;
            }
            let rungs = planner.rungs(&lengths)?;
            Ok(Self { planner, lengths: Arc::clone(&lengths), rungs, described })
        };
        Ok(py.detach(make)?)
    }

    /// The plan of one epoch.
    #[pyo3(signature = (epoch = Whole(0)))]
    fn plan(&self, py: Python<'_>, epoch: Whole<u64>) -> PyResult<Plan> {
        let plan = if self.lengths.len() < LONG {
            py.detach(|| self.planner.plan(&self.lengths, epoch.0))
        } else {
            let (planner, lengths) = (self.planner.clone(), Arc::clone(&self.lengths));
            interruptible(py, move |workspace| planner.plan_in(workspace, &lengths, epoch.0))?
        };
        let plan = plan.map_err(Failure::from)?;
        Ok(Plan::new(plan, &self.lengths))
    }

    /// What this shard needs: merged into the statistics with what all others need, it says how many
    /// batches every shard takes.
    fn needs(&self, py: Python<'_>) -> PyResult<Statistics> {
        let needs = py.detach(|| self.planner.needs(&self.lengths)).map_err(Failure::from)?;
        Ok(Statistics(Arc::new(needs)))
    }

    /// The lengths that are planned.
    #[getter]
    fn lengths(&self) -> Lengths {
        Lengths(Arc::clone(&self.lengths))
    }

    /// The batch lengths of the ladder, rising; `None` if the shapes are no ladder.
    #[getter]
    fn rungs(&self) -> Option<Vec<u32>> {
        self.rungs.clone()
    }

    fn __repr__(&self) -> String {
        format!("Planner({} sequences; {})", self.lengths.len(), self.described)
    }
}
