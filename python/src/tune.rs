//! The best strategy within limits.

use lengthwise::{
    Budget, Shapes, Workspace,
    tune::{Conditions, Limits, recommended_shapes},
};
use pyo3::{prelude::*, types::PyDict};

use crate::compare::loaded;
use crate::error::{Failure, Result};
use crate::interrupt::interruptible;
use crate::lengths::Column;
use crate::pickle::{Reduced, from_json, reduced};
use crate::settings::{Given, given, plain};

/// The best strategy within limits. `lengthwise.tune` makes it.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Tuning {
    tuning: lengthwise_report::Tuning,
    seed: u64,
}

/// Finds the best strategy within limits on padding, batch-mates, shapes and time.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `budget`: The hard limit of a batch, as for `Planner`.
///     `shapes`: Which batch lengths may occur, as for `Planner`. By default, it is a ladder of up to 16
///         rungs if you set no limit and no cost model, and "exact" otherwise.
///     `max_padding`: The highest padding rate, above 0 and below 1, such as 0.05. By default, there is no
///         limit.
///     `min_mates`: The fewest effective mates: the smallest pool that batch-mates may be drawn from. By
///         default, there is no limit.
///     `max_shapes`: The most different shapes (pairs of batch size and batch length). By default, there is
///         no limit.
///     `max_seconds`: The most seconds for an epoch. It needs a cost model. By default, there is no limit.
///     `cost_model`: How long a batch takes, as for `Planner`. By default, there is none.
///     `seed`: The seed of all random choices. The default is 0.
#[pyfunction]
#[pyo3(signature = (
    lengths,
    *,
    budget,
    shapes = None,
    max_padding = None,
    min_mates = None,
    max_shapes = None,
    max_seconds = None,
    cost_model = None,
    seed: "SupportsIndex" = 0,
))]
pub(crate) fn tune(
    py: Python<'_>,
    lengths: Column,
    budget: Given<Budget>,
    shapes: Option<Given<Shapes>>,
    max_padding: Option<Given<f64>>,
    min_mates: Option<Given<f64>>,
    max_shapes: Option<Given<u32>>,
    max_seconds: Option<Given<f64>>,
    cost_model: Option<Given<lengthwise::CostModel>>,
    #[pyo3(from_py_with = plain)] seed: u64,
) -> Result<Tuning> {
    let limits = Limits {
        max_padding: given(max_padding),
        min_mates: given(min_mates),
        max_shapes: given(max_shapes),
        max_seconds: given(max_seconds),
    };
    check(&limits, cost_model.is_some())?;
    let budget = budget.0;
    let cost_model = given(cost_model);
    let find = move |workspace: &Workspace| -> Result<Tuning> {
        let shapes = match shapes {
            Some(shapes) => shapes.0,
            None if limits == Limits::default() && cost_model.is_none() => {
                recommended_shapes(&lengths.0, budget)?
            }
            None => Shapes::Exact,
        };
        let conditions = Conditions { budget, shapes, seed, cost_model };
        let choice = lengthwise::tune::tune_in(workspace, &lengths.0, &conditions, limits)?;
        let tuning = lengthwise_report::Tuning::new(&choice, &conditions, &limits, None);
        Ok(Tuning { tuning, seed })
    };
    interruptible(py, find)?
}

fn check(limits: &Limits, timed: bool) -> Result<()> {
    let bad = |name: &str, given: String, hint: &str| {
        Err(Failure::setting(format!("`{name}` cannot be {given}"), hint))
    };
    match *limits {
        Limits { max_padding: Some(given), .. } if !(given > 0.0 && given < 1.0) => {
            bad("max_padding", given.to_string(), "it must be above 0 and below 1, such as 0.05")
        }
        Limits { min_mates: Some(given), .. } if !(given >= 1.0 && given.is_finite()) => {
            bad("min_mates", given.to_string(), "it must be a number from 1")
        }
        Limits { max_shapes: Some(0), .. } => {
            bad("max_shapes", "0".to_owned(), "it must be a whole number from 1")
        }
        Limits { max_seconds: Some(given), .. } if !(given > 0.0 && given.is_finite()) => {
            bad("max_seconds", given.to_string(), "it must be a number of seconds above 0")
        }
        Limits { max_seconds: Some(given), .. } if !timed => bad(
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
    fn _restore(json: &str, seed: u64) -> Result<Self> {
        Ok(Self { tuning: from_json(json, "Tuning")?, seed })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (String, u64)>> {
        reduced::<Self, _>(py, (self.tuning.to_json(), self.seed))
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

    /// The choice as arguments of `plan` and of samplers: `plan(lengths, **tuning.settings)`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        settings.set_item("strategy", &self.tuning.strategy)?;
        settings.set_item("budget", &self.tuning.budget)?;
        settings.set_item("shapes", &self.tuning.shapes)?;
        settings.set_item("seed", self.seed)?;
        Ok(settings)
    }

    /// The measures of the choice.
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.tuning.to_json())?.get_item("best")
    }

    /// The best choice of each family of strategies within the limits.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.tuning.to_json())?.get_item("candidates")
    }

    /// Returns the JSON that `lengthwise tune --json` prints.
    fn to_json(&self) -> String {
        self.tuning.to_json()
    }

    fn __repr__(&self) -> String {
        self.tuning.to_text()
    }
}
