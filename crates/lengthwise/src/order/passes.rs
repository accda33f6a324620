//! Sorting in several passes, where memory is bounded: each pass computes all keys anew and keeps the
//! elements of some parts only. The parts are counted first, so that it is known what fits.

use std::ops::Range;

use crate::base::pool::BLOCK;
use crate::base::rng::CHUNK;
use crate::base::{simd, threads};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::order::keys::{Keyed, Keys, Place};
use crate::order::local;
use crate::order::parts::Parts;

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
    all: Vec<u32>,
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

    /// How many elements each part has.
    pub(crate) fn all(&self) -> &[u32] {
        &self.all
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
