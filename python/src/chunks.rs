//! Long sequences cut into pieces.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyType};

use crate::{
    error::Result,
    lengths::{Column, Lengths},
    settings::Whole,
};

/// Cuts sequences into pieces. To plan the pieces as sequences of their own, use `pieces` as lengths.
/// Piece `i` is a part of sequence `sequences[i]`, and begins at `offsets[i]`.
///
/// Args:
///     `lengths`: The length of each sequence, as for `Planner`.
///     `size`: The length of a piece. The last piece of a sequence may be shorter.
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
    fn new(py: Python<'_>, lengths: Column, size: Whole<u32>) -> Result<Self> {
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

    /// The lengths of the pieces.
    #[getter]
    fn pieces(&self) -> Lengths {
        Lengths(Arc::clone(&self.pieces))
    }

    /// The sequence that each piece is a part of.
    #[getter]
    fn sequences<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.column(py, |piece| piece.sequence)
    }

    /// Where each piece begins in its sequence.
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
