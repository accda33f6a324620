//! More batches of the same sequences: the costliest are split.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::cut::batches::Batches;
use crate::data::pad::Pad;
use crate::error::Error;

/// A stretch of sequences that is a batch, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    pub(crate) size: u32,
    pub(crate) pad: Pad,
}

/// Halves the costliest pieces until there are `count`, or one sequence in each; to a `multiple` if it can.
pub(crate) fn split_costliest(
    pieces: Vec<Piece>,
    count: usize,
    multiple: u32,
    cost: &impl Fn(u32, u32) -> f64,
) -> Vec<Piece> {
    // Numbers that are not negative have the order of their bits. The place decides between equals.
    let keyed = |piece: Piece| {
        let cost = cost(piece.size, piece.pad.joint());
        (cost.to_bits(), Reverse(piece.start), piece)
    };
    let mut heap: BinaryHeap<_> = pieces.into_iter().map(keyed).collect();
    let mut single = Vec::new();
    while heap.len() + single.len() < count {
        let Some((.., piece)) = heap.pop() else { break };
        if piece.size == 1 {
            single.push(piece);
            continue;
        }
        let half = match piece.size / 2 {
            half if half < multiple => half,
            half => half - half % multiple,
        };
        for (start, size) in [(piece.start, half), (piece.start + half, piece.size - half)] {
            heap.push(keyed(Piece { start, size, ..piece }));
        }
    }
    single.extend(heap.into_iter().map(|(.., piece)| piece));
    single
}

/// The length of a row of given sequences.
type RowLength<'a> = &'a dyn Fn(&[u32]) -> u32;

impl Batches {
    /// The same sequences in `count` batches, by halving those of most cells, or rows of most sequences.
    pub(crate) fn split_to(
        self,
        count: u32,
        multiple: u32,
        row_length: Option<RowLength>,
    ) -> Result<Self, Error> {
        if self.can_be(count)? {
            return Ok(self);
        }
        let pieces = self.iter().zip(&self.ends).enumerate().map(|(at, (batch, &end))| {
            let size = batch.len() as u32;
            Piece { start: end - size, size, pad: self.pad(at) }
        });
        let cost = |size: u32, length: u32| match row_length {
            None => f64::from(size) * f64::from(length),
            Some(_) => f64::from(size),
        };
        let mut pieces = split_costliest(pieces.collect(), count as usize, multiple, &cost);
        pieces.sort_unstable_by_key(|piece| piece.start);
        let was_end = |at: u32| at == 0 || self.ends.binary_search(&at).is_ok();
        let lengths = pieces.iter().map(|&Piece { start, size, pad }| match row_length {
            Some(length) if !(was_end(start) && was_end(start + size)) => {
                length(&self.indices[start as usize..(start + size) as usize])
            }
            _ => pad.first,
        });
        let lengths = lengths.collect();
        let ends = pieces.iter().map(|piece| piece.start + piece.size).collect();
        let seconds = pieces.iter().map(|piece| piece.pad.second).filter(|&second| second > 0);
        Ok(Self { indices: self.indices, ends, lengths, seconds: seconds.collect() })
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
}
