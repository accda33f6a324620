//! Comparisons and inspections, as the command line has them.

use std::{io::Write as _, sync::Arc};

use lengthwise::{Arrange, Budget, OverLong, Shapes, Steps, Strategy, Tail, Workspace};
use lengthwise_files::save;
use lengthwise_report::{Look, Request, Study};
use pyo3::{prelude::*, types::PyString};

use crate::{
    error::{Failure, Result},
    interrupt::interruptible,
    lengths::Column,
    settings::{
        BudgetArgument, FilePath, ModelArgument, Parsed, Several, Text, Whole, at_least_one,
        expected, given,
    },
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
    shapes = Parsed(Shapes::Exact),
    arrange = Parsed(Arrange::Spread),
    over_long = Parsed(OverLong::Error),
    epochs = Whole(5),
    world_size = Whole(1),
    accumulate = Whole(1),
    steps = None,
    tail = Parsed(Tail::Split),
    cost_model = None,
    seed = Whole(0),
    source = Text::new("lengths"),
))]
#[expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
pub(crate) fn compare(
    py: Python<'_>,
    lengths: Column,
    strategies: Option<Named>,
    budget: BudgetArgument,
    shapes: Parsed<Shapes>,
    arrange: Parsed<Arrange>,
    over_long: Parsed<OverLong>,
    epochs: Whole<u32>,
    world_size: Whole<u32>,
    accumulate: Whole<u32>,
    steps: Option<Parsed<Steps>>,
    tail: Parsed<Tail>,
    cost_model: Option<ModelArgument>,
    seed: Whole<u64>,
    source: Text,
) -> PyResult<Comparison> {
    let (epochs, world_size, accumulate, seed) = (epochs.0, world_size.0, accumulate.0, seed.0);
    let make = || -> Result<Compared> {
        let strategies = match strategies {
            None => Strategy::all_padded(),
            Some(Named(given)) if given.is_empty() => {
                let hint = "name some, or leave them out for all".to_owned();
                return Err(Failure::Own("SettingError", "no strategies".to_owned(), hint));
            }
            Some(Named(given)) => given,
        };
        at_least_one("epochs", epochs)?;
        at_least_one("accumulate", accumulate)?;
        at_least_one("world_size", world_size)?;
        let compared = Compared {
            source: source.0,
            lengths: lengths.0,
            strategies,
            budget: budget.0,
            shapes: shapes.0,
            arrange: arrange.0,
            over_long: over_long.0,
            seed,
            epochs,
            world_size,
            accumulate,
            steps: given(steps),
            tail: tail.0,
            cost_model: cost_model.map(|model| model.0),
        };
        Ok(compared)
    };
    let compared = make()?;
    let compare = move |workspace: &Workspace| -> Result<Comparison> {
        let request = compared.request();
        let comparison = lengthwise_report::Comparison::run_in(workspace, &request, |_| {})?;
        Ok(Comparison { compared, comparison })
    };
    Ok(interruptible(py, compare)??)
}

/// One strategy, or several.
#[derive(Debug)]
pub(crate) struct Named(Vec<Strategy>);

impl<'py> FromPyObject<'_, 'py> for Named {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyString>() {
            return Ok(Self(vec![given.extract::<Parsed<Strategy>>()?.0]));
        }
        let several = given.extract::<Several<Text>>();
        let several = several.map_err(|_| expected("a strategy, or a list of them", given))?;
        let parsed = several.0.iter().map(|text| text.0.parse());
        Ok(Self(parsed.collect::<std::result::Result<_, _>>().map_err(Failure::Plan)?))
    }
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
    fn save_html(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        let write = || -> Result<()> {
            let page = self.page()?;
            Ok(save(&path.0, |file| file.write_all(page.as_bytes()))?)
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
#[pyo3(signature = (lengths, *, budget = BudgetArgument::sequences(16), source = Text::new("lengths")))]
pub(crate) fn inspect(
    py: Python<'_>,
    lengths: Column,
    budget: BudgetArgument,
    source: Text,
) -> PyResult<Inspection> {
    lengths.0.only_one("an inspection").map_err(Failure::from)?;
    let look =
        || lengthwise_report::Inspection::new(&source.0, &lengths.0, budget.0, |_| None, None);
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
