//! Plans as sequences of NumPy arrays.

use std::{path::PathBuf, sync::Arc};

use lengthwise::{Provenance, measure::Counts};
use lengthwise_io::{Form, PlanFile, guard::quiet_panics, read_plan, read_plan_from};
use numpy::{PyArray1, PyArrayMethods as _, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyList, PySlice, slice::PySliceIndices},
};

use crate::error::{Failure, Result};
use crate::interrupt::{Stop, perhaps_long};
use crate::lengths::{Column, Lengths};
use crate::measures::Measures;
use crate::memory::{Memory, Return};
use crate::pickle::{Reduced, reduced};
use crate::schedule::Schedule;
use crate::settings::Given;

/// All batches of one epoch, in order: a sequence of arrays of indices. `lengthwise.plan` and
/// `Planner.plan` make it.
#[pyclass(frozen, sequence, module = "lengthwise")]
pub(crate) struct Plan {
    pub(crate) plan: lengthwise::Plan,
    pub(crate) lengths: Arc<lengthwise::Lengths>,
    /// Made when first asked for; batches are views of it.
    indices: PyOnceLock<Py<PyArray1<u32>>>,
    /// Dropped after the plan.
    pub(crate) memory: Return,
}

impl Plan {
    pub(crate) fn new(plan: lengthwise::Plan, lengths: &Arc<lengthwise::Lengths>) -> Self {
        let (lengths, indices) = (Arc::clone(lengths), PyOnceLock::new());
        Self { plan, lengths, indices, memory: Return::default() }
    }

    /// The plan of a planner, which has its memory back when nothing shares it.
    pub(crate) fn of_planner(
        plan: lengthwise::Plan,
        lengths: &Arc<lengthwise::Lengths>,
        memory: &Arc<Memory>,
    ) -> Self {
        Self { memory: Return::new(&plan, memory), ..Self::new(plan, lengths) }
    }

    /// A part of a plan, or a plan that shares its memory, which goes back to the same place.
    pub(crate) fn part(
        plan: lengthwise::Plan,
        lengths: &Arc<lengthwise::Lengths>,
        memory: &Return,
    ) -> Self {
        Self { memory: memory.with(&plan), ..Self::new(plan, lengths) }
    }

    /// One batch, as a view of the indices.
    fn batch<'py>(&self, py: Python<'py>, batch: usize) -> PyResult<Bound<'py, PyAny>> {
        let ends = self.plan.ends();
        let start = batch.checked_sub(1).map_or(0, |before| ends[before]);
        let [start, end] = [start, ends[batch]].map(|place| (place as usize).cast_signed());
        self.indices(py).get_item(PySlice::new(py, start, end, 1))
    }

    /// The plan and its lengths, for work on another thread: both are shared, and not copied.
    fn shared(&self) -> (lengthwise::Plan, Arc<lengthwise::Lengths>) {
        (self.plan.clone(), Arc::clone(&self.lengths))
    }

    fn counts(&self, py: Python<'_>) -> PyResult<Vec<Counts>> {
        let (plan, lengths) = self.shared();
        perhaps_long(py, lengths.len(), move |_| plan.counts(&lengths))
    }

    fn find(&self, batch: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let batch = indices_of(batch)?;
        Ok(self.plan.iter().position(|one| *one == batch))
    }
}

/// What `_restore` takes: the plan as an NPZ file, and the lengths.
type Pickled<'py> = (Bound<'py, PyBytes>, Lengths);

#[pymethods]
impl Plan {
    #[staticmethod]
    fn _restore(py: Python<'_>, file: PyBackedBytes, lengths: Column) -> Result<Self> {
        let read = move |_: &Stop| read_plan_from(&file, Form::Npz);
        let plan = perhaps_long(py, lengths.0.len(), read)??.plan;
        Ok(Self::new(plan.with_lengths(&lengths.0)?, &lengths.0))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Pickled<'py>>> {
        let (plan, lengths) = self.shared();
        let write = move |_: &Stop| {
            let mut bytes = Vec::new();
            PlanFile::new(plan, &lengths).write(Form::Npz, &mut bytes)?;
            std::io::Result::Ok(bytes)
        };
        let bytes = perhaps_long(py, self.lengths.len(), write)??;
        let lengths = Lengths::from(&self.lengths);
        reduced::<Self, _>(py, (PyBytes::new(py, &bytes), lengths))
    }

    fn __len__(&self) -> usize {
        self.plan.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let count = self.plan.len().cast_signed();
        if let Ok(slice) = at.cast::<PySlice>() {
            let batches = PyList::empty(py);
            let PySliceIndices { start, step, slicelength, .. } = slice.indices(count)?;
            for place in 0..slicelength.cast_signed() {
                batches.append(self.batch(py, (start + place * step) as usize)?)?;
            }
            return Ok(batches.into_any());
        }
        let given: isize = at.extract()?;
        let place = if given < 0 { given + count } else { given };
        if (0..count).contains(&place) {
            return self.batch(py, place as usize);
        }
        Err(PyIndexError::new_err(format!("batch {given} of a plan of {count} batches")))
    }

    fn __iter__(slf: Py<Self>) -> Batches {
        Batches { plan: slf, next: 0 }
    }

    fn __contains__(&self, batch: &Bound<'_, PyAny>) -> bool {
        self.find(batch).is_ok_and(|found| found.is_some())
    }

    /// Returns the number of the first batch that has exactly the indices of `batch`.
    fn index(&self, batch: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.find(batch)?.ok_or_else(|| PyValueError::new_err("there is no such batch"))
    }

    /// Returns how many batches have exactly the indices of `batch`.
    fn count(&self, batch: &Bound<'_, PyAny>) -> PyResult<usize> {
        let batch = indices_of(batch)?;
        Ok(self.plan.iter().filter(|one| **one == batch).count())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.plan == other.get().plan)
    }

    fn __hash__(&self) -> u64 {
        self.plan.digest()
    }

    fn __repr__(&self) -> String {
        let lengthwise::Measures { sequences, batches, padding_rate, shapes: count, .. } =
            self.plan.measure(&self.lengths);
        let Provenance { strategy, budget, shapes, seed, epoch, .. } = self.plan.provenance();
        format!(
            "Plan({sequences} sequences in {batches} batches, {:.2} % padding, {count} shapes; strategy \
             {strategy}, budget {budget}, shapes {shapes}, seed {seed}, epoch {epoch})",
            100.0 * padding_rate
        )
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("lengthwise._html")?.call_method1("plan", (slf,))
    }

    /// The indices of the sequences of all batches, one batch after another.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let made = self.indices.get_or_init(py, || {
            let array = PyArray1::from_slice(py, self.plan.indices());
            // It is shared.
            array.readwrite().make_nonwriteable();
            array.unbind()
        });
        made.bind(py).clone()
    }

    /// Where each batch ends in `indices`.
    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.plan.ends())
    }

    /// The length that each batch is padded to.
    #[getter]
    fn batch_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.plan.batch_lengths())
    }

    /// How many sequences each batch has.
    #[getter]
    fn batch_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_iter(py, self.plan.iter().map(|batch| batch.len() as u32))
    }

    /// Whether a batch is one row that holds its sequences one after another.
    #[getter]
    fn packed(&self) -> bool {
        self.plan.is_packed()
    }

    /// How many positions of each batch are not padding: divide the loss by this for a mean.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let counts = self.counts(py)?;
        Ok(PyArray1::from_iter(py, counts.iter().map(|counts| counts.positions)))
    }

    /// The lengths of all sequences, without padding.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.lengths.as_slice())
    }

    /// The second lengths of all sequences; `None` if sequences have one length.
    #[getter]
    fn second_lengths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u32>>> {
        self.lengths.second().map(|second| PyArray1::from_slice(py, second.as_slice()))
    }

    /// A fingerprint of the batches, as the command line prints it. It is the same on every machine.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.plan.digest())
    }

    /// The epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.plan.provenance().epoch
    }

    /// The settings that the plan was made with, by name.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self.plan.provenance();
        let settings = PyDict::new(py);
        settings.set_item("strategy", &made.strategy)?;
        settings.set_item("budget", made.budget.to_string())?;
        settings.set_item("shapes", made.shapes.to_string())?;
        settings.set_item("arrange", made.arrange.to_string())?;
        settings.set_item("over_long", made.over_long.to_string())?;
        settings.set_item("steps", made.steps.to_string())?;
        settings.set_item("tail", made.tail.to_string())?;
        settings.set_item("cost_model", made.cost_model.map(|model| model.to_string()))?;
        settings.set_item("accumulate", made.accumulate)?;
        settings.set_item("canonical_ranks", made.canonical_ranks)?;
        settings.set_item("update", made.update.map(|update| update.to_string()))?;
        settings.set_item("batches", made.batches)?;
        settings.set_item("share", made.share.to_string())?;
        settings.set_item("one_kind", made.one_kind.to_string())?;
        settings.set_item("mix", made.mix.as_ref().map(|mix| mix.weights().to_vec()))?;
        settings.set_item("seed", made.seed)?;
        settings.set_item("epoch", made.epoch)?;
        Ok(settings)
    }

    /// The sequences that exceed the budget even alone.
    #[getter]
    fn over_long<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.plan.over_long().1)
    }

    /// The sequences that are in no batch, because `over_long` is "drop".
    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.plan.left_out())
    }

    /// The sequences that you must cut to their batch length, because `over_long` is "truncate".
    #[getter]
    fn truncated<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.plan.truncated())
    }

    /// The length that the second side of each batch is padded to; `None` if sequences have one length.
    #[getter]
    fn second_batch_lengths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u32>>> {
        self.plan.second_batch_lengths().map(|lengths| PyArray1::from_slice(py, lengths))
    }

    /// How many positions of second lengths of each batch are not padding; `None` if sequences have
    /// one length.
    #[getter]
    fn second_positions<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyArray1<u64>>>> {
        if self.plan.second_batch_lengths().is_none() {
            return Ok(None);
        }
        let counts = self.counts(py)?;
        Ok(Some(PyArray1::from_iter(py, counts.iter().map(|counts| counts.second_positions))))
    }

    /// Measures the plan: padding, cells, shapes and more.
    fn measure(&self, py: Python<'_>) -> PyResult<Measures> {
        let (plan, lengths) = self.shared();
        Ok(perhaps_long(py, lengths.len(), move |_| plan.measure(&lengths))?.into())
    }

    /// Returns the batches of one `rank` of `world_size` ranks. Every rank has the same number of batches.
    fn for_rank(&self, py: Python<'_>, rank: Given<i64>, world_size: Given<i64>) -> Result<Plan> {
        let (rank, world_size) = ranks(rank.0, world_size.0)?;
        let plan = self.plan.clone();
        let of_rank = move |_: &Stop| plan.for_rank(rank, world_size);
        let plan = perhaps_long(py, self.lengths.len(), of_rank)??;
        Ok(Plan::part(plan, &self.lengths, &self.memory))
    }

    /// Assigns the batches to `world_size` ranks, step by step.
    fn schedule(&self, py: Python<'_>, world_size: Given<i64>) -> Result<Schedule> {
        Schedule::_restore(py, self, world_size.0, None)
    }

    /// Assigns the rest of the epoch after a `cursor` (see `Schedule.cursor`) to `world_size` ranks, which
    /// may be another number of ranks than before.
    fn resume(
        &self,
        py: Python<'_>,
        cursor: Given<String>,
        world_size: Given<i64>,
    ) -> Result<Schedule> {
        Schedule::_restore(py, self, world_size.0, Some(&cursor.0))
    }

    /// Writes the plan to the .json, .jsonl, .npz or .parquet file `path`. An error leaves no partial file.
    fn save(&self, py: Python<'_>, path: Given<PathBuf>) -> Result<()> {
        let ((plan, lengths), path) = (self.shared(), path.0);
        let form = Form::of_path(&path)?;
        perhaps_long(py, self.lengths.len(), move |stop: &Stop| -> Result<()> {
            let file = PlanFile::new(plan, &lengths);
            Ok(stop.save(&path, |output| file.write(form, output))?.keep()?)
        })?
    }

    /// Returns the batches as lists of integers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (number, batch) in self.plan.iter().enumerate() {
            if number % 1024 == 0 {
                py.check_signals()?;
            }
            list.append(batch)?;
        }
        Ok(list)
    }
}

fn indices_of(batch: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    match batch.extract::<PyReadonlyArray1<'_, u32>>() {
        Ok(array) => Ok(array.as_array().iter().copied().collect()),
        Err(_) => batch.extract(),
    }
}

/// A rank and a world size as Python has them.
pub(crate) fn ranks(rank: i64, world_size: i64) -> Result<(u32, u32)> {
    let bad = |what: String, hint: &str| Failure::own("RankError", what, hint);
    let size = u32::try_from(world_size).ok().filter(|&size| size > 0).ok_or_else(|| {
        bad(format!("`world_size` cannot be {world_size}"), "give at least one rank")
    })?;
    let hint = format!("ranks are numbered from 0; the last one is {}", size - 1);
    let number = u32::try_from(rank);
    Ok((number.map_err(|_| bad(format!("there is no rank {rank} of {size}"), &hint))?, size))
}

/// How batches are pickled: `iter`, the plan, and the number of the next batch.
type Rest<'py> = (Bound<'py, PyAny>, (Py<Plan>,), usize);

/// The batches of a plan, one after another.
#[pyclass(module = "lengthwise")]
pub(crate) struct Batches {
    plan: Py<Plan>,
    next: usize,
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let plan = self.plan.get();
        if self.next >= plan.plan.len() {
            return Ok(None);
        }
        self.next += 1;
        plan.batch(py, self.next - 1).map(Some)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Rest<'py>> {
        Ok((py.import("builtins")?.getattr("iter")?, (self.plan.clone_ref(py),), self.next))
    }

    fn __setstate__(&mut self, next: usize) {
        self.next = next.min(self.plan.get().plan.len());
    }

    fn __length_hint__(&self) -> usize {
        self.plan.get().plan.len() - self.next
    }
}

/// Reads a plan from a file.
///
/// Args:
///     `path`: A .json, .jsonl, .npz or .parquet file that `Plan.save` or the command line wrote.
///     `lengths`: The lengths that the plan was made for, in the same order. Others raise an error.
#[pyfunction]
pub(crate) fn load_plan(py: Python<'_>, path: Given<PathBuf>, lengths: Column) -> Result<Plan> {
    // A damaged file raises an exception, and prints nothing. Not when the module is imported: what has
    // an initialisation of its own has no complete stubs.
    quiet_panics();
    let (path, sequences) = (path.0, Arc::clone(&lengths.0));
    let (plan, given) = perhaps_long(py, sequences.len(), move |_: &Stop| -> Result<_> {
        Ok((read_plan(&path)?.plan, sequences.digest()))
    })??;
    let planned = plan.provenance().lengths;
    if planned != given {
        return Err(Failure::own(
            "LengthsError",
            format!(
                "the plan was made for other lengths: their digest is {planned:016x}, and that of these \
                 {given:016x}"
            ),
            "give the lengths that the plan was made for, in the same order",
        ));
    }
    Ok(Plan::new(plan.with_lengths(&lengths.0)?, &lengths.0))
}
