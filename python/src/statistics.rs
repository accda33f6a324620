//! Statistics of all shards of a corpus.

use std::{path::PathBuf, sync::Arc};

use lengthwise_io::{read_statistics, save_statistics, statistics_from_bytes, statistics_to_bytes};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyDict},
};

use crate::error::Result;
use crate::interrupt::{Stop, perhaps_long};
use crate::lengths::Column;
use crate::pickle::Reduced;
use crate::settings::Given;

/// Summary statistics of lengths, for datasets whose shards are planned by different nodes: small, and
/// the same bytes in whatever order shards are merged. Once it was counted, they also say how many
/// batches each shard processes.
///
/// Args:
///     `lengths`: The length of each sequence of one shard, as for `Planner`.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Statistics(pub(crate) Arc<lengthwise::shard::Statistics>);

#[pymethods]
impl Statistics {
    /// The statistics of these lengths alone.
    #[new]
    fn new(py: Python<'_>, lengths: Column) -> Result<Self> {
        lengths.0.only_one("`Statistics`")?;
        let (count, lengths) = (lengths.0.len(), lengths.0);
        let of = move |_: &Stop| lengthwise::shard::Statistics::of(&lengths);
        Ok(Self(Arc::new(perhaps_long(py, count, of)?)))
    }

    /// Returns the statistics of these shards and those of `other` together. No shard may be in both.
    fn merge(&self, other: &Self) -> Result<Self> {
        Ok(Self(Arc::new(self.0.merge(&other.0)?)))
    }

    fn __add__(&self, other: &Self) -> Result<Self> {
        self.merge(other)
    }

    /// `sum` begins with 0.
    fn __radd__(&self, other: u8) -> PyResult<Self> {
        match other {
            0 => Ok(Self(Arc::clone(&self.0))),
            _ => Err(PyTypeError::new_err("statistics can be added to statistics only")),
        }
    }

    /// Returns bytes that you can send to other nodes. Equal statistics have equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &statistics_to_bytes(&self.0))
    }

    /// Returns the statistics whose `to_bytes` returned `given`.
    #[staticmethod]
    fn from_bytes(given: &[u8]) -> Result<Self> {
        Ok(Self(Arc::new(statistics_from_bytes(given)?)))
    }

    /// Writes the .lws file `path`. An error leaves no partial file.
    fn save(&self, py: Python<'_>, path: Given<PathBuf>) -> Result<()> {
        Ok(py.detach(|| save_statistics(&path.0, &self.0))?)
    }

    /// Reads the .lws file `path`.
    #[staticmethod]
    fn load(py: Python<'_>, path: Given<PathBuf>) -> Result<Self> {
        Ok(Self(Arc::new(py.detach(|| read_statistics(&path.0))?)))
    }

    fn __len__(&self) -> usize {
        self.0.count() as usize
    }

    fn __repr__(&self) -> String {
        let all = &self.0;
        let counted = all.needs().map_or_else(String::new, |needs| {
            let (counted, of, most) = (needs.counted(), needs.of, needs.most);
            format!("; {counted} of {of} shards counted, {most} batches each")
        });
        let (count, min, max, mean) = (all.count(), all.min(), all.max(), all.mean());
        format!("Statistics({count} sequences from {min} to {max}, mean {mean:.1}{counted})")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (Bound<'py, PyBytes>,)>> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py),)))
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
    fn total(&self) -> u128 {
        self.0.total()
    }

    /// Whether each distinct length has a count of its own, instead of sharing one with similar lengths.
    #[getter]
    fn exact(&self) -> bool {
        self.0.is_exact()
    }

    /// A fingerprint of the lengths: sixteen hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.0.digest())
    }

    /// What the shards need, if it was counted: the `settings`, the number of `shards`, how many of them
    /// were `counted`, the `batches` that each processes, the `least` that one needs, and `added_share`,
    /// the share of batches that exist only because other shards need more.
    #[getter]
    fn needs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(needs) = self.0.needs() else { return Ok(None) };
        let told = PyDict::new(py);
        told.set_item("settings", &needs.settings)?;
        told.set_item("shards", needs.of)?;
        told.set_item("counted", needs.counted())?;
        told.set_item("batches", needs.most)?;
        told.set_item("least", needs.least)?;
        told.set_item("added_share", needs.added_share())?;
        Ok(Some(told))
    }
}
