//! Comparisons and inspections, as the command line has them.

use std::{io::Write as _, path::PathBuf, sync::Arc};

use lengthwise::{Arrange, Budget, OverLong, Shapes, Steps, Strategy, Tail};
use lengthwise_files::save;
use lengthwise_report::{Look, Request, Study};
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    lengths::Column,
    settings::{BudgetArgument, ModelArgument, Whole, parsed},
};

/// What is compared; owns what a `Request` borrows.
#[derive(Debug)]
struct Compared {
    source: String,
    lengths: Arc<lengthwise::Lengths>,
    strategies: Vec<Strategy>,
    budget: Budget,
    shapes: Shapes,
    arrange: Arrange,
    over_long: OverLong,
    seed: u64,
    epochs: u32,
    world_size: u32,
    accumulate: u32,
    steps: Option<Steps>,
    tail: Tail,
    cost_model: Option<lengthwise::CostModel>,
}

impl Compared {
    fn request(&self) -> Request<'_> {
        Request {
            source: &self.source,
            unit: None,
            lengths: &self.lengths,
            strategies: &self.strategies,
            budget: self.budget,
            shapes: self.shapes.clone(),
            arrange: self.arrange,
            over_long: self.over_long,
            seed: self.seed,
            epochs: self.epochs,
            world_size: self.world_size,
            accumulate: self.accumulate,
            steps: self.steps,
            tail: self.tail,
            cost_model: self.cost_model,
        }
    }
}

/// The measures of several strategies on the same lengths.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Comparison {
    compared: Compared,
    comparison: lengthwise_report::Comparison,
}

/// Plans several epochs with every strategy, and measures them.
#[pyfunction]
#[pyo3(signature = (
    lengths,
    strategies = None,
    *,
    budget = BudgetArgument::sequences(16),
    shapes = "exact",
    arrange = "spread",
    over_long = "error",
    epochs = Whole(5),
    world_size = Whole(1),
    accumulate = Whole(1),
    steps = None,
    tail = "split",
    cost_model = None,
    seed = Whole(0),
    source = "lengths",
))]
#[expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
pub(crate) fn compare(
    py: Python<'_>,
    lengths: Column,
    strategies: Option<Named>,
    budget: BudgetArgument,
    shapes: &str,
    arrange: &str,
    over_long: &str,
    epochs: Whole<u32>,
    world_size: Whole<u32>,
    accumulate: Whole<u32>,
    steps: Option<&str>,
    tail: &str,
    cost_model: Option<ModelArgument>,
    seed: Whole<u64>,
    source: &str,
) -> PyResult<Comparison> {
    let (epochs, world_size, accumulate, seed) = (epochs.0, world_size.0, accumulate.0, seed.0);
    let make = || -> Result<Compared> {
        let strategies = match strategies {
            None => Strategy::all_padded(),
            Some(Named::One(given)) => vec![given.parse()?],
            Some(Named::Many(given)) if given.is_empty() => {
                let hint = "name some, or leave them out for all".to_owned();
                return Err(Failure::Own("SettingError", "no strategies".to_owned(), hint));
            }
            Some(Named::Many(given)) => given
                .iter()
                .map(|given| given.parse())
                .collect::<std::result::Result<_, lengthwise::Error>>()?,
        };
        for (name, value) in [("epochs", epochs), ("accumulate", accumulate)] {
            if value == 0 {
                let hint = "it must be a whole number from 1".to_owned();
                return Err(Failure::Own("SettingError", format!("`{name}` is 0"), hint));
            }
        }
        let compared = Compared {
            source: source.to_owned(),
            lengths: lengths.0,
            strategies,
            budget: budget.0,
            shapes: shapes.parse()?,
            arrange: arrange.parse()?,
            over_long: over_long.parse()?,
            seed,
            epochs,
            world_size,
            accumulate,
            steps: parsed(steps)?,
            tail: tail.parse()?,
            cost_model: cost_model.map(|model| model.0),
        };
        Ok(compared)
    };
    let compared = make()?;
    let mut comparison: Option<lengthwise_report::Comparison> = None;
    // One at a time, so that Ctrl-C is heard.
    for strategy in &compared.strategies {
        py.check_signals()?;
        let request = Request { strategies: std::slice::from_ref(strategy), ..compared.request() };
        let one = py
            .detach(|| lengthwise_report::Comparison::run(&request, |_| {}))
            .map_err(Failure::from)?;
        match &mut comparison {
            Some(all) => all.rows.extend(one.rows),
            None => comparison = Some(one),
        }
    }
    let none = || Failure::Plan(lengthwise::Error::NoSequences);
    Ok(Comparison { comparison: comparison.ok_or_else(none)?, compared })
}

/// One strategy, or several.
#[derive(Debug, FromPyObject)]
pub(crate) enum Named {
    One(String),
    Many(Vec<String>),
}

#[pymethods]
impl Comparison {
    /// One dictionary for each strategy: means over the epochs, and `sd` with their deviations.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.comparison.to_json())?.get_item("rows")
    }

    /// The settings that all strategies have in common.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.comparison.to_json())?.get_item("settings")
    }

    /// The JSON that `lengthwise compare --json` prints.
    fn to_json(&self) -> String {
        self.comparison.to_json()
    }

    /// The report as one HTML page that needs neither network nor other files.
    fn to_html(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.page())?)
    }

    /// Writes the report to an .html file, whole or not at all.
    fn save_html(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let write = || -> Result<()> {
            let page = self.page()?;
            Ok(save(&path, |file| file.write_all(page.as_bytes()))?)
        };
        Ok(py.detach(write)?)
    }

    fn __str__(&self) -> String {
        self.comparison.table(Look::Plain, 120)
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("lengthwise._html")?.call_method1("comparison", (slf,))
    }
}

impl Comparison {
    fn page(&self) -> Result<String> {
        let settings = &self.comparison.settings;
        let command = format!(
            "lengthwise.compare({}, budget=\"{}\", shapes=\"{}\", epochs={}, world_size={}, seed={})",
            self.compared.source,
            settings.budget,
            settings.shapes,
            settings.epochs,
            settings.world_size,
            settings.seed
        );
        let request = self.compared.request();
        let study = Study::around(self.comparison.clone(), &request, &command, |_| {})?;
        Ok(study.to_html())
    }
}

/// What a set of lengths is like.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Inspection(lengthwise_report::Inspection);

/// Shows what lengths are like, and what they do to random batches.
#[pyfunction]
#[pyo3(signature = (lengths, *, budget = BudgetArgument::sequences(16), source = "lengths"))]
pub(crate) fn inspect(
    py: Python<'_>,
    lengths: Column,
    budget: BudgetArgument,
    source: &str,
) -> PyResult<Inspection> {
    lengths.0.only_one("an inspection").map_err(Failure::from)?;
    let look = || lengthwise_report::Inspection::new(source, &lengths.0, budget.0, |_| None, None);
    Ok(Inspection(py.detach(look).map_err(Failure::from)?))
}

#[pymethods]
impl Inspection {
    /// Everything by name, as in the JSON of `lengthwise inspect --json`.
    fn asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.0.to_json())
    }

    /// The JSON that `lengthwise inspect --json` prints.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// What deserves a second look.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    fn __str__(&self) -> String {
        self.0.to_text(100, false)
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }
}

/// JSON as Python's own objects.
pub(crate) fn loaded<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
