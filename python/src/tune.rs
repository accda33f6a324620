//! What is recommended within limits.

use lengthwise::{
    Budget, Settings, Shapes, Update,
    tune::{Like, Limits, Model, Wanted, recommend_in},
};
use pyo3::{prelude::*, types::PyDict};

use crate::compare::loaded;
use crate::error::{Failure, Result};
use crate::interrupt::{Stop, interruptible};
use crate::lengths::Column;
use crate::pickle::{Reduced, from_json, reduced, to_json};
use crate::settings::{Given, at_least_one, budget_like, given, plain, text};

/// What is recommended, and what else there is to choose from. `lengthwise.tune` makes it.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Tuning {
    tuning: lengthwise_report::Tuning,
    settings: Settings,
}

/// Recommends how to batch: the fastest way that keeps the limits. `Planner`, `plan` and samplers use what
/// it recommends if you give them no strategy.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
///     `like`: The batch size that you train with today, such as 32: the budget of equal memory. With
///         "32,keep=steps", an epoch also keeps its number of optimizer steps. By default, `budget` decides.
///     `model`: The model that you train: "attention", "recurrent", "packed" (it takes several sequences in
///         one row), or how long its steps take, as for `cost_model`. The default is "attention".
///     `shapes`: Which batch lengths may occur, as for `Planner`. By default, they are recommended too.
///     `arrange`: The order of the batches, as for `Planner`. The default is "spread".
///     `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default
///         is "error".
///     `world_size`: The number of ranks. The default is 1.
///     `accumulate`: Micro-batches per rank and optimizer step, if your training loop decides them: 1 if it
///         updates after every batch. By default, they are recommended too.
///     `update`: How much data one optimizer step has over all ranks, as for `Planner`. By default, it has as
///         much as a full batch of every rank.
///     `max_padding`: The highest padding rate, above 0 and below 1, such as 0.05. By default, there is no
///         limit.
///     `min_mixing`: The lowest mixing, from 0 to 1: how freely batch-mates change between epochs, where 1 is
///         random shuffling. By default, it is 0.05.
///     `min_mates`: The fewest effective mates: the smallest pool that batch-mates may be drawn from. By
///         default, there is no limit.
///     `max_shapes`: The most different shapes (pairs of batch size and batch length). By default, there is
///         no limit.
///     `max_step_mix`: The highest step mix: how much optimizer steps differ in length, where 1 is as random
///         steps. By default, it is 1.
///     `min_optimizer_steps`: The fewest optimizer steps of an epoch. By default, there is no limit.
///     `max_optimizer_steps`: The most optimizer steps of an epoch. By default, there is no limit.
///     `max_seconds`: The most seconds for an epoch. It needs a cost model. By default, there is no limit.
///     `cost_model`: How long a batch takes, as for `Planner`. By default, `model` decides.
///     `seed`: The seed of all random choices. The default is 0.
#[pyfunction]
#[pyo3(signature = (
    lengths,
    *,
    budget = None,
    like = None,
    model = None,
    shapes = None,
    arrange: "str" = "spread",
    over_long: "str" = "error",
    world_size: "SupportsIndex" = 1,
    accumulate = None,
    update = None,
    max_padding = None,
    min_mixing = None,
    min_mates = None,
    max_shapes = None,
    max_step_mix = None,
    min_optimizer_steps = None,
    max_optimizer_steps = None,
    max_seconds = None,
    cost_model = None,
    seed: "SupportsIndex" = 0,
))]
pub(crate) fn tune(
    py: Python<'_>,
    lengths: Column,
    budget: Option<Given<Budget>>,
    like: Option<Given<Like>>,
    model: Option<Given<Model>>,
    shapes: Option<Given<Shapes>>,
    #[pyo3(from_py_with = text)] arrange: &str,
    #[pyo3(from_py_with = text)] over_long: &str,
    #[pyo3(from_py_with = plain)] world_size: u32,
    accumulate: Option<Given<u32>>,
    update: Option<Given<Update>>,
    max_padding: Option<Given<f64>>,
    min_mixing: Option<Given<f64>>,
    min_mates: Option<Given<f64>>,
    max_shapes: Option<Given<u32>>,
    max_step_mix: Option<Given<f64>>,
    min_optimizer_steps: Option<Given<u64>>,
    max_optimizer_steps: Option<Given<u64>>,
    max_seconds: Option<Given<f64>>,
    cost_model: Option<Given<lengthwise::CostModel>>,
    #[pyo3(from_py_with = plain)] seed: u64,
) -> Result<Tuning> {
    let (like, accumulate) = (given(like), given(accumulate));
    at_least_one("world_size", world_size)?;
    accumulate.map_or(Ok(()), |each| at_least_one("accumulate", each))?;
    let settings = Settings {
        arrange: arrange.parse()?,
        over_long: over_long.parse()?,
        cost_model: given(cost_model),
        update: given(update),
        seed,
        ..Settings::new("", budget_like(budget, like)?.unwrap_or(DEFAULT_BUDGET))
    };
    let mut wanted = wanted(settings, given(model), like, world_size);
    (wanted.shapes, wanted.micro_batches) = (given(shapes), accumulate);
    wanted.limits = Limits {
        max_padding: given(max_padding),
        min_mixing: given(min_mixing),
        min_mates: given(min_mates),
        max_shapes: given(max_shapes),
        max_step_mix: given(max_step_mix),
        min_steps: given(min_optimizer_steps),
        max_steps: given(max_optimizer_steps),
        max_seconds: given(max_seconds),
    };
    check(&wanted)?;
    let find = move |stop: &Stop| -> Result<Tuning> {
        let found = recommend_in(&stop.workspace(), &lengths.0, &wanted)?;
        let tuning = lengthwise_report::Tuning::new(&found, None, wanted.ranks);
        let settings = found.best().settings.clone();
        Ok(Tuning { tuning, settings })
    };
    interruptible(py, find)?
}

/// The budget of commands that need none.
pub(crate) const DEFAULT_BUDGET: Budget = Budget::sequences(16);

/// What is wanted of a recommendation where these settings are known.
pub(crate) fn wanted(
    settings: Settings,
    model: Option<Model>,
    like: Option<Like>,
    ranks: u32,
) -> Wanted {
    let mut wanted = Wanted::new(settings.budget);
    wanted.model = model.unwrap_or_default();
    wanted.model.cost = wanted.model.cost.or(settings.cost_model);
    wanted.settings = settings;
    let kept = like.and_then(|like| like.update(ranks));
    wanted.settings.update = wanted.settings.update.or(kept);
    (wanted.ranks, wanted.like) = (ranks, like);
    wanted
}

fn check(wanted: &Wanted) -> Result<()> {
    let Wanted { limits, model, .. } = wanted;
    let bad = |name: &str, given: String, hint: &str| {
        Err(Failure::setting(format!("`{name}` cannot be {given}"), hint))
    };
    if let Err((name, given, expected)) = limits.check() {
        return bad(name, given.to_string(), &format!("it must be {expected}"));
    }
    match *limits {
        Limits { max_shapes: Some(0), .. } => {
            bad("max_shapes", "0".to_owned(), "it must be a whole number from 1")
        }
        Limits { max_seconds: Some(given), .. } if model.cost.is_none() => bad(
            "max_seconds",
            format!("{given} without a cost model"),
            "give `cost_model` too; `lengthwise.calibrate` makes one",
        ),
        _ => Ok(()),
    }
}

#[pymethods]
impl Tuning {
    #[staticmethod]
    fn _restore(json: &str, settings: &str) -> Result<Self> {
        let settings: Settings = from_json(settings, "Tuning")?;
        Ok(Self { tuning: from_json(json, "Tuning")?, settings })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (String, String)>> {
        reduced::<Self, _>(py, (self.tuning.to_json(), to_json(&self.settings)?))
    }

    /// The strategy.
    #[getter]
    fn strategy(&self) -> &str {
        &self.tuning.strategy
    }

    /// The shapes to use with the strategy.
    #[getter]
    fn shapes(&self) -> &str {
        &self.tuning.shapes
    }

    /// Whether the choice is within all limits. If not, it is the one that comes closest.
    #[getter]
    fn within_limits(&self) -> bool {
        self.tuning.within_limits
    }

    /// What is recommended, with the reason and the lines that use it, as in the JSON of `lengthwise tune
    /// --json`; `None` if nothing keeps the limits.
    #[getter]
    fn recommended<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.tuning.to_json())?.get_item("recommended")
    }

    /// The choice as arguments of `plan` and of samplers: `plan(lengths, **tuning.settings)`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        let Settings {
            strategy,
            budget,
            shapes,
            arrange,
            over_long,
            update,
            accumulate,
            cost_model,
            seed,
            ..
        } = &self.settings;
        settings.set_item("strategy", strategy)?;
        settings.set_item("budget", budget.to_string())?;
        settings.set_item("shapes", shapes.to_string())?;
        settings.set_item("arrange", arrange.to_string())?;
        settings.set_item("over_long", over_long.to_string())?;
        settings.set_item("seed", seed)?;
        if let Some(update) = update {
            settings.set_item("update", update.to_string())?;
        }
        if *accumulate > 1 {
            settings.set_item("accumulate", accumulate)?;
        }
        if let Some(model) = cost_model {
            settings.set_item("cost_model", model.to_string())?;
        }
        Ok(settings)
    }

    /// The measures of the choice.
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.tuning.to_json())?.get_item("best")
    }

    /// Every way that was measured, the best first. Those that break a limit come last.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.tuning.to_json())?.get_item("candidates")
    }

    /// Returns the JSON that `lengthwise tune --json` prints.
    fn to_json(&self) -> String {
        self.tuning.to_json()
    }

    fn __repr__(&self) -> String {
        self.tuning.to_text(lengthwise_report::Look::Plain, 100)
    }
}
