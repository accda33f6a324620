//! The parts that elements go to before they are sorted, and what an element is.
//!
//! Where memory is bounded, sorting is in several passes: each computes all keys anew and keeps the elements
//! of some parts only. The parts are counted first, so that it is known what fits.

use std::ops::Range;

use crate::base::pool::BLOCK;
use crate::base::rng::CHUNK;
use crate::base::simd::Job;
use crate::base::{simd, threads};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::order::keys::{Keyed, Keys, Place};
use crate::order::local;
use crate::order::local::{NEAR, settle};
use crate::shape::rounding::Rounding;

/// Parts that are filled and sorted together.
pub(crate) struct Pass {
    pub(crate) parts: Range<usize>,
    /// How many elements each pool must have room for, if that is known.
    pub(crate) rooms: Option<Vec<usize>>,
}

/// All passes, and how many elements each part has, if they were counted.
pub(crate) struct Passes {
    pub(crate) list: Vec<Pass>,
    pub(crate) counts: Option<Vec<u32>>,
}

/// What a block of a pool takes, with the room that a pool has to spare and its place in two lists.
const OF_BLOCK: u64 = (8 * BLOCK + 8 * BLOCK / 16 + 8) as u64;

impl Passes {
    /// One pass for everything.
    pub(crate) fn one(parts: usize) -> Self {
        Self { list: vec![Pass { parts: 0..parts, rooms: None }], counts: None }
    }
}

/// How many elements each part has in each pool.
pub(crate) struct Counted {
    of_pools: Vec<Vec<u32>>,
    /// In all of them.
    pub(crate) all: Vec<u32>,
}

impl Counted {
    /// Counts what [`fill`](super::keyed) would put where, with as many pools as there are threads.
    pub(crate) fn new(lengths: &Lengths, threads: usize, parts: &Parts, keys: &impl Keys) -> Self {
        let ranges = threads::ranges(lengths.len(), threads, CHUNK);
        let of_pools = threads::each(threads, ranges, |range: Range<usize>| {
            let mut counts = vec![0; parts.count];
            let first = range.start as u32;
            let lengths = &lengths.as_slice()[range];
            simd::run(Keyed { lengths, first, keys, to: Count { parts, counts: &mut counts } });
            counts
        });
        let mut all = vec![0; parts.count];
        for counts in &of_pools {
            for (all, count) in all.iter_mut().zip(counts) {
                *all += count;
            }
        }
        Self { of_pools, all }
    }

    fn blocks(&self, part: usize) -> u64 {
        self.of_pools.iter().map(|counts| u64::from(counts[part].div_ceil(BLOCK as u32))).sum()
    }

    /// What passes take beside the elements: the memory to sort in, and the lists of parts.
    fn beside(&self, threads: usize) -> u64 {
        // Each thread sorts one part at a time.
        let mut largest = self.all.clone();
        largest.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let largest: u64 = largest.iter().take(threads).copied().map(u64::from).sum();
        let (threads, parts) = (threads as u64, self.all.len() as u64);
        threads * local::TABLES + largest * local::PER_ELEMENT + parts * (16 + 16 * threads)
    }

    /// What the elements of all parts take in one pass, and those of the largest part.
    fn elements(&self) -> (u64, u64) {
        let blocks = (0..self.all.len()).map(|part| self.blocks(part));
        (OF_BLOCK * blocks.clone().sum::<u64>(), OF_BLOCK * blocks.max().unwrap_or(0))
    }

    /// The least that sorting takes, and what it takes if `passes` are not too many.
    pub(crate) fn least(&self, threads: usize, passes: u64) -> u64 {
        let (all, largest) = self.elements();
        self.beside(threads) + largest.max(all / passes)
    }

    /// As few passes as a bound allows, of which `held` bytes are spoken for: those of the order itself.
    pub(crate) fn passes(self, threads: usize, held: u64, bound: u64) -> Result<Passes, Error> {
        let count: u64 = self.all.iter().copied().map(u64::from).sum();
        let bytes = Error::check_memory(held, bound, || format!("{count} sequences"))?;
        let least = held + self.least(threads, u64::MAX);
        Error::check_memory(least, bound, || format!("sorting {count} sequences"))?;
        let most = (bytes - self.beside(threads)) / OF_BLOCK;
        let mut list = Vec::new();
        let (mut start, mut blocks) = (0, 0);
        for part in 0..self.all.len() {
            if blocks + self.blocks(part) > most {
                list.push(self.pass(start..part));
                (start, blocks) = (part, 0);
            }
            blocks += self.blocks(part);
        }
        list.push(self.pass(start..self.all.len()));
        Ok(Passes { list, counts: Some(self.all) })
    }

    fn pass(&self, parts: Range<usize>) -> Pass {
        let limit = |counts: &Vec<u32>| {
            let blocks = counts[parts.clone()].iter().map(|count| count.div_ceil(BLOCK as u32));
            blocks.map(|blocks| blocks as usize * BLOCK).sum()
        };
        Pass { rooms: Some(self.of_pools.iter().map(limit).collect()), parts }
    }
}

/// Counts the sequences of every part.
struct Count<'a> {
    parts: &'a Parts<'a>,
    counts: &'a mut [u32],
}

impl Place for Count<'_> {
    #[inline(always)]
    fn place(&mut self, _: u32, lengths: &[u32; CHUNK], keys: &[u32; CHUNK], used: usize) {
        for at in 0..used {
            self.counts[self.parts.of(lengths[at], keys[at]) as usize] += 1;
        }
    }
}

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
