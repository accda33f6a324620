//! Batches whose sequences are not yet one after another.

use std::ops::Range;

use crate::base::threads;
use crate::base::workspace::Workspace;
use crate::cut::batches::Batches;
use crate::data::pad::Pad;
use crate::limit::capacity::Open;

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

    /// Names every sequence anew.
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
