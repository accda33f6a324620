//! Batches: one after another in memory, or where their sequences were sorted to; and more batches of
//! the same sequences, by splitting the costliest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::base::threads;
use crate::base::workspace::Workspace;
use crate::data::lengths::Pad;
use crate::data::units::Units;
use crate::error::Error;
use crate::limit::capacity::Open;

/// Batches one after another: flat, with the place where each ends and what it is padded to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batches {
    pub(crate) indices: Vec<u32>,
    pub(crate) ends: Vec<u32>,
    pub(crate) lengths: Vec<u32>,
    /// What each is padded to in its second lengths; empty where sequences have one length.
    pub(crate) seconds: Vec<u32>,
}

impl Batches {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, batch: usize) -> &[u32] {
        let start = if batch == 0 { 0 } else { self.ends[batch - 1] };
        &self.indices[start as usize..self.ends[batch] as usize]
    }

    /// What a batch is padded to.
    pub(crate) fn pad(&self, batch: usize) -> Pad {
        let second = self.seconds.get(batch).copied().unwrap_or(0);
        Pad { first: self.lengths[batch], second }
    }

    /// Batch size and batch length of every batch, in order; of two batch lengths, both together.
    pub(crate) fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + Clone {
        let shape = |(at, batch): (usize, &[u32])| (batch.len() as u32, self.pad(at).joint());
        self.iter().enumerate().map(shape)
    }

    /// The sequences of every batch and what it is padded to, in order.
    pub(crate) fn padded(&self) -> impl ExactSizeIterator<Item = (&[u32], Pad)> {
        (0..self.len()).map(|batch| (self.get(batch), self.pad(batch)))
    }

    /// The sequences of every batch, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        (0..self.len()).map(|batch| self.get(batch))
    }

    /// The sequences at the place of a batch.
    pub(crate) fn sequences(&self, span: Span) -> &[u32] {
        &self.indices[span.start as usize..(span.start + span.size) as usize]
    }

    /// The same batches of groups, each of which is one number.
    pub(crate) fn collapsed(&self, units: &Units) -> Self {
        let mut batches = Self::default();
        for (batch, pad) in self.padded() {
            batches.push(&units.collapsed(batch), pad);
        }
        batches
    }

    /// The sequences of batches of groups.
    pub(crate) fn expanded(&self, units: &Units) -> Self {
        let mut batches = Self::default();
        for (batch, pad) in self.padded() {
            batches.push(&units.expanded(batch).collect::<Vec<u32>>(), pad);
        }
        batches
    }

    /// Adds a batch.
    pub(crate) fn push(&mut self, sequences: &[u32], pad: Pad) {
        self.indices.extend_from_slice(sequences);
        self.ends.push(self.indices.len() as u32);
        self.lengths.push(pad.first);
        if pad.second > 0 {
            self.seconds.push(pad.second);
        }
    }
}

/// Batches in an order, each anywhere among the indices: no sequence moves when that changes.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "it is the list of its name")]
pub(crate) struct Spans {
    /// The sequences of most batches; some may be in none.
    pub(crate) indices: Vec<u32>,
    /// More of them; places go on from those of the indices.
    pub(crate) tail: Vec<u32>,
    pub(crate) spans: Vec<Span>,
}

/// Where a batch is, and what it is padded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) size: u32,
    pub(crate) pad: Pad,
}

impl Span {
    /// The batch that begins at a place.
    pub(crate) fn new(start: usize, batch: Open) -> Self {
        Self { start: start as u32, size: batch.size, pad: batch.pad() }
    }

    pub(crate) fn cells(self) -> f64 {
        f64::from(self.size) * f64::from(self.pad.joint())
    }
}

impl Spans {
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds a batch.
    pub(crate) fn push(&mut self, sequences: &[u32], pad: Pad) {
        let (start, size) = (self.indices.len() + self.tail.len(), sequences.len() as u32);
        self.spans.push(Span { start: start as u32, size, pad });
        self.tail.extend_from_slice(sequences);
    }

    /// Renumbers every sequence.
    pub(crate) fn rename(&mut self, name: impl Fn(u32) -> u32) {
        for sequence in self.indices.iter_mut().chain(&mut self.tail) {
            *sequence = name(*sequence);
        }
    }

    /// Batch size and batch length of every batch, in order; of two batch lengths, both together.
    pub(crate) fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + Clone {
        self.spans.iter().map(|span| (span.size, span.pad.joint()))
    }

    /// Batch size and what it is padded to, of every batch, in order.
    pub(crate) fn pads(&self) -> impl ExactSizeIterator<Item = (u32, Pad)> + Clone {
        self.spans.iter().map(|span| (span.size, span.pad))
    }

    /// The sequences of every batch and what it is padded to, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u32], Pad)> + Clone {
        self.spans.iter().map(|span| (self.get(*span), span.pad))
    }

    /// How many sequences the batches have.
    pub(crate) fn sequences(&self) -> usize {
        self.spans.iter().map(|span| span.size as usize).sum()
    }

    /// The same for some of the batches.
    pub(crate) fn some(&self, batches: Range<usize>) -> impl Iterator<Item = (&[u32], Pad)> {
        let spans = self.spans.get(batches).unwrap_or_default();
        spans.iter().map(|span| (self.get(*span), span.pad))
    }

    /// The batches that `order` names, in its order.
    pub(crate) fn reordered(self, order: &[u32]) -> Self {
        let spans = order.iter().map(|&batch| self.spans[batch as usize]).collect();
        Self { spans, ..self }
    }

    /// The sequences one batch after another.
    pub(crate) fn gathered(self, workspace: &Workspace) -> Batches {
        let mut end = 0;
        let ends = self.spans.iter().map(|span| {
            end += span.size;
            end
        });
        let ends: Vec<u32> = ends.collect();
        let lengths = self.spans.iter().map(|span| span.pad.first).collect();
        let seconds = self.spans.iter().map(|span| span.pad.second);
        let seconds = seconds.filter(|&second| second > 0).collect();
        if self.is_gathered(end) {
            return Batches { indices: self.indices, ends, lengths, seconds };
        }
        let mut indices = workspace.indices(end as usize);
        let threads = workspace.threads_for(indices.len());
        let ranges = threads::ranges(self.len(), if threads > 1 { 4 * threads } else { 1 }, 1);
        let mut rest = &mut indices[..];
        let jobs = ranges.into_iter().map(|range| {
            let size: u32 = self.spans[range.clone()].iter().map(|span| span.size).sum();
            (range, rest.split_off_mut(..size as usize).unwrap_or_default())
        });
        threads::each(
            threads,
            jobs.collect(),
            |(range, mut places): (Range<usize>, &mut [u32])| {
                for span in &self.spans[range] {
                    let (front, after) = places.split_at_mut(span.size as usize);
                    front.copy_from_slice(self.get(*span));
                    places = after;
                }
            },
        );
        workspace.keep_indices(self.indices);
        Batches { indices, ends, lengths, seconds }
    }

    /// Whether the indices are what gathering them would give.
    pub(crate) fn is_gathered(&self, end: u32) -> bool {
        let mut next = 0;
        let follows = |span: &Span| {
            let start = next;
            next += span.size;
            span.start == start
        };
        self.tail.is_empty() && end as usize == self.indices.len() && self.spans.iter().all(follows)
    }

    fn get(&self, span: Span) -> &[u32] {
        let (start, size) = (span.start as usize, span.size as usize);
        match start.checked_sub(self.indices.len()) {
            None => &self.indices[start..start + size],
            Some(start) => &self.tail[start..start + size],
        }
    }
}

impl Batches {
    /// Where every batch is, in order.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let sizes = self.iter().map(|batch| batch.len() as u32);
        let spans = self.ends.iter().zip(sizes).enumerate();
        spans.map(|(at, (&end, size))| Span { start: end - size, size, pad: self.pad(at) })
    }
}

impl From<Batches> for Spans {
    fn from(batches: Batches) -> Self {
        let spans = batches.spans().collect();
        Self { spans, indices: batches.indices, tail: Vec::new() }
    }
}

/// Halves the costliest batches until there are `count`, or one sequence in each; to a `multiple` if it
/// can. Gives them by where they begin.
pub(crate) fn split_costliest(
    pieces: Vec<Span>,
    count: usize,
    multiple: u32,
    cost: &impl Fn(Span) -> f64,
) -> Vec<Span> {
    // Numbers that are not negative have the order of their bits. The place decides between equals.
    let keyed = |piece: Span| (cost(piece).to_bits(), Reverse(piece.start), piece);
    let mut heap: BinaryHeap<_> = pieces.into_iter().map(keyed).collect();
    let mut single = Vec::new();
    while heap.len() + single.len() < count {
        let Some((.., piece)) = heap.pop() else { break };
        if piece.size == 1 {
            single.push(piece);
            continue;
        }
        heap.extend(halves(piece, multiple).map(keyed));
    }
    single.extend(heap.into_iter().map(|(.., piece)| piece));
    single.sort_unstable_by_key(|piece| piece.start);
    single
}

/// Both halves of a batch; the first has a `multiple` of sequences if it can.
pub(crate) fn halves(piece: Span, multiple: u32) -> [Span; 2] {
    let half = match piece.size / 2 {
        half if half < multiple => half,
        half => half - half % multiple,
    };
    [(piece.start, half), (piece.start + half, piece.size - half)].map(|(start, size)| Span {
        start,
        size,
        ..piece
    })
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
        let sequences = self.indices.len();
        match self.len() {
            batches if batches > count as usize => {
                return Err(Error::TooManyBatches { batches, fixed: count });
            }
            _ if sequences < count as usize => {
                let expected = format!("at most the number of sequences, {sequences}");
                return Err(Error::bad_value("the fixed number of batches", &count, expected));
            }
            batches if batches == count as usize => return Ok(self),
            _ => {}
        }
        let cost = |span: Span| match row_length {
            None => span.cells(),
            Some(_) => f64::from(span.size),
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
}
