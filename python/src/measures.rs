//! What a plan costs.

use pyo3::{prelude::*, types::PyDict};

use crate::pickle::{Reduced, reduced};
use crate::plan::Plan;

/// Two sides as they are pickled: the cells and the padding rate of each.
type Sides = [(u64, f64); 2];

/// The class, from its plain numbers: each is an attribute, and a field of the measures of Rust.
macro_rules! measures {
    ($($(#[$about:meta])* $name:ident: $kind:ty,)*) => {
        /// The measures of one plan. `Plan.measure` makes them.
        #[pyclass(frozen, eq, module = "lengthwise")]
        #[derive(Debug, PartialEq)]
        pub(crate) struct Measures {
            $($(#[$about])* #[pyo3(get)] $name: $kind,)*
            sides: Option<Sides>,
        }

        impl From<lengthwise::Measures> for Measures {
            fn from(all: lengthwise::Measures) -> Self {
                let sides = all.sides.map(|sides| sides.map(|side| (side.cells, side.padding_rate)));
                Self { $($name: all.$name,)* sides }
            }
        }

        impl Measures {
            fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                let numbers = PyDict::new(py);
                $(numbers.set_item(stringify!($name), self.$name)?;)*
                Ok(numbers)
            }

            fn of_plain(numbers: &Bound<'_, PyAny>, sides: Option<Sides>) -> PyResult<Self> {
                Ok(Self { $($name: numbers.get_item(stringify!($name))?.extract()?,)* sides })
            }
        }
    };
}

measures! {
    /// The number of batches.
    batches: u64,
    /// The number of sequences in all batches.
    sequences: u64,
    /// The padding rate: padding ÷ all cells, over the whole plan.
    padding_rate: f64,
    /// The mean of the padding rates of the batches, weighted by batch size.
    mean_batch_padding_rate: f64,
    /// The mean of the batch lengths, weighted by batch size.
    mean_batch_length: f64,
    /// The sum of batch size × batch length.
    cells: u64,
    /// Sequential steps: the sum of the batch lengths, which a recurrent network computes one by one.
    steps: u64,
    /// How many different pairs of batch size and batch length there are.
    shapes: u64,
    /// The correlation of the lengths of successive batches.
    lag1_correlation: f64,
    /// The number of sequences in the largest batch.
    largest_batch: u64,
    /// The number of cells in the largest batch, which must fit in memory.
    largest_batch_cells: u64,
}

#[pymethods]
impl Measures {
    /// The padding rate of the first of two lengths; `None` if sequences have one length. All other
    /// measures are of both lengths together.
    #[getter]
    fn first_padding_rate(&self) -> Option<f64> {
        self.sides.map(|[(_, rate), _]| rate)
    }

    /// The padding rate of the second of two lengths; `None` if sequences have one length.
    #[getter]
    fn second_padding_rate(&self) -> Option<f64> {
        self.sides.map(|[_, (_, rate)]| rate)
    }

    /// Returns all measures by name.
    fn asdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let measures = self.plain(py)?;
        if let Some([(_, first), (_, second)]) = self.sides {
            measures.set_item("first_padding_rate", first)?;
            measures.set_item("second_padding_rate", second)?;
        }
        Ok(measures)
    }

    #[staticmethod]
    fn _restore(numbers: &Bound<'_, PyAny>, sides: Option<Sides>) -> PyResult<Self> {
        Self::of_plain(numbers, sides)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Reduced<'py, (Bound<'py, PyDict>, Option<Sides>)>> {
        reduced::<Self, _>(py, (self.plain(py)?, self.sides))
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
