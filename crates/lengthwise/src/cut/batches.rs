//! Batches one after another in memory.

use crate::data::pad::Pad;

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

    /// The same where a batch may be a row that its sequences share: it counts as its sequences if
    /// all had their mean length, rounded up.
    pub(crate) fn weighed(&self, packed: bool) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.shapes().map(move |shape| weighed(shape, packed))
    }

    /// The sequences of every batch, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        (0..self.len()).map(|batch| self.get(batch))
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

/// What a batch of this size and batch length counts as where it may be a row.
pub(crate) fn weighed((size, length): (u32, u32), packed: bool) -> (u32, u32) {
    (size, if packed { length.div_ceil(size.max(1)) } else { length })
}
