//! More batches of the same sequences: the costliest are halved.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::Batches;
use crate::Error;

/// A stretch of sequences that is a batch, or will be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    pub(crate) size: u32,
    pub(crate) length: u32,
    pub(crate) cost: f64,
}

/// Halves the costliest pieces until there are `count`, or one sequence in each. Halves have a
/// multiple of `multiple` sequences where they can.
pub(crate) fn halved(
    pieces: Vec<Piece>,
    count: usize,
    multiple: u32,
    cost: &impl Fn(u32, u32) -> f64,
) -> Vec<Piece> {
    let mut heap: BinaryHeap<Piece> = pieces.into();
    let mut single = Vec::new();
    while heap.len() + single.len() < count {
        let Some(piece) = heap.pop() else { break };
        if piece.size == 1 {
            single.push(piece);
            continue;
        }
        let half = match piece.size / 2 {
            half if half < multiple => half,
            half => half - half % multiple,
        };
        for (start, size) in [(piece.start, half), (piece.start + half, piece.size - half)] {
            heap.push(Piece { start, size, cost: cost(size, piece.length), ..piece });
        }
    }
    single.extend(heap);
    single
}

impl Batches {
    /// The same sequences in `count` batches, by halving those of most cells.
    pub(crate) fn halved_to(self, count: u32, multiple: u32) -> Result<Self, Error> {
        if self.len() > count as usize {
            return Err(Error::TooManyBatches { batches: self.len(), fixed: count });
        }
        if self.indices.len() < count as usize {
            return Err(Error::BadValue {
                of: "the fixed number of batches".to_owned(),
                given: count.to_string(),
                expected: format!("at most the number of sequences, {}", self.indices.len()),
            });
        }
        if self.len() == count as usize {
            return Ok(self);
        }
        let cells = |size: u32, length: u32| f64::from(size) * f64::from(length);
        let ends = self.ends.iter().copied();
        let pieces = self.shapes().zip(ends).map(|((size, length), end)| Piece {
            start: end - size,
            size,
            length,
            cost: cells(size, length),
        });
        let mut pieces = halved(pieces.collect(), count as usize, multiple, &cells);
        pieces.sort_unstable_by_key(|piece| piece.start);
        Ok(Self {
            indices: self.indices,
            ends: pieces.iter().map(|piece| piece.start + piece.size).collect(),
            lengths: pieces.iter().map(|piece| piece.length).collect(),
        })
    }
}

/// Pieces by cost; the place decides between equals.
impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(other.start.cmp(&self.start))
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}
