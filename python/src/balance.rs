//! One step divided over ranks and micro-batches.

use lengthwise::balance::Balance;
use lengthwise::groups::Together;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::{exceptions::PyIndexError, prelude::*};

use crate::error::Result;
use crate::groups::{Groups, Kinds};
use crate::interrupt::{Stop, interruptible};
use crate::lengths::{Lengths, whole_numbers};
use crate::pickle::{Reduced, from_json, reduced, to_json};
use crate::settings::{Given, Value, expected, given, plain, text};

/// The sequences of one step, divided over ranks and micro-batches. `lengthwise.balance` makes it.
/// `step.ranks[rank]`, or `step[rank]`, is the list of that rank's micro-batches: arrays of indices.
#[pyclass(frozen, eq, sequence, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct BalancedStep(lengthwise::balance::Step);

/// Lengths of which some may be 0.
#[derive(Debug)]
pub(crate) struct Sizes(Vec<u32>);

impl Value for Sizes {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        if let Ok(lengths) = given.cast::<Lengths>() {
            return Ok(Self(lengths.get().0.as_slice().to_vec()));
        }
        let array = given.py().import("lengthwise._convert")?.call_method1("array", (given,))?;
        Ok(Self(whole_numbers(&array)?))
    }
}

/// A number for each item.
#[derive(Debug)]
pub(crate) struct Costs(Vec<f64>);

impl Value for Costs {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        Ok(Self(given.extract().map_err(|_| expected("a list of numbers", given))?))
    }
}

/// Divides the sequences of one step over ranks and micro-batches: the same number of micro-batches on every
/// rank, none over the capacity, the fewest that fit, and about the same work for every rank.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`. Here a length can be 0.
///     `ranks`: The number of ranks.
///     `capacity`: The most positions of a micro-batch, a hard limit. By default, each rank has one micro-batch
///         of any size.
///     `cost`: How long a sequence takes, as `cost_model` for `Planner`; of its terms, `c` and `d` count. An
///         example is "attention:hidden=4096,layers=32". By default, the time is the length.
///     `together`: An id for each sequence: those with the same id stay in one micro-batch, and those with `None` are
///         independent. By default, all sequences are independent.
///     `share`: What sequences with the same id share: "batch", or "rank" if they may be in different
///         micro-batches of one rank. The default is "batch".
///     `kind`: Another id for each sequence: a micro-batch has sequences of one kind only. By default, all kinds
///         mix.
///     `min_micro_batches`: The fewest micro-batches of a rank. The default is 1.
///     `max_micro_batches`: The most micro-batches of a rank: an error if more are needed. By default, there is no
///         limit.
///     `speeds`: How fast each rank is: one of speed 2 gets twice the work of one of speed 1. By default, all are
///         equally fast.
///     `split`: Over how many ranks a sequence may be split, as in `[1, 2, 4, 8]`: one of these is chosen for each
///         sequence, to make the step short. Each must divide the next one, and the last one `ranks`. Not with
///         `together` or `speeds`. By default, no ranks share a sequence.
///     `communication`: What ranks that share a sequence take for each position that they receive from others, in the
///         unit of `cost`: a sequence of length L and cost C takes C/s + communication·L·(s − 1)/s on each of s
///         ranks. The default is 0.
#[pyfunction]
#[pyo3(signature = (
    lengths,
    ranks,
    *,
    capacity = None,
    cost = None,
    together = None,
    share: "str" = "batch",
    kind = None,
    min_micro_batches: "SupportsIndex" = 1,
    max_micro_batches = None,
    speeds = None,
    split = None,
    communication = None,
))]
pub(crate) fn balance(
    py: Python<'_>,
    lengths: Given<Sizes>,
    ranks: Given<u32>,
    capacity: Option<Given<u32>>,
    cost: Option<Given<lengthwise::CostModel>>,
    together: Option<Given<Groups>>,
    #[pyo3(from_py_with = text)] share: &str,
    kind: Option<Given<Kinds>>,
    #[pyo3(from_py_with = plain)] min_micro_batches: u32,
    max_micro_batches: Option<Given<u32>>,
    speeds: Option<Given<Vec<f64>>>,
    split: Option<Given<Vec<u32>>>,
    communication: Option<Given<f64>>,
) -> Result<BalancedStep> {
    let mut wanted = Balance::new(ranks.0).min_micro_batches(min_micro_batches);
    let share: Together = share.parse()?;
    if let Some(capacity) = given(capacity) {
        wanted = wanted.capacity(capacity);
    }
    if let Some(cost) = given(cost) {
        wanted = wanted.cost(cost);
    }
    if let Some(ids) = given(together) {
        wanted = wanted.together(ids.0, share);
    }
    if let Some(ids) = given(kind) {
        wanted = wanted.kinds(ids.numbers);
    }
    if let Some(most) = given(max_micro_batches) {
        wanted = wanted.max_micro_batches(most);
    }
    if let Some(speeds) = given(speeds) {
        wanted = wanted.speeds(speeds);
    }
    if let Some(degrees) = given(split) {
        wanted = wanted.split(degrees);
    }
    if let Some(cost) = given(communication) {
        wanted = wanted.communication(cost);
    }
    let lengths = lengths.0;
    let balance = move |_: &Stop| lengthwise::balance::balance(&lengths.0, &wanted);
    Ok(BalancedStep(interruptible(py, balance)??))
}

/// Divides costs into parts of about the same sum. Returns the indices of each part, in ascending order.
///
/// Args:
///     `costs`: The cost of each item: numbers from 0.
///     `parts`: How many parts.
///     `equal_size`: Whether all parts have the same number of items, or numbers that differ by one if that cannot
///         be. The default is `False`.
#[pyfunction]
#[pyo3(signature = (costs, parts, *, equal_size = false))]
pub(crate) fn partitions(
    py: Python<'_>,
    costs: Given<Costs>,
    parts: Given<u32>,
    equal_size: bool,
) -> Result<Vec<Vec<u32>>> {
    let (costs, parts) = (costs.0, parts.0);
    let divide = move |_: &Stop| lengthwise::balance::partitions(&costs.0, parts, equal_size);
    Ok(interruptible(py, divide)??)
}

#[pymethods]
impl BalancedStep {
    #[staticmethod]
    fn _restore(json: &str) -> Result<Self> {
        Ok(Self(from_json(json, "BalancedStep")?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (String,)>> {
        reduced::<Self, _>(py, (to_json(&self.0)?,))
    }

    /// The number of ranks.
    fn __len__(&self) -> usize {
        self.0.ranks() as usize
    }

    /// The micro-batches of one rank.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        rank: i64,
    ) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
        let ranks = self.0.ranks();
        let at = if rank < 0 { rank + i64::from(ranks) } else { rank };
        let found = u32::try_from(at).ok().filter(|&rank| rank < ranks);
        let rank = found.ok_or_else(|| PyIndexError::new_err(format!("rank {rank} of {ranks}")))?;
        Ok(self.of_rank(py, rank))
    }

    /// The list of each rank's micro-batches.
    #[getter]
    fn ranks<'py>(&self, py: Python<'py>) -> Vec<Vec<Bound<'py, PyArray1<u32>>>> {
        (0..self.0.ranks()).map(|rank| self.of_rank(py, rank)).collect()
    }

    /// How many micro-batches each rank has. Some are empty if there are too few sequences.
    #[getter]
    fn micro_batches(&self) -> u32 {
        self.0.micro_batches()
    }

    /// How many ranks share each micro-batch: one row for each rank, one column for each of its micro-batches. Ranks
    /// k·s to k·s + s − 1 share a micro-batch of degree s, under the same number.
    #[getter]
    fn degrees<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<u32>>> {
        self.table(py, |rank, number| self.0.degree(rank, number))
    }

    /// When each micro-batch starts, from the start of the step: one row for each rank, one column for each of its
    /// micro-batches. Ranks that share a micro-batch start it together, and no rank waits before its last one ends.
    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        self.table(py, |rank, number| self.0.span(rank, number).start)
    }

    /// All sequences, one micro-batch after another: those of the first rank, then those of the second, and so on.
    /// A micro-batch that several ranks share is there once.
    #[getter]
    fn order<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.order())
    }

    /// Where each micro-batch ends in `order`.
    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.ends())
    }

    /// The place of every sequence in `order`: `results[restore]` puts results that come in that order back.
    #[getter]
    fn restore<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.0.restore())
    }

    /// The cost of all sequences of each rank: of one that several ranks share, what this rank takes for it.
    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.loads())
    }

    /// How long the slowest rank takes.
    #[getter]
    fn time(&self) -> f64 {
        self.0.time()
    }

    /// No division takes less: the mean over the ranks, or the time of what cannot be divided further.
    #[getter]
    fn lower_bound(&self) -> f64 {
        self.0.lower_bound()
    }

    /// The share of the ranks' time that is spent waiting for the slowest one.
    #[getter]
    fn idle_share(&self) -> f64 {
        self.0.idle_share()
    }

    fn __repr__(&self) -> String {
        let (sequences, ranks, each) =
            (self.0.order().len(), self.0.ranks(), self.0.micro_batches());
        let (plural, idle) = (if each == 1 { "" } else { "es" }, 100.0 * self.0.idle_share());
        let split = match self.0.sequences_by_degree().range(2..).map(|(_, count)| count).sum() {
            0 => String::new(),
            count => format!("{count} of them split, "),
        };
        format!(
            "BalancedStep({sequences} sequences on {ranks} ranks, {split}{each} micro-batch{plural} each, {idle:.2} % idle)"
        )
    }
}

impl BalancedStep {
    /// The micro-batches of a rank.
    fn of_rank<'py>(&self, py: Python<'py>, rank: u32) -> Vec<Bound<'py, PyArray1<u32>>> {
        let batches = 0..self.0.micro_batches();
        batches.map(|at| PyArray1::from_slice(py, self.0.micro_batch(rank, at))).collect()
    }

    /// A value for each micro-batch of each rank.
    fn table<'py, T: Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(u32, u32) -> T,
    ) -> Result<Bound<'py, PyArray2<T>>> {
        let (ranks, each) = (self.0.ranks(), self.0.micro_batches());
        let slots = (0..ranks).flat_map(|rank| (0..each).map(move |number| (rank, number)));
        let values = PyArray1::from_iter(py, slots.map(|(rank, number)| value(rank, number)));
        Ok(values.reshape([ranks as usize, each as usize])?)
    }
}
