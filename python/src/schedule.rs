//! Plans assigned to ranks.

use std::sync::Arc;

use lengthwise::measure::Counts;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::interrupt::{Stop, perhaps_long};
use crate::memory::Return;
use crate::pickle::{Reduced, reduced};
use crate::plan::{Plan, ranks};
use crate::settings::Given;

/// The batches of an epoch assigned to ranks, step by step. `Plan.schedule` makes it.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Schedule {
    schedule: Arc<lengthwise::Schedule>,
    /// The plan that is scheduled, and the cursor that it goes on from: a pickled one is made again.
    plan: lengthwise::Plan,
    cursor: Option<String>,
    lengths: Arc<lengthwise::Lengths>,
    /// Dropped after the plan.
    memory: Return,
}

#[pymethods]
impl Schedule {
    #[staticmethod]
    pub(crate) fn _restore(
        py: Python<'_>,
        plan: &Plan,
        world_size: i64,
        cursor: Option<&str>,
    ) -> Result<Self> {
        let (_, world_size) = ranks(0, world_size)?;
        let from = cursor.map(lengthwise_io::from_json).transpose().map_err(Failure::state)?;
        let whole = plan.plan.clone();
        let make = move |_: &Stop| match &from {
            Some(cursor) => whole.resume(cursor, world_size),
            None => whole.schedule(world_size),
        };
        Ok(Self {
            schedule: Arc::new(perhaps_long(py, plan.lengths.len(), make)??),
            plan: plan.plan.clone(),
            cursor: cursor.map(str::to_owned),
            lengths: Arc::clone(&plan.lengths),
            memory: plan.memory.with(&plan.plan),
        })
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Reduced<'py, (Plan, u32, Option<&str>)>> {
        let plan = Plan::new(self.plan.clone(), &self.lengths);
        reduced::<Self, _>(py, (plan, self.schedule.world_size(), self.cursor.as_deref()))
    }

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

    /// Gradient-accumulation steps per rank: how many batches each rank processes in a step.
    #[getter]
    fn accumulate(&self) -> u32 {
        self.schedule.accumulate()
    }

    /// Returns the batches of one `rank`, step by step.
    fn for_rank(&self, py: Python<'_>, rank: Given<i64>) -> Result<Plan> {
        let (rank, _) = ranks(rank.0, self.schedule.world_size().into())?;
        let schedule = Arc::clone(&self.schedule);
        let of_rank = move |_: &Stop| schedule.for_rank(rank);
        let plan = perhaps_long(py, self.lengths.len(), of_rank)??;
        Ok(Plan::part(plan, &self.lengths, &self.memory))
    }

    /// Returns the batches of all ranks: first those of the first step, rank after rank, then those of the
    /// second step, and so on.
    fn all_ranks(&self, py: Python<'_>) -> PyResult<Plan> {
        let schedule = Arc::clone(&self.schedule);
        let plan = perhaps_long(py, self.lengths.len(), move |_| schedule.all_ranks())?;
        Ok(Plan::part(plan, &self.lengths, &self.memory))
    }

    /// How many sequences all ranks have in each step.
    #[getter]
    fn sequences<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.counts(py, |counts| counts.sequences)
    }

    /// How many positions that are not padding all ranks have in each step.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.counts(py, |counts| counts.positions)
    }

    /// How many positions of second lengths that are not padding all ranks have in each step; zeros if
    /// sequences have one length.
    #[getter]
    fn second_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.counts(py, |counts| counts.second_positions)
    }

    /// The share of the ranks' time that they spend waiting for the slowest rank of each step.
    #[getter]
    fn idle_share(&self) -> f64 {
        self.schedule.idle_share()
    }

    /// How much the lengths of optimizer steps vary, compared with random steps of as many sequences: 1 is
    /// as random, 0 means that all steps are alike, and above 1 steps are biased.
    #[getter]
    fn step_mix(&self, py: Python<'_>) -> PyResult<f64> {
        let (schedule, lengths) = (Arc::clone(&self.schedule), Arc::clone(&self.lengths));
        perhaps_long(py, lengths.len(), move |_| schedule.step_mix(&lengths).log_length)
    }

    /// A lower bound of the idle share, for any way to assign these batches to as many ranks.
    #[getter]
    fn idle_bound(&self) -> f64 {
        self.schedule.idle_bound()
    }

    /// The sequences that are in no step, because the tail is dropped.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.schedule.dropped())
    }

    /// The sequences that occur more than once, as often as they are repeated.
    #[getter]
    fn repeated<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.schedule.repeated())
    }

    /// Returns a cursor, for `Plan.resume`, after every rank has processed this many `steps`. It is one
    /// short line of JSON, the same on every rank.
    fn cursor(&self, steps: usize) -> Result<String> {
        Ok(lengthwise_io::to_json(&self.schedule.cursor(steps)?))
    }
}

impl Schedule {
    fn counts<'py>(
        &self,
        py: Python<'py>,
        of: fn(&Counts) -> u64,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let (schedule, lengths) = (Arc::clone(&self.schedule), Arc::clone(&self.lengths));
        let counts = perhaps_long(py, lengths.len(), move |_| schedule.counts(&lengths))?;
        Ok(PyArray1::from_iter(py, counts.iter().map(of)))
    }
}
