//! Lengths from NumPy arrays of any number type, read in place; and long sequences cut into chunks.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::{prelude::*, types::PyType};

use crate::error::{Failure, Result};
use crate::groups::{Groups, Kinds};
use crate::interrupt::{Stop, perhaps_long};
use crate::pickle::{Reduced, reduced};
use crate::settings::{Given, Value, given, plain};
use crate::statistics::Statistics;

/// The lengths of all sequences, checked once. Every function that takes lengths takes this object too,
/// and does not check it again.
///
/// Args:
///     `lengths`: The length of each sequence: a list, an array, a tensor, or a column of a table or of a
///         dataset. Lengths are whole numbers from 1 to 4294967295.
///     `second`: A second length for each sequence, such as the length of its target. By default,
///         sequences have one length.
///     `together`: An id for each sequence, as for `Planner`. By default, sequences are independent.
///     `kind`: Another id for each sequence, as for `Planner`. By default, sequences have no kinds.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Lengths(pub(crate) Arc<lengthwise::Lengths>, pub(crate) Named);

/// What Python says besides the lengths themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Named {
    /// The names of the kinds, in the order in which they first appear.
    pub(crate) kinds: Option<Arc<Vec<String>>>,
    /// Whether each group is one item of a dataset.
    pub(crate) of_items: bool,
}

impl From<&Arc<lengthwise::Lengths>> for Lengths {
    fn from(lengths: &Arc<lengthwise::Lengths>) -> Self {
        Self(Arc::clone(lengths), Named::default())
    }
}

/// Lengths, and what Python says besides.
#[derive(Debug)]
pub(crate) struct Sequences(pub(crate) Arc<lengthwise::Lengths>, pub(crate) Named);

impl Value for Sequences {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        if let Ok(lengths) = given.cast::<Lengths>() {
            let Lengths(lengths, named) = lengths.get();
            return Ok(Self(Arc::clone(lengths), named.clone()));
        }
        Ok(Self(Value::read(given)?, Named::default()))
    }
}

impl Sequences {
    /// With second lengths, groups and kinds, if these are given, each of them once.
    pub(crate) fn with(
        self,
        second: Option<Column>,
        together: Option<Given<Groups>>,
        kind: Option<Given<Kinds>>,
    ) -> Result<Self> {
        let Self(lengths, mut named) = self;
        let mut lengths = paired(Given(lengths), second)?;
        let once = |what: &str, name: &str| {
            let what = format!("the lengths have {what} already");
            Err(Failure::own("LengthsError", what, format!("give `{name}` once")))
        };
        if let Some(ids) = given(together) {
            let groups = lengths.group_ids().and_then(|ids| ids.iter().max());
            if groups.is_some_and(|&last| (last as usize) + 1 < lengths.len()) {
                return once("groups", "together");
            }
            lengths = Arc::new(Arc::unwrap_or_clone(lengths).together(&ids.0)?);
        }
        if let Some(kinds) = given(kind) {
            if lengths.kind_ids().is_some() {
                return once("kinds", "kind");
            }
            lengths = Arc::new(Arc::unwrap_or_clone(lengths).kinds(&kinds.numbers)?);
            named.kinds = Some(Arc::new(kinds.names));
        }
        Ok(Self(lengths, named))
    }
}

/// What lengths are made of: the first ones as an array, the second ones, the statistics of what they are a part of,
/// the groups, the kinds and their names, and whether groups are items.
type Columns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Option<Lengths>,
    Option<Statistics>,
    Option<Vec<u32>>,
    Option<(Vec<u32>, Vec<String>)>,
    bool,
);

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
    #[pyo3(signature = (lengths, second = None, *, together = None, kind = None))]
    fn new(
        lengths: Given<Sequences>,
        second: Option<Column>,
        together: Option<Given<Groups>>,
        kind: Option<Given<Kinds>>,
    ) -> Result<Self> {
        let Sequences(lengths, named) = lengths.0.with(second, together, kind)?;
        Ok(Self(lengths, named))
    }

    /// Returns the lengths of items that hold several sequences each, such as preference pairs. The sequences of an item
    /// stay together, and `lengthwise.torch.BatchSampler` returns the indices of items.
    ///
    /// Args:
    ///     `lengths`: A list of lengths for each item, as in `[[12, 9], [30, 22]]`.
    ///     `kind`: An id for each item, as for `Planner`. By default, items have no kinds.
    #[staticmethod]
    #[pyo3(signature = (lengths, *, kind = None))]
    fn of_items(lengths: Bound<'_, PyAny>, kind: Option<Given<Kinds>>) -> Result<Self> {
        let read = lengths.py().import("lengthwise._convert")?.call_method1("items", (lengths,))?;
        let (flat, items): (Bound<'_, PyAny>, Bound<'_, PyArray1<u32>>) = read.extract()?;
        let items = items.to_vec().map_err(PyErr::from)?;
        let lengths = self::read(&flat)?.together(&items)?;
        let mut named = Named { of_items: true, kinds: None };
        let Some(kinds) = given(kind) else { return Ok(Self(Arc::new(lengths), named)) };
        let count = items.last().map_or(0, |last| *last as usize + 1);
        if kinds.numbers.len() != count {
            let what = format!("there are {} kinds for {count} items", kinds.numbers.len());
            return Err(Failure::own("LengthsError", what, "give one for each item"));
        }
        let ids: Vec<u32> = items.iter().map(|&item| kinds.numbers[item as usize]).collect();
        named.kinds = Some(Arc::new(kinds.names));
        Ok(Self(Arc::new(lengths.kinds(&ids)?), named))
    }

    /// The number of the group of each sequence, if sequences stay together or have kinds.
    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u32>>> {
        self.0.group_ids().map(|ids| PyArray1::from_slice(py, ids))
    }

    /// The names of the kinds, in the order in which they first appear, if sequences have kinds.
    #[getter]
    fn kinds(&self) -> Option<Vec<String>> {
        self.1.kinds.as_deref().cloned()
    }

    /// How many items there are, if these are the lengths of items that hold several sequences.
    #[getter]
    fn items(&self) -> Option<u32> {
        let last = || self.0.group_ids().and_then(|ids| ids.iter().max()).map(|&last| last + 1);
        if self.1.of_items { last() } else { None }
    }

    fn _items_in<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyArray1<u32>>,
    ) -> Result<Bound<'py, PyArray1<u32>>> {
        let batch = batch.to_vec().map_err(PyErr::from)?;
        Ok(PyArray1::from_vec(py, self.0.groups_in(&batch)))
    }

    /// The second lengths, if every sequence has two.
    #[getter]
    fn second(&self) -> Option<Self> {
        self.0.second().map(|second| Self::from(&Arc::new(second.clone())))
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
        let groups = self.0.group_ids().map(|ids| ids.iter().max().map_or(0, |last| last + 1));
        let groups = groups.filter(|&groups| (groups as usize) < self.0.len());
        let groups = groups.map_or_else(String::new, |groups| format!(" in {groups} groups"));
        let kinds = self.1.kinds.as_ref().map(|kinds| format!(" of {} kinds", kinds.len()));
        let kinds = kinds.unwrap_or_default();
        format!("Lengths({} sequences{groups}{kinds} {}{second})", self.0.len(), of(&self.0))
    }

    #[staticmethod]
    fn _restore(
        lengths: Column,
        second: Option<Column>,
        statistics: Option<PyRef<'_, Statistics>>,
        groups: Option<Vec<u32>>,
        kinds: Option<(Vec<u32>, Vec<String>)>,
        of_items: bool,
    ) -> Result<Self> {
        let mut lengths = Arc::unwrap_or_clone(paired(lengths, second)?);
        if let Some(all) = statistics {
            lengths = lengths.part_of(Arc::clone(&all.0))?;
        }
        if let Some(ids) = groups {
            lengths = lengths.together(&ids)?;
        }
        let mut named = Named { of_items, kinds: None };
        if let Some((ids, names)) = kinds {
            lengths = lengths.kinds(&ids)?;
            named.kinds = Some(Arc::new(names));
        }
        Ok(Self(Arc::new(lengths), named))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Columns<'py>>> {
        let statistics = self.0.statistics().map(|all| Statistics(Arc::clone(all)));
        let groups = self.0.group_ids().map(<[u32]>::to_vec);
        let names = self.1.kinds.as_deref().cloned().unwrap_or_default();
        let kinds = self.0.kind_ids().map(|ids| (ids, names));
        let second = self.second();
        let of_items = self.1.of_items;
        reduced::<Self, _>(py, (self.numpy(py), second, statistics, groups, kinds, of_items))
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
    let (count, lengths) = (lengths.0.len(), lengths.0);
    let rungs = perhaps_long(py, count, move |_| lengthwise::ladder(&lengths, rungs))?;
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
        let (count, lengths, size) = (lengths.0.len(), lengths.0, size.0);
        perhaps_long(py, count, move |_: &Stop| -> Result<Self> {
            let chunks = lengthwise::Chunks::new(&lengths, size)?;
            let pieces = Arc::new(chunks.lengths().clone());
            Ok(Self { chunks, lengths, size, pieces })
        })?
    }

    fn __len__(&self) -> usize {
        self.chunks.len()
    }

    fn __repr__(&self) -> String {
        format!("Chunks({} pieces)", self.chunks.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Lengths, u32)) {
        (py.get_type::<Self>(), (Lengths::from(&self.lengths), self.size))
    }

    /// The lengths of the chunks.
    #[getter]
    fn pieces(&self) -> Lengths {
        Lengths::from(&self.pieces)
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
    let py = array.py();
    if let Some(values) = values::<u32>(array) {
        let values = values?;
        return Ok(perhaps_long(py, values.len(), move |_| lengthwise::Lengths::new(values))??);
    }
    macro_rules! whole {
        ($($number:ty),*) => {$(
            if let Some(values) = values::<$number>(array) {
                let values = values?;
                let made = move |_: &Stop| lengthwise::Lengths::try_from_integers(values);
                return Ok(perhaps_long(py, array.len()?, made)??);
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
