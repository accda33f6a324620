//! What a length is padded to.

use crate::data::lengths::{Lengths, is_small_table};

/// [`Shapes`](crate::Shapes) made definite for given lengths.
#[derive(Clone, Debug)]
pub(crate) enum Rounding {
    Exact,
    Multiple(u32),
    Rungs(Staircase),
}

impl Rounding {
    /// What a sequence of this length is padded to when it is the longest of its batch. Rounding keeps
    /// the order of lengths, so the batch length is the largest of these.
    pub(crate) fn of(&self, length: u32) -> u32 {
        match self {
            Rounding::Exact => length,
            Rounding::Multiple(multiple) => length.next_multiple_of(*multiple),
            Rounding::Rungs(rungs) => rungs.edges()[rungs.of(length) as usize],
        }
    }
}

/// Finds the step that a length is on: the first of several rising edges at or above it. One look
/// into a table where that is small, a binary search where it is not.
#[derive(Clone, Debug)]
pub(crate) struct Staircase {
    edges: Vec<u32>,
    table: Vec<u32>,
}

impl Staircase {
    /// For the lengths that are to be looked up.
    pub(crate) fn new(edges: Vec<u32>, lengths: &Lengths) -> Self {
        let mut table = Vec::new();
        if is_small_table(lengths.max(), lengths.len()) {
            let size = lengths.max() as usize + 1;
            for (step, &edge) in (0..).zip(&edges) {
                table.resize(size.min(edge as usize + 1).max(table.len()), step);
            }
            table.resize(size, edges.len() as u32);
        }
        Self { edges, table }
    }

    /// The edges, rising.
    pub(crate) fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The edge at or above a length, if there is one.
    pub(crate) fn edge(&self, length: u32) -> Option<u32> {
        self.edges.get(self.of(length) as usize).copied()
    }

    /// The number of the step; the number of edges for a length above them all.
    pub(crate) fn of(&self, length: u32) -> u32 {
        let search = || self.edges.partition_point(|&edge| edge < length) as u32;
        self.table.get(length as usize).copied().unwrap_or_else(search)
    }
}
