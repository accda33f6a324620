//! More batches of the same sequences: the costliest are split.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{cut::batches::Batches, data::pad::Pad, error::Error};

/// A stretch of sequences that is a batch, or will be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    pub(crate) size: u32,
    pub(crate) pad: Pad,
    pub(crate) cost: f64,
}

/// Halves the costliest pieces until there are `count`, or one sequence in each. Halves have a
/// multiple of `multiple` sequences where they can.
pub(crate) fn split_costliest(
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
            heap.push(Piece { start, size, cost: cost(size, piece.pad.joint()), ..piece });
        }
    }
    single.extend(heap);
    single
}

impl Batches {
    /// The same sequences in `count` batches, by halving those of most cells.
    pub(crate) fn split_to(self, count: u32, multiple: u32) -> Result<Self, Error> {
        if self.can_be(count)? {
            return Ok(self);
        }
        let cells = |size: u32, length: u32| f64::from(size) * f64::from(length);
        let pieces = self.split_by(count, multiple, &cells);
        let lengths = pieces.iter().map(|piece| piece.pad.first).collect();
        Ok(self.cut_into(&pieces, lengths))
    }

    /// The same for rows, of which those of most sequences are split; `length` is that of a row of
    /// given sequences.
    pub(crate) fn split_rows_to(
        self,
        count: u32,
        length: impl Fn(&[u32]) -> u32,
    ) -> Result<Self, Error> {
        if self.can_be(count)? {
            return Ok(self);
        }
        let pieces = self.split_by(count, 1, &|size, _| f64::from(size));
        let mut whole = self.ends.iter().zip(self.shapes()).peekable();
        let lengths = pieces.iter().map(|piece| {
            let end = piece.start + piece.size;
            while whole.next_if(|&(&other, _)| other < end).is_some() {}
            match whole.peek() {
                Some(&(&other, (size, length))) if (other, size) == (end, piece.size) => length,
                _ => length(&self.indices[piece.start as usize..end as usize]),
            }
        });
        let lengths = lengths.collect();
        drop(whole);
        Ok(self.cut_into(&pieces, lengths))
    }

    /// Whether there are so many already. Refused if there are more, or too few sequences.
    fn can_be(&self, count: u32) -> Result<bool, Error> {
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
        Ok(self.len() == count as usize)
    }

    /// The pieces in order.
    fn split_by(&self, count: u32, multiple: u32, cost: &impl Fn(u32, u32) -> f64) -> Vec<Piece> {
        let ends = self.ends.iter().copied();
        let pieces = self.shapes().zip(ends).enumerate().map(|(at, ((size, length), end))| Piece {
            start: end - size,
            size,
            pad: self.pad(at),
            cost: cost(size, length),
        });
        let mut pieces = split_costliest(pieces.collect(), count as usize, multiple, cost);
        pieces.sort_unstable_by_key(|piece| piece.start);
        pieces
    }

    fn cut_into(self, pieces: &[Piece], lengths: Vec<u32>) -> Self {
        let ends = pieces.iter().map(|piece| piece.start + piece.size).collect();
        let seconds = pieces.iter().map(|piece| piece.pad.second);
        let seconds = seconds.filter(|&second| second > 0).collect();
        Self { indices: self.indices, ends, lengths, seconds }
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
