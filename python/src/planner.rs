//! Planners: lengths and settings, checked once, that plan one epoch after another.

use std::sync::Arc;

use lengthwise::{Strategy, recommended};
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    lengths::{Column, Lengths, paired},
    plan::Plan,
    settings::{BudgetArgument, ModelArgument, Whole, parsed},
};

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
        arrange = "spread",
        over_long = "error",
        steps = None,
        tail = "split",
        cost_model = None,
        accumulate = Whole(1),
        canonical_ranks = None,
        constant_steps = false,
        seed = Whole(0),
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
    fn new(
        py: Python<'_>,
        lengths: Column,
        strategy: Option<&str>,
        second: Option<Column>,
        budget: Option<BudgetArgument>,
        shapes: Option<&str>,
        arrange: &str,
        over_long: &str,
        steps: Option<&str>,
        tail: &str,
        cost_model: Option<ModelArgument>,
        accumulate: Whole<u32>,
        canonical_ranks: Option<Whole<u32>>,
        constant_steps: bool,
        seed: Whole<u64>,
    ) -> PyResult<Self> {
        let (lengths, accumulate, seed) = (paired(lengths, second)?, accumulate.0, seed.0);
        let make = || -> Result<Self> {
            let strategy: Option<Strategy> = parsed(strategy)?;
            let own = || strategy.as_ref().and_then(Strategy::own_budget);
            let budget = budget.map(|given| given.0).or_else(own).ok_or_else(|| {
                Failure::Own(
                    "SettingError",
                    "there is no budget, and batches have no other size".to_owned(),
                    "give one, as in budget=\"padded:20000\"".to_owned(),
                )
            })?;
            let (strategy, shapes) = recommended(&lengths, budget, strategy, parsed(shapes)?)?;
            let described =
                format!("strategy {strategy}, budget {budget}, shapes {shapes}, seed {seed}");
            let mut planner = lengthwise::Planner::new(strategy, budget)
                .shapes(shapes)
                .arrange(arrange.parse()?)
                .over_long(over_long.parse()?)
                .tail(tail.parse()?)
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
            if let Some(steps) = parsed(steps)? {
                planner = planner.steps(steps);
            }
            if let Some(model) = cost_model {
                planner = planner.cost_model(model.0);
            }
            if constant_steps {
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
        let plan =
            py.detach(|| self.planner.plan(&self.lengths, epoch.0)).map_err(Failure::from)?;
        Ok(Plan::new(plan, &self.lengths))
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
