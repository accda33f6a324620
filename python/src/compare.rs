//! Comparisons, inspections and the manual, as the command line has them.

use std::{io::Write as _, path::PathBuf, sync::Arc};

use lengthwise::{
    Budget, Settings, Shapes, Steps, Strategy, Update,
    tune::{Like, Model, Wanted},
};
use lengthwise_report::{Look, Request, Study, list_of_pages, page};
use pyo3::{prelude::*, types::PyString};

use crate::error::{Failure, Result};
use crate::interrupt::{Stop, interruptible, perhaps_long};
use crate::lengths::{Column, Lengths};
use crate::pickle::{Reduced, from_json, reduced, to_json};
use crate::settings::{Given, Value, at_least_one, budget_like, expected, given, plain, text};
use crate::tune::{DEFAULT_BUDGET, wanted};

/// The measures of several strategies on the same lengths. `lengthwise.compare` makes it.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Comparison {
    comparison: lengthwise_report::Comparison,
    lengths: Arc<lengthwise::Lengths>,
    settings: Settings,
}

/// Compares strategies: plans several epochs with each of them, and measures the plans.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `strategies`: One strategy or a list of them, such as "blurred:blur=0.02". By default, all
///         strategies that pad are compared.
///     `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
///     `like`: The batch size that you train with today, as for `Planner`. By default, `budget` decides.
///     `model`: The model that you train, for the recommendation, as for `Planner`. The default is
///         "attention".
///     `shapes`: Which batch lengths may occur, as for `Planner`. The default is "exact"; the recommendation
///         has shapes of its own.
///     `arrange`: The order of the batches, as for `Planner`. The default is "spread".
///     `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default
///         is "error".
///     `epochs`: How many epochs are planned. Figures are means over these. The default is 5.
///     `world_size`: The number of ranks. The default is 1.
///     `accumulate`: Gradient-accumulation steps per rank. The default is 1; the recommendation has its own
///         number.
///     `update`: How much data one optimizer step has over all ranks, such as "tokens:100000". It replaces
///         `accumulate`. By default, a step has `accumulate` batches for each rank.
///     `steps`: Which batches the ranks process in the same step, as for `Planner`. By default, the
///         arrangement and the budget decide.
///     `tail`: What happens to the last batches if they do not fill a step, as for `Planner`. The default
///         is "split".
///     `cost_model`: How long a batch takes, as for `Planner`. With a cost model, the comparison has the
///         predicted seconds of an epoch. By default, there is none.
///     `seed`: The seed of all random choices. The default is 0.
///     `source`: What the report calls the lengths. The default is "lengths".
#[pyfunction]
#[pyo3(signature = (
    lengths,
    strategies = None,
    *,
    budget = None,
    like = None,
    model = None,
    shapes = None,
    arrange: "str" = "spread",
    over_long: "str" = "error",
    epochs: "SupportsIndex" = 5,
    world_size: "SupportsIndex" = 1,
    accumulate = None,
    update = None,
    steps = None,
    tail: "str" = "split",
    cost_model = None,
    seed: "SupportsIndex" = 0,
    source: "str" = "lengths",
))]
pub(crate) fn compare(
    py: Python<'_>,
    lengths: Column,
    strategies: Option<Given<Named>>,
    budget: Option<Given<Budget>>,
    like: Option<Given<Like>>,
    model: Option<Given<Model>>,
    shapes: Option<Given<Shapes>>,
    #[pyo3(from_py_with = text)] arrange: &str,
    #[pyo3(from_py_with = text)] over_long: &str,
    #[pyo3(from_py_with = plain)] epochs: u32,
    #[pyo3(from_py_with = plain)] world_size: u32,
    accumulate: Option<Given<u32>>,
    update: Option<Given<Update>>,
    steps: Option<Given<Steps>>,
    #[pyo3(from_py_with = text)] tail: &str,
    cost_model: Option<Given<lengthwise::CostModel>>,
    #[pyo3(from_py_with = plain)] seed: u64,
    #[pyo3(from_py_with = text)] source: &str,
) -> Result<Comparison> {
    let every = || Strategy::all_for(&lengths.0);
    let strategies = strategies.map_or_else(every, |Given(Named(named))| named);
    if strategies.is_empty() {
        return Err(Failure::setting("no strategies", "name some, or leave them out for all"));
    }
    at_least_one("epochs", epochs)?;
    let (like, shapes, accumulate) = (given(like), given(shapes), given(accumulate));
    accumulate.map_or(Ok(()), |each| at_least_one("accumulate", each))?;
    at_least_one("world_size", world_size)?;
    let settings = Settings {
        shapes: shapes.clone().unwrap_or(Shapes::Exact),
        arrange: arrange.parse()?,
        over_long: over_long.parse()?,
        steps: given(steps),
        tail: tail.parse()?,
        cost_model: given(cost_model),
        accumulate: accumulate.unwrap_or(1),
        update: given(update).or(like.and_then(|like| like.update(world_size))),
        seed,
        ..Settings::new("", budget_like(budget, like)?.unwrap_or(DEFAULT_BUDGET))
    };
    let alone = Settings { accumulate: 1, ..settings.clone() };
    let mut wanted = wanted(alone, given(model), like, world_size);
    (wanted.shapes, wanted.micro_batches) = (shapes, accumulate);
    let (lengths, source) = (lengths.0, source.to_owned());
    let compare = move |stop: &Stop| -> Result<Comparison> {
        let request = Request {
            source: &source,
            unit: None,
            lengths: &lengths,
            strategies: &strategies,
            settings: settings.clone(),
            epochs,
            world_size,
            wanted: wanted.clone(),
            typed: None,
            papers: false,
        };
        let comparison =
            lengthwise_report::Comparison::run_in(&stop.workspace(), &request, |_| {})?;
        Ok(Comparison { comparison, lengths, settings })
    };
    interruptible(py, compare)?
}

/// One strategy, or several.
#[derive(Debug)]
pub(crate) struct Named(Vec<Strategy>);

impl Value for Named {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        if given.is_instance_of::<PyString>() {
            return Ok(Self(vec![Strategy::read(given)?]));
        }
        let several = Vec::<String>::read(given);
        let several = several.map_err(|_| expected("a strategy, or a list of them", given))?;
        Ok(Self(strategies_of(several.iter().map(String::as_str))?))
    }
}

fn strategies_of<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<Strategy>> {
    Ok(texts.map(str::parse).collect::<Result<_, lengthwise::Error>>()?)
}

/// A comparison as it is pickled: the lengths, and the settings and the figures as JSON.
type Pickled = (Lengths, String, String);

#[pymethods]
impl Comparison {
    #[staticmethod]
    fn _restore(lengths: &Lengths, settings: &str, figures: &str) -> Result<Self> {
        let comparison = from_json(figures, "Comparison")?;
        let settings = from_json(settings, "Comparison")?;
        Ok(Self { comparison, lengths: Arc::clone(&lengths.0), settings })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Pickled>> {
        let lengths = Lengths::from(&self.lengths);
        let settings = to_json(&self.settings)?;
        reduced::<Self, _>(py, (lengths, settings, self.comparison.to_json()))
    }

    /// One dictionary for each strategy: means over the epochs, and their standard deviations as `sd`.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.comparison.to_json())?.get_item("rows")
    }

    /// The settings that all strategies share.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.comparison.to_json())?.get_item("settings")
    }

    /// Returns the JSON that `lengthwise compare --json` prints.
    fn to_json(&self) -> String {
        self.comparison.to_json()
    }

    /// Returns the report as one HTML page, which needs no network and no other files. `papers` adds
    /// the papers' tuning curves.
    #[pyo3(signature = (*, papers = false))]
    fn to_html(slf: Py<Self>, py: Python<'_>, papers: bool) -> Result<String> {
        interruptible(py, move |_| slf.get().page(papers))?
    }

    /// Writes the report to the .html file `path`. An error leaves no partial file. `papers` adds the
    /// papers' tuning curves.
    #[pyo3(signature = (path, *, papers = false))]
    fn save_html(slf: Py<Self>, py: Python<'_>, path: Given<PathBuf>, papers: bool) -> Result<()> {
        interruptible(py, move |stop: &Stop| -> Result<()> {
            let page = slf.get().page(papers)?;
            Ok(stop.save(&path.0, |file| file.write_all(page.as_bytes()))?.keep()?)
        })?
    }

    fn __repr__(&self) -> String {
        self.comparison.table(Look::Plain, 120)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("lengthwise._html")?.call_method1("comparison", (slf,))
    }
}

impl Comparison {
    fn page(&self, papers: bool) -> Result<String> {
        let lengthwise_report::Comparison { input, settings, rows, .. } = &self.comparison;
        let source = &input.source;
        let lengthwise_report::Settings { budget, shapes, seed, epochs, world_size, .. } = settings;
        let command = format!(
            "lengthwise.compare({source}, budget=\"{budget}\", shapes=\"{shapes}\", epochs={epochs}, \
             world_size={world_size}, seed={seed})"
        );
        let compared = rows.iter().filter(|row| !row.recommended);
        let request = Request {
            source,
            unit: None,
            lengths: &self.lengths,
            strategies: &strategies_of(compared.map(|row| row.strategy.as_str()))?,
            settings: self.settings.clone(),
            epochs: *epochs,
            world_size: *world_size,
            wanted: Wanted::new(self.settings.budget),
            typed: None,
            papers,
        };
        let study = Study::around(self.comparison.clone(), &request, &command, |_| {})?;
        Ok(study.to_html())
    }
}

/// A description of lengths. `lengthwise.inspect` makes it.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Inspection {
    inspection: lengthwise_report::Inspection,
    /// What was inspected: a pickled one is made again.
    lengths: Arc<lengthwise::Lengths>,
    wanted: Wanted,
}

/// Describes lengths: their distribution, outliers, how much random batches of them are padded, and what is
/// recommended.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
///     `like`: The batch size that you train with today, as for `Planner`. By default, `budget` decides.
///     `model`: The model that you train, for the recommendation, as for `Planner`. The default is
///         "attention".
///     `source`: What the output calls the lengths. The default is "lengths".
#[pyfunction]
#[pyo3(
    signature = (lengths, *, budget = None, like = None, model = None, source: "str" = "lengths"),
)]
pub(crate) fn inspect(
    py: Python<'_>,
    lengths: Column,
    budget: Option<Given<Budget>>,
    like: Option<Given<Like>>,
    model: Option<Given<Model>>,
    #[pyo3(from_py_with = text)] source: &str,
) -> Result<Inspection> {
    let like = given(like);
    let budget = budget_like(budget, like)?.unwrap_or(DEFAULT_BUDGET);
    let wanted = wanted(Settings::new("", budget), given(model), like, 1);
    Inspection::of(py, lengths.0, wanted, source)
}

impl Inspection {
    fn of(
        py: Python<'_>,
        lengths: Arc<lengthwise::Lengths>,
        wanted: Wanted,
        source: &str,
    ) -> Result<Self> {
        lengths.only_one("an inspection")?;
        let source = source.to_owned();
        perhaps_long(py, lengths.len(), move |_: &Stop| -> Result<Self> {
            let inspection = lengthwise_report::Inspection::new(
                &source,
                &lengths,
                &wanted,
                None,
                |_| None,
                None,
            )?;
            Ok(Self { inspection, lengths, wanted })
        })?
    }
}

/// An inspection as it is pickled: what was inspected, the budget, what it is like, the model and the source.
type Inspected<'a> = (Lengths, String, Option<String>, String, &'a str);

#[pymethods]
impl Inspection {
    #[staticmethod]
    fn _restore(
        py: Python<'_>,
        lengths: Column,
        budget: Given<Budget>,
        like: Option<Given<Like>>,
        model: Given<Model>,
        source: &str,
    ) -> Result<Self> {
        let wanted = wanted(Settings::new("", budget.0), Some(model.0), given(like), 1);
        Self::of(py, lengths.0, wanted, source)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Inspected<'_>>> {
        let lengths = Lengths::from(&self.lengths);
        let Wanted { settings, like, model, .. } = &self.wanted;
        let like = like.map(|like| like.to_string());
        let (budget, model) = (settings.budget.to_string(), model.to_string());
        reduced::<Self, _>(py, (lengths, budget, like, model, &self.inspection.source))
    }

    /// Returns all figures by name, as in the JSON of `lengthwise inspect --json`.
    fn asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.inspection.to_json())
    }

    /// Returns the JSON that `lengthwise inspect --json` prints.
    fn to_json(&self) -> String {
        self.inspection.to_json()
    }

    /// Warnings, such as outliers or many equal lengths.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inspection.warnings.clone()
    }

    fn __repr__(&self) -> String {
        self.inspection.to_text(100, false)
    }
}

/// JSON as Python's own objects.
pub(crate) fn loaded<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

/// Returns a page of the manual in Markdown.
///
/// Args:
///     `name`: A strategy such as "blurred", or a kind of setting such as "budget" or "shapes". By default,
///         you get the list of all pages.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub(crate) fn explain(name: Option<Given<String>>) -> Result<String> {
    Ok(match name {
        Some(name) => page(&name.0)?.text,
        None => list_of_pages(100),
    })
}
