//! Lengths from NumPy arrays of any number type, read in place; and long sequences cut into chunks.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::{prelude::*, types::PyType};

use crate::error::{Failure, Result};
use crate::pickle::{Reduced, reduced};
use crate::settings::{Given, Value, plain};
use crate::statistics::Statistics;

/// The lengths of all sequences, checked once. Every function that takes lengths takes this object too,
/// and does not check it again.
///
/// Args:
///     `lengths`: The length of each sequence: a list, an array, a tensor, or a column of a table or of a
///         dataset. Lengths are whole numbers from 1 to 4294967295.
///     `second`: A second length for each sequence, such as the length of its target. By default,
///         sequences have one length.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Lengths(pub(crate) Arc<lengthwise::Lengths>);

/// What lengths are made of: the first ones as an array, the second ones, and the statistics of what
/// they are a part of.
type Columns<'py> = (Bound<'py, PyArray1<u32>>, Option<Lengths>, Option<Statistics>);

/// An argument that is lengths, or can be made into them.
pub(crate) type Column = Given<Arc<lengthwise::Lengths>>;

impl Value for Arc<lengthwise::Lengths> {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        if let Ok(lengths) = given.cast::<Lengths>() {
            return Ok(Arc::clone(&lengths.get().0));
        }
        let array = given.py().import("lengthwise._convert")?.call_method1("array", (given,))?;
        Ok(Arc::new(read(&array)?))
    }
}

#[pymethods]
impl Lengths {
    #[new]
    #[pyo3(signature = (lengths, second = None))]
    fn new(lengths: Column, second: Option<Column>) -> Result<Self> {
        Ok(Self(paired(lengths, second)?))
    }

    /// The second lengths, if every sequence has two.
    #[getter]
    fn second(&self) -> Option<Self> {
        self.0.second().map(|second| Self(Arc::new(second.clone())))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let of = |lengths: &lengthwise::Lengths| {
            format!("from {} to {}, mean {:.1}", lengths.min(), lengths.max(), lengths.mean())
        };
        let second = self.0.second().map(|second| format!("; second {}", of(second)));
        let second = second.unwrap_or_default();
        format!("Lengths({} sequences {}{second})", self.0.len(), of(&self.0))
    }

    #[staticmethod]
    fn _restore(
        lengths: Column,
        second: Option<Column>,
        statistics: Option<PyRef<'_, Statistics>>,
    ) -> Result<Self> {
        let lengths = paired(lengths, second)?;
        let Some(all) = statistics else { return Ok(Self(lengths)) };
        Ok(Self(Arc::new(Arc::unwrap_or_clone(lengths).part_of(Arc::clone(&all.0))?)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Columns<'py>>> {
        let statistics = self.0.statistics().map(|all| Statistics(Arc::clone(all)));
        reduced::<Self, _>(py, (self.numpy(py), self.second(), statistics))
    }

    /// Returns a copy as an array.
    fn numpy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.0.as_slice())
    }

    /// The shortest length.
    #[getter]
    fn min(&self) -> u32 {
        self.0.min()
    }

    /// The longest length.
    #[getter]
    fn max(&self) -> u32 {
        self.0.max()
    }

    /// The sum of all lengths.
    #[getter]
    fn total(&self) -> u64 {
        self.0.total()
    }

    /// A fingerprint of the lengths in their order: sixteen hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

/// Lengths with second ones, if these are given.
pub(crate) fn paired(lengths: Column, second: Option<Column>) -> Result<Arc<lengthwise::Lengths>> {
    let Some(second) = second else { return Ok(lengths.0) };
    if lengths.0.second().is_some() {
        let what = "the lengths have second ones already";
        return Err(Failure::own("LengthsError", what, "give `second` once"));
    }
    let [first, second] = [lengths.0, second.0].map(Arc::unwrap_or_clone);
    Ok(Arc::new(lengthwise::Pairs::new(first, second)?.into()))
}

/// Returns the batch lengths that pad the least, in ascending order.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `rungs`: How many batch lengths. If there are fewer different lengths, you get these. The default
///         is 8.
#[pyfunction]
#[pyo3(signature = (lengths, rungs: "SupportsIndex" = 8))]
pub(crate) fn ladder(
    py: Python<'_>,
    lengths: Column,
    #[pyo3(from_py_with = plain)] rungs: u32,
) -> Result<Bound<'_, PyArray1<u32>>> {
    if rungs == 0 {
        return Err(Failure::setting("a ladder of 0 rungs", "it must be a whole number from 1"));
    }
    lengths.0.only_one("a ladder")?;
    let rungs = py.detach(|| lengthwise::ladder(&lengths.0, rungs));
    Ok(PyArray1::from_vec(py, rungs))
}

/// Cuts sequences into chunks. To plan the chunks as sequences of their own, use `pieces` as lengths.
/// Chunk `i` is a part of sequence `sequences[i]`, and begins at `offsets[i]`.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `size`: The length of a chunk. The last chunk of a sequence may be shorter.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Chunks {
    chunks: lengthwise::Chunks,
    lengths: Arc<lengthwise::Lengths>,
    size: u32,
    pieces: Arc<lengthwise::Lengths>,
}

#[pymethods]
impl Chunks {
    #[new]
    fn new(py: Python<'_>, lengths: Column, size: Given<u32>) -> Result<Self> {
        let chunks = py.detach(|| lengthwise::Chunks::new(&lengths.0, size.0))?;
        let pieces = Arc::new(chunks.lengths().clone());
        Ok(Self { chunks, lengths: lengths.0, size: size.0, pieces })
    }

    fn __len__(&self) -> usize {
        self.chunks.len()
    }

    fn __repr__(&self) -> String {
        format!("Chunks({} pieces)", self.chunks.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Lengths, u32)) {
        (py.get_type::<Self>(), (Lengths(Arc::clone(&self.lengths)), self.size))
    }

    /// The lengths of the chunks.
    #[getter]
    fn pieces(&self) -> Lengths {
        Lengths(Arc::clone(&self.pieces))
    }

    /// The sequence that each chunk is a part of.
    #[getter]
    fn sequences<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.column(py, |piece| piece.sequence)
    }

    /// Where each chunk begins in its sequence.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.column(py, |piece| piece.offset)
    }
}

impl Chunks {
    fn column<'py>(
        &self,
        py: Python<'py>,
        of: fn(lengthwise::Chunk) -> u32,
    ) -> Bound<'py, PyArray1<u32>> {
        let pieces = 0..self.chunks.len() as u32;
        PyArray1::from_iter(py, pieces.filter_map(|piece| self.chunks.get(piece)).map(of))
    }
}

/// Reads an array that `lengthwise._convert.array` made: one dimension, whole numbers or floats.
fn read(array: &Bound<'_, PyAny>) -> Result<lengthwise::Lengths> {
    if let Some(values) = values::<u32>(array) {
        return Ok(lengthwise::Lengths::new(values?)?);
    }
    macro_rules! whole {
        ($($number:ty),*) => {$(
            if let Some(values) = values::<$number>(array) {
                return Ok(lengthwise::Lengths::try_from_integers(values?)?);
            }
        )*};
    }
    whole!(i64, i32, u64, u16, i16, u8, i8);
    Ok(lengthwise::Lengths::new(floats(array)?)?)
}

/// Reads such an array, in which numbers may be 0.
pub(crate) fn whole_numbers(array: &Bound<'_, PyAny>) -> Result<Vec<u32>> {
    macro_rules! whole {
        ($($number:ty),*) => {$(
            if let Some(values) = values::<$number>(array) {
                let length = |(index, value): (usize, $number)| {
                    let given = || lengthwise::Error::BadLength { index, given: value.to_string() };
                    u32::try_from(value).map_err(|_| given())
                };
                return Ok(values?.into_iter().enumerate().map(length).collect::<Result<_, _>>()?);
            }
        )*};
    }
    whole!(i64, u32, i32, u64, u16, i16, u8, i8);
    floats(array)
}

/// The numbers of an array of this type. One copy, which is the column that plans are made from.
fn values<T: Element + Copy>(array: &Bound<'_, PyAny>) -> Option<Result<Vec<T>>> {
    let array = array.cast::<PyArray1<T>>().ok()?;
    let written = |_| {
        let hint = "give an array that nothing else holds for writing";
        Failure::own("LengthsError", "the array is being written to", hint)
    };
    Some(array.try_readonly().map_err(written).map(|read| match read.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => read.as_array().iter().copied().collect(),
    }))
}

/// Floats that are whole are lengths.
fn floats(array: &Bound<'_, PyAny>) -> Result<Vec<u32>> {
    let values = match (values::<f32>(array), values::<f64>(array)) {
        (Some(values), _) => values?.into_iter().map(f64::from).collect(),
        (None, Some(values)) => values?,
        (None, None) => {
            let dtype = array.cast::<PyUntypedArray>().map(|array| array.dtype().to_string());
            let dtype = dtype.unwrap_or_else(|_| "objects".to_owned());
            return Err(Failure::own(
                "LengthsError",
                format!("cannot interpret an array of {dtype} as lengths"),
                "give whole numbers, one for each sequence",
            ));
        }
    };
    let whole = |(index, value): (usize, f64)| {
        let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        let given = || lengthwise::Error::BadLength { index, given: value.to_string() };
        is_whole.then_some(value as u32).ok_or_else(given)
    };
    Ok(values.into_iter().enumerate().map(whole).collect::<Result<_, _>>()?)
}
