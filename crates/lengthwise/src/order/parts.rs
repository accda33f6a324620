//! The parts that elements go to before they are sorted, and what an element is.

use crate::base::simd;
use crate::base::simd::Job;
use crate::order::keys::Keys;
use crate::order::local::{NEAR, settle};
use crate::shape::rounding::Rounding;

/// Where key and index are in an element, from the lowest bit; below the index is the length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub(crate) key: u32,
    pub(crate) index: u32,
}

impl Packing {
    #[inline(always)]
    pub(crate) fn index_of(self, element: u64) -> u32 {
        ((element & !(u64::MAX << self.key)) >> self.index) as u32
    }

    /// The indices of a part sorted by key; settles the order of equal keys, with `near` for memory.
    pub(crate) fn unpack(
        self,
        sorted: &mut [u64],
        keys: &impl Keys,
        near: &mut Vec<usize>,
        indices: &mut [u32],
    ) {
        near.clear();
        simd::run(Unpack { packing: self, sorted, near, indices });
        let tie = |element: u64| {
            let sequence = self.index_of(element);
            (keys.tie(sequence), sequence)
        };
        settle(sorted, near.iter().copied(), self.key, tie, |at, run| {
            for (place, &element) in indices[at..].iter_mut().zip(run) {
                *place = self.index_of(element);
            }
        });
    }

    pub(crate) fn length_of(self, element: u64) -> u32 {
        (element & !(u64::MAX << self.index)) as u32
    }
}

/// Takes the indices out of sorted elements, and tells near which places two keys are equal.
pub(crate) struct Unpack<'a> {
    pub(crate) packing: Packing,
    pub(crate) sorted: &'a [u64],
    pub(crate) near: &'a mut Vec<usize>,
    pub(crate) indices: &'a mut [u32],
}

impl Job for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { packing, sorted, near, indices } = self;
        for (place, &element) in indices.iter_mut().zip(sorted) {
            *place = packing.index_of(element);
        }
        for start in (0..sorted.len()).step_by(NEAR) {
            let pairs = sorted[start..].iter().zip(&sorted[start + 1..]).take(NEAR);
            let least = pairs.fold(u64::MAX, |least, (a, b)| least.min((a ^ b) >> packing.key));
            if least == 0 {
                near.push(start);
            }
        }
    }
}

/// The parts that elements go to.
pub(crate) struct Parts<'a> {
    /// How many of the highest bits of the key decide on the part.
    pub(crate) digit: u32,
    /// How many parts there are.
    pub(crate) count: usize,
    /// Where the parts of every length begin, if they differ.
    pub(crate) rungs: &'a [u32],
    /// What goes into the lowest bits, if anything does.
    pub(crate) rounding: Option<&'a Rounding>,
    pub(crate) packing: Packing,
}

impl Parts<'_> {
    /// The part of a sequence.
    #[inline(always)]
    pub(crate) fn of(&self, length: u32, key: u32) -> u32 {
        let first = if self.rungs.is_empty() { 0 } else { self.rungs[length as usize] };
        first | key >> (32 - self.digit)
    }
}
