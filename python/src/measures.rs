//! What a plan costs, and how freely batch-mates change between plans.

use pyo3::{prelude::*, types::PyDict};

use crate::interrupt::perhaps_long;
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

/// How freely batch-mates change between epochs, as a share of random shuffling. `mixing` makes it.
///
/// 1 is random shuffling, near 0 is the same batches in every epoch. `explain("mixing")` says how it is
/// counted.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mixing {
    mixing: lengthwise::measure::Mixing,
}

#[pymethods]
impl Mixing {
    /// The mixing if every pair of batch-mates counts the same, from 0 to 1.
    #[getter]
    fn per_pair(&self) -> f64 {
        self.mixing.per_pair
    }

    /// The standard error of `per_pair`.
    #[getter]
    fn per_pair_error(&self) -> f64 {
        self.mixing.per_pair_error
    }

    /// The mixing if every sequence counts the same, however large its batches are, from 0 to 1.
    #[getter]
    fn per_sequence(&self) -> f64 {
        self.mixing.per_sequence
    }

    /// The standard error of `per_sequence`.
    #[getter]
    fn per_sequence_error(&self) -> f64 {
        self.mixing.per_sequence_error
    }

    /// The probability that two sequences that share a batch share one again in another epoch.
    #[getter]
    fn repeat_rate(&self) -> f64 {
        self.mixing.repeat_rate
    }

    /// The size of the pool that batch-mates are effectively drawn from.
    #[getter]
    fn effective_mates(&self) -> f64 {
        self.mixing.effective_mates
    }

    #[staticmethod]
    fn _restore(numbers: [f64; 6]) -> Self {
        let [per_pair, per_pair_error, per_sequence, per_sequence_error, repeat_rate, mates] =
            numbers;
        let effective_mates = mates;
        let mixing = lengthwise::measure::Mixing {
            per_pair,
            per_pair_error,
            per_sequence,
            per_sequence_error,
            repeat_rate,
            effective_mates,
        };
        Self { mixing }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, ([f64; 6],)>> {
        let all = self.mixing;
        let numbers = [
            all.per_pair,
            all.per_pair_error,
            all.per_sequence,
            all.per_sequence_error,
            all.repeat_rate,
            all.effective_mates,
        ];
        reduced::<Self, _>(py, (numbers,))
    }

    fn __repr__(&self) -> String {
        let all = self.mixing;
        format!(
            "Mixing(per_pair={}, per_pair_error={}, per_sequence={}, per_sequence_error={}, \
             repeat_rate={}, effective_mates={})",
            all.per_pair,
            all.per_pair_error,
            all.per_sequence,
            all.per_sequence_error,
            all.repeat_rate,
            all.effective_mates
        )
    }
}

/// Returns how freely batch-mates change between the epochs of several plans, as a share of random
/// shuffling.
///
/// Returns `None` for fewer than two epochs, or if every batch has one sequence. Of `rotating`, take
/// epochs of different cycles; `compare` does so.
///
/// Args:
///     `plans`: Plans of the same lengths for different epochs.
#[pyfunction]
pub(crate) fn mixing(py: Python<'_>, plans: Vec<PyRef<'_, Plan>>) -> PyResult<Option<Mixing>> {
    let plans: Vec<lengthwise::Plan> = plans.iter().map(|plan| plan.plan.clone()).collect();
    let sequences = plans.iter().map(|plan| plan.indices().len()).sum();
    let mixing = perhaps_long(py, sequences, move |_| lengthwise::measure::mixing(&plans))?;
    Ok(mixing.map(|mixing| Mixing { mixing }))
}

/// Returns the size of the pool that batch-mates are effectively drawn from over several epochs: at most the
/// number of other sequences.
///
/// Returns `None` for fewer than two epochs, or if every batch has one sequence.
///
/// Args:
///     `plans`: Plans of the same lengths for different epochs.
#[pyfunction]
pub(crate) fn effective_mates(
    py: Python<'_>,
    plans: Vec<PyRef<'_, Plan>>,
) -> PyResult<Option<f64>> {
    Ok(mixing(py, plans)?.map(|mixing| mixing.mixing.effective_mates))
}
