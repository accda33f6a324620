//! A shuffled order, with the lengths beside it, and stretches of it sorted by length.

use crate::base::rng::{Purpose, Rng};
use crate::base::threads;
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::keyed::{Flat, flat_in};
use crate::order::keys::Random;
use crate::order::sort::{by_high_half, pack};
use crate::shape::rounding::Rounding;

/// All sequences in a random order, with their lengths: to look each up would wait for memory.
#[derive(Debug)]
pub(crate) struct Mixed {
    order: Vec<u32>,
    lengths: Vec<u32>,
}

impl Mixed {
    /// In the order that [`shuffled`](crate::order::sort::shuffled) gives.
    pub(crate) fn new(
        lengths: &Lengths,
        limit: &ResolvedBudget,
        rng: &Rng,
        purpose: Purpose,
    ) -> Result<Self, Error> {
        let keys = Random::within(0, |_| 0, rng, purpose);
        let flat = flat_in(lengths, limit.workspace, None, &Rounding::Exact, &keys)?;
        let lookup = || flat.order.iter().map(|&sequence| lengths.of(sequence)).collect();
        let lengths = flat.padded.unwrap_or_else(lookup);
        Ok(Self { order: flat.order, lengths })
    }

    /// What the sequences from a place on are padded to.
    pub(crate) fn padded(
        &self,
        from: usize,
        limit: &ResolvedBudget,
    ) -> impl ExactSizeIterator<Item = Pad> {
        let sequences = self.order[from..].iter().zip(&self.lengths[from..]);
        sequences.map(|(&sequence, &length)| limit.pad(sequence, length))
    }

    /// Sorted by length, down where it `falls`, in every stretch that ends at `ends`; stable.
    pub(crate) fn sorted(
        mut self,
        ends: &[u32],
        falls: impl Fn(usize) -> bool + Sync,
        limit: &ResolvedBudget,
    ) -> Flat {
        let threads = limit.workspace.threads_for(self.order.len());
        let (mut order, mut lengths) = (&mut self.order[..], &mut self.lengths[..]);
        let mut start = 0;
        let jobs = ends.iter().enumerate().map(|(stretch, &end)| {
            let size = (end - std::mem::replace(&mut start, end)) as usize;
            let [order, lengths] = [&mut order, &mut lengths]
                .map(|list| list.split_off_mut(..size).unwrap_or_default());
            (falls(stretch), order, lengths)
        });
        threads::each(threads, jobs.collect(), |(falls, order, lengths)| {
            let key = |length: u32| if falls { !length } else { length };
            let packed = order.iter().zip(&*lengths).map(|(&at, &length)| pack(key(length), at));
            let sorted = by_high_half(packed.collect());
            for ((at, length), packed) in order.iter_mut().zip(lengths).zip(sorted) {
                *at = packed as u32;
                *length = limit.rounding.of(key((packed >> 32) as u32));
            }
        });
        Flat { order: self.order, padded: Some(self.lengths) }
    }
}
