//! More batches of the same sequences: the costliest are split.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::cut::batches::Batches;
use crate::cut::spans::Span;
use crate::error::Error;

/// Halves the costliest batches until there are `count`, or one sequence in each; to a `multiple` if it
/// can. Gives them by where they begin.
pub(crate) fn split_costliest(
    pieces: Vec<Span>,
    count: usize,
    multiple: u32,
    cost: &impl Fn(u32, u32) -> f64,
) -> Vec<Span> {
    // Numbers that are not negative have the order of their bits. The place decides between equals.
    let keyed = |piece: Span| {
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
            heap.push(keyed(Span { start, size, ..piece }));
        }
    }
    single.extend(heap.into_iter().map(|(.., piece)| piece));
    single.sort_unstable_by_key(|piece| piece.start);
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
        let cost = |size: u32, length: u32| match row_length {
            None => f64::from(size) * f64::from(length),
            Some(_) => f64::from(size),
        };
        let pieces = split_costliest(self.spans().collect(), count as usize, multiple, &cost);
        let was_end = |at: u32| at == 0 || self.ends.binary_search(&at).is_ok();
        let lengths = pieces.iter().map(|&Span { start, size, pad }| match row_length {
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
            let expected = format!("at most the number of sequences, {}", self.indices.len());
            return Err(Error::bad_value("the fixed number of batches", &count, expected));
        }
        Ok(self.len() == count as usize)
    }
}
