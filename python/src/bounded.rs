//! Plans of more sequences than memory holds: from a file to a file.

use std::{path::PathBuf, sync::Arc};

use lengthwise::{
    Budget, Error, Lengths, Settings, Shapes, Strategy,
    tune::{Like, batches_only_in},
};
use lengthwise_io::{
    Form, Mapped, SpanPlanFile,
    memory::{for_planning, in_words, needed_in_all, size},
};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::input::reader;
use crate::interrupt::{Stop, interruptible};
use crate::measures::Measures;
use crate::settings::{Given, budget_like, given, plain, text};

/// Plans the batches of one epoch within a bound on memory, from a file of lengths to a plan file. Returns the measures
/// of the plan.
///
/// If you give a strategy, the file is the same, to the byte, as `plan` and `save` make with the same settings. Without one,
/// `plan` uses the strategy that is recommended, and this function does not. Of a plan that cannot keep the bound, the
/// error says how much it needs. An error or Ctrl-C leaves no partial file.
///
/// Args:
///     `path`: The file of lengths, as for `read_lengths`. A .npy file of type `uint32` is read in place, and must not
///         change meanwhile; anything else goes through a temporary file.
///     `output`: The .npz, .json, .jsonl or .parquet file for the plan, which `load_plan` and the command line read.
///     `strategy`: How sequences are grouped into batches, as for `Planner`. "shuffled", "sorted", "semi-sorted",
///         "blurred" and buckets of lengths take the least memory. The default is "shuffled", or "blurred" if `shapes` is given
///         and is not a ladder.
///     `memory`: The most memory that planning takes, such as "500MB" or "8GiB".
///     `budget`: The hard limit of a batch, as for `Planner`. It has no default, except that `like` makes one.
///     `shapes`: Which batch lengths may occur, as for `Planner`. The default is "exact" if you give a strategy, and
///         else a ladder.
///     `arrange`: The order of the batches in the epoch, as for `Planner`. The default is "spread".
///     `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default is "error".
///     `cost_model`: How long a batch takes, as for `Planner`. By default, it is the model of a "cost" budget.
///     `like`: The batch size that you train with today, as for `Planner`, but without "keep=steps". By default, `budget`
///         decides.
///     `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
///     `epoch`: The epoch, from 0. The default is 0.
///     `column`: The column or field that has the lengths, as for `read_lengths`. By default, it is found by its usual
///         names.
///     `format`: The format of the file, as for `read_lengths`. By default, the name of the file decides.
///     `frame_shift`: Seconds per frame, if the file has seconds. By default, the numbers are lengths.
///     `rate`: Frames or samples per second, if the file has seconds. By default, the numbers are lengths.
///     `unit`: What is counted if the column holds texts, as for `read_lengths`. By default, the column holds numbers.
#[pyfunction]
#[pyo3(signature = (
    path,
    output,
    strategy = None,
    *,
    memory,
    budget = None,
    shapes = None,
    arrange: "str" = "spread",
    over_long: "str" = "error",
    cost_model = None,
    like = None,
    seed: "SupportsIndex" = 0,
    epoch: "SupportsIndex" = 0,
    column = None,
    format = None,
    frame_shift = None,
    rate = None,
    unit = None,
))]
pub(crate) fn plan_file(
    py: Python<'_>,
    path: Given<PathBuf>,
    output: Given<PathBuf>,
    strategy: Option<Given<Strategy>>,
    memory: Given<String>,
    budget: Option<Given<Budget>>,
    shapes: Option<Given<Shapes>>,
    #[pyo3(from_py_with = text)] arrange: &str,
    #[pyo3(from_py_with = text)] over_long: &str,
    cost_model: Option<Given<lengthwise::CostModel>>,
    like: Option<Given<Like>>,
    #[pyo3(from_py_with = plain)] seed: u64,
    #[pyo3(from_py_with = plain)] epoch: u64,
    column: Option<Given<String>>,
    format: Option<Given<String>>,
    frame_shift: Option<Given<f64>>,
    rate: Option<Given<f64>>,
    unit: Option<Given<String>>,
) -> Result<Measures> {
    let bound = size(&memory.0).map_err(|expected| {
        let what = format!("`memory`: {expected}, got \"{}\"", memory.0);
        Failure::setting(what, "give the bound as in `memory=\"500MB\"`")
    })?;
    let reader = reader(column, format, frame_shift, rate, unit)?;
    let (path, output, strategy) = (path.0, output.0, given(strategy));
    let form = Form::of_path(&output)?;
    let own = strategy.as_ref().and_then(Strategy::own_budget);
    let like = given(like);
    if let Some(like) = like.filter(|like| like.keep_steps) {
        let what = format!(
            "`like`: expected a batch size, got \"{like}\": `plan_file` plans no optimizer steps"
        );
        let hint = format!("give `like={}`, or use `plan`", like.batch_size);
        return Err(Failure::setting(what, hint));
    }
    let budget = budget_like(budget, like)?.or(own).ok_or_else(|| {
        let hint = "give one, as in budget=\"padded:20000\"";
        Failure::setting("there is no budget to limit the batches", hint)
    })?;
    let shapes = given(shapes);
    let settings = Settings {
        arrange: arrange.parse()?,
        over_long: over_long.parse()?,
        cost_model: given(cost_model),
        seed,
        ..Settings::new("", budget)
    };
    interruptible(py, move |stop: &Stop| -> Result<Measures> {
        let mapped = Arc::new(reader.map_path_with(&path, |_| stop.check())?.lengths);
        let lengths = Lengths::shared(Arc::<Mapped>::clone(&mapped))?;
        let workspace = stop.workspace().memory(for_planning(bound, Some(&output)));
        let in_all = |error: Error| match error {
            Error::OverMemory { what, needed, .. } => {
                let (needed, more) = needed_in_all(&what, needed, Some(&output));
                let (needed, bound) = (in_words(needed, f64::ceil), in_words(bound, f64::floor));
                Failure::setting(
                    format!("{what} takes about {needed} of memory, over the bound of {bound}"),
                    format!("raise the bound to {needed} or more: `memory=\"{needed}\"`{more}"),
                )
            }
            other => other.into(),
        };
        let chosen = batches_only_in(&workspace, &lengths, budget, strategy, shapes);
        let (strategy, shapes) = chosen.map_err(in_all)?;
        let planner = lengthwise::Planner::with(strategy, Settings { shapes, ..settings });
        let plan = planner.spans_in(&workspace, &lengths, epoch).map_err(in_all)?;
        let positions = plan.positions(&workspace, &lengths);
        let file = SpanPlanFile { plan: &plan, positions: &positions };
        let written = stop.save(&output, |output| file.write(form, output))?;
        // What is planned must be what is there.
        mapped.check()?;
        written.keep()?;
        Ok(plan.measure(&positions).into())
    })?
}
