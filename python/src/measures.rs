//! What a plan costs.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyDict};

use crate::plan::Plan;

/// What one plan costs.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Measures(lengthwise::Measures);

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

    /// The number of sequences in them.
    #[getter]
    fn sequences(&self) -> u64 {
        self.0.sequences
    }

    /// Empty cells ÷ all cells, over the whole plan.
    #[getter]
    fn padding_rate(&self) -> f64 {
        self.0.padding_rate
    }

    /// The mean of the batches' own padding rates, weighted by batch size.
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

    /// The sum of the batch lengths: what a recurrent network waits for.
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

    /// The most sequences in any batch.
    #[getter]
    fn largest_batch(&self) -> u64 {
        self.0.largest_batch
    }

    /// The most cells in any batch: what memory must hold.
    #[getter]
    fn largest_batch_cells(&self) -> u64 {
        self.0.largest_batch_cells
    }

    /// Empty cells ÷ all cells of the first of two lengths; `None` if there is one. Everything else is
    /// of both together.
    #[getter]
    fn first_padding_rate(&self) -> Option<f64> {
        self.0.sides.map(|[first, _]| first.padding_rate)
    }

    /// The same of the second.
    #[getter]
    fn second_padding_rate(&self) -> Option<f64> {
        self.0.sides.map(|[_, second]| second.padding_rate)
    }

    /// All of them by name.
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

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let measures = self.asdict(py)?;
        let fields: Vec<String> =
            measures.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(format!("Measures({})", fields.join(", ")))
    }
}

/// From how many candidates the mates of a sequence are in effect drawn over these epochs; `inf` if
/// nobody met again, `None` for fewer than two epochs or if no sequence has mates.
#[pyfunction]
pub(crate) fn effective_mates(py: Python<'_>, plans: Vec<PyRef<'_, Plan>>) -> Option<f64> {
    let plans: Vec<lengthwise::Plan> = plans.iter().map(|plan| plan.plan.clone()).collect();
    py.detach(|| lengthwise::effective_mates(&plans))
}

/// Measures a plan of these lengths.
pub(crate) fn measured(plan: &lengthwise::Plan, lengths: &Arc<lengthwise::Lengths>) -> Measures {
    plan.measure(lengths).into()
}
