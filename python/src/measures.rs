//! What a plan costs.

use std::sync::Arc;

use lengthwise::measure::SideMeasures;
use pyo3::{prelude::*, types::PyDict};

use crate::{
    pickle::{Reduced, reduced},
    plan::Plan,
};

/// The measures of one plan. `Plan.measure` makes them.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Measures(lengthwise::Measures);

/// What measures are made of: counts, rates, and cells and padding rate of each of two sides.
type Parts = ([u64; 7], [f64; 4], Option<[(u64, f64); 2]>);

impl From<lengthwise::Measures> for Measures {
    fn from(measures: lengthwise::Measures) -> Self {
        Self(measures)
    }
}

#[pymethods]
impl Measures {
    /// The number of batches.
    #[getter]
    fn batches(&self) -> u64 {
        self.0.batches
    }

    /// The number of sequences in all batches.
    #[getter]
    fn sequences(&self) -> u64 {
        self.0.sequences
    }

    /// The padding rate: padding ÷ all cells, over the whole plan.
    #[getter]
    fn padding_rate(&self) -> f64 {
        self.0.padding_rate
    }

    /// The mean of the padding rates of the batches, weighted by batch size.
    #[getter]
    fn mean_batch_padding_rate(&self) -> f64 {
        self.0.mean_batch_padding_rate
    }

    /// The mean of the batch lengths, weighted by batch size.
    #[getter]
    fn mean_batch_length(&self) -> f64 {
        self.0.mean_batch_length
    }

    /// The sum of batch size × batch length.
    #[getter]
    fn cells(&self) -> u64 {
        self.0.cells
    }

    /// Sequential steps: the sum of the batch lengths, which a recurrent network computes one by one.
    #[getter]
    fn steps(&self) -> u64 {
        self.0.steps
    }

    /// How many different pairs of batch size and batch length there are.
    #[getter]
    fn shapes(&self) -> u64 {
        self.0.shapes
    }

    /// The correlation of the lengths of successive batches.
    #[getter]
    fn lag1_correlation(&self) -> f64 {
        self.0.lag1_correlation
    }

    /// The number of sequences in the largest batch.
    #[getter]
    fn largest_batch(&self) -> u64 {
        self.0.largest_batch
    }

    /// The number of cells in the largest batch, which must fit in memory.
    #[getter]
    fn largest_batch_cells(&self) -> u64 {
        self.0.largest_batch_cells
    }

    /// The padding rate of the first of two lengths; `None` if sequences have one length. All other
    /// measures are of both lengths together.
    #[getter]
    fn first_padding_rate(&self) -> Option<f64> {
        self.0.sides.map(|[first, _]| first.padding_rate)
    }

    /// The padding rate of the second of two lengths; `None` if sequences have one length.
    #[getter]
    fn second_padding_rate(&self) -> Option<f64> {
        self.0.sides.map(|[_, second]| second.padding_rate)
    }

    /// Returns all measures by name.
    fn asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let measures = PyDict::new(py);
        measures.set_item("batches", self.0.batches)?;
        measures.set_item("sequences", self.0.sequences)?;
        measures.set_item("padding_rate", self.0.padding_rate)?;
        measures.set_item("mean_batch_padding_rate", self.0.mean_batch_padding_rate)?;
        measures.set_item("mean_batch_length", self.0.mean_batch_length)?;
        measures.set_item("cells", self.0.cells)?;
        measures.set_item("steps", self.0.steps)?;
        measures.set_item("shapes", self.0.shapes)?;
        measures.set_item("lag1_correlation", self.0.lag1_correlation)?;
        measures.set_item("largest_batch", self.0.largest_batch)?;
        measures.set_item("largest_batch_cells", self.0.largest_batch_cells)?;
        if let Some([first, second]) = self.0.sides {
            measures.set_item("first_padding_rate", first.padding_rate)?;
            measures.set_item("second_padding_rate", second.padding_rate)?;
        }
        Ok(measures)
    }

    /// Measures from how they were pickled.
    #[staticmethod]
    fn _restore(counts: [u64; 7], rates: [f64; 4], sides: Option<[(u64, f64); 2]>) -> Self {
        let mut all = lengthwise::Measures::default();
        [
            all.batches,
            all.sequences,
            all.cells,
            all.steps,
            all.shapes,
            all.largest_batch,
            all.largest_batch_cells,
        ] = counts;
        [
            all.padding_rate,
            all.mean_batch_padding_rate,
            all.mean_batch_length,
            all.lag1_correlation,
        ] = rates;
        let side = |(cells, padding_rate)| SideMeasures { cells, padding_rate };
        all.sides = sides.map(|sides| sides.map(side));
        Self(all)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Parts>> {
        let all = &self.0;
        let counts = [
            all.batches,
            all.sequences,
            all.cells,
            all.steps,
            all.shapes,
            all.largest_batch,
            all.largest_batch_cells,
        ];
        let rates = [
            all.padding_rate,
            all.mean_batch_padding_rate,
            all.mean_batch_length,
            all.lag1_correlation,
        ];
        let sides = all.sides.map(|sides| sides.map(|side| (side.cells, side.padding_rate)));
        reduced::<Self, _>(py, (counts, rates, sides))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let measures = self.asdict(py)?;
        let fields: Vec<String> =
            measures.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(format!("Measures({})", fields.join(", ")))
    }
}

/// Returns the size of the pool that batch-mates are effectively drawn from over several epochs.
///
/// Returns `inf` if no two sequences share a batch twice, and `None` for fewer than two epochs or if every
/// batch has one sequence.
///
/// Args:
///     `plans`: Plans of the same lengths for different epochs.
#[pyfunction]
pub(crate) fn effective_mates(py: Python<'_>, plans: Vec<PyRef<'_, Plan>>) -> Option<f64> {
    let plans: Vec<lengthwise::Plan> = plans.iter().map(|plan| plan.plan.clone()).collect();
    py.detach(|| lengthwise::measure::effective_mates(&plans))
}

/// Measures a plan of these lengths.
pub(crate) fn measured(plan: &lengthwise::Plan, lengths: &Arc<lengthwise::Lengths>) -> Measures {
    plan.measure(lengths).into()
}
