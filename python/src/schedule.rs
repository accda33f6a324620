//! Plans dealt to ranks.

use std::sync::Arc;

use lengthwise::Counts;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::{
    error::Failure,
    plan::{Plan, ranks},
    settings::Signed,
};

/// The batches of an epoch dealt to ranks, step by step.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Schedule {
    schedule: lengthwise::Schedule,
    lengths: Arc<lengthwise::Lengths>,
}

impl Schedule {
    pub(crate) fn new(schedule: lengthwise::Schedule, lengths: &Arc<lengthwise::Lengths>) -> Self {
        Self { schedule, lengths: Arc::clone(lengths) }
    }
}

#[pymethods]
impl Schedule {
    /// The number of steps, the same on every rank.
    fn __len__(&self) -> usize {
        self.schedule.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "Schedule({} steps on {} ranks, {} batches each, {:.2} % idle)",
            self.schedule.len(),
            self.schedule.world_size(),
            self.schedule.accumulate(),
            100.0 * self.schedule.idle_share()
        )
    }

    /// The number of ranks.
    #[getter]
    fn world_size(&self) -> u32 {
        self.schedule.world_size()
    }

    /// How many batches each rank takes in a step.
    #[getter]
    fn accumulate(&self) -> u32 {
        self.schedule.accumulate()
    }

    /// The batches of one rank, step by step.
    fn for_rank(&self, py: Python<'_>, rank: Signed) -> PyResult<Plan> {
        let (rank, _) = ranks(rank.0, self.schedule.world_size().into())?;
        let plan = py.detach(|| self.schedule.for_rank(rank)).map_err(Failure::from)?;
        Ok(Plan::new(plan, &self.lengths))
    }

    /// All batches: those of the first step, rank after rank, then those of the second, and so on.
    fn all_ranks(&self, py: Python<'_>) -> Plan {
        Plan::new(py.detach(|| self.schedule.all_ranks()), &self.lengths)
    }

    /// How many sequences all ranks have in each step.
    #[getter]
    fn sequences<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.counts(py, |counts| counts.sequences)
    }

    /// How many positions that are not padding all ranks have in each step.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.counts(py, |counts| counts.positions)
    }

    /// The same of the second of two lengths; zeros if there is one.
    #[getter]
    fn second_positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.counts(py, |counts| counts.second_positions)
    }

    /// The share of the ranks' time that is spent waiting for the slowest rank of each step.
    #[getter]
    fn idle_share(&self) -> f64 {
        self.schedule.idle_share()
    }

    /// What the idle share is at least, however these batches are dealt to steps of as many.
    #[getter]
    fn idle_bound(&self) -> f64 {
        self.schedule.idle_bound()
    }

    /// The sequences that are in no step, because the tail is dropped.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.schedule.dropped())
    }

    /// The sequences that were met before, as often as they were.
    #[getter]
    fn repeated<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.schedule.repeated())
    }

    /// Where the epoch stands when every rank has taken so many of these steps, as one line of JSON:
    /// the same on every rank, and small enough for every checkpoint.
    fn cursor(&self, steps: usize) -> PyResult<String> {
        let cursor = self.schedule.cursor(steps).map_err(Failure::from)?;
        Ok(lengthwise_files::to_json(&cursor))
    }
}

impl Schedule {
    fn counts<'py>(&self, py: Python<'py>, of: fn(&Counts) -> u64) -> Bound<'py, PyArray1<u64>> {
        let counts = py.detach(|| self.schedule.counts(&self.lengths));
        PyArray1::from_iter(py, counts.iter().map(of))
    }
}
