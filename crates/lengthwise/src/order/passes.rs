//! Sorting in several passes, where memory is bounded: each pass computes all keys anew and keeps the
//! elements of some parts only. The parts are counted first, so that it is known what fits.

use std::ops::Range;

use crate::{
    base::{pool::BLOCK, rng::CHUNK, simd, simd::Job, threads},
    data::lengths::Lengths,
    error::Error,
    order::{
        keys::{Keys, chunks},
        local,
        parts::Parts,
    },
};

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

/// What the memory of a pass is shared by.
pub(crate) struct Share {
    /// Bytes for the elements, for sorting them, and for what was counted.
    pub(crate) bytes: u64,
    /// Bytes of the same bound that are spoken for: the order itself.
    pub(crate) held: u64,
}

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
            simd::run(Count { lengths, first, parts, keys, counts: &mut counts });
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

    /// As few passes as the share allows.
    pub(crate) fn passes(self, threads: usize, share: &Share) -> Result<Passes, Error> {
        let least = self.least(threads, u64::MAX);
        if share.bytes < least {
            let count: u64 = self.all.iter().copied().map(u64::from).sum();
            return Err(Error::OverMemory {
                what: format!("sorting {count} sequences"),
                needed: share.held + least,
                bound: share.held + share.bytes,
            });
        }
        let most = (share.bytes - self.beside(threads)) / OF_BLOCK;
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
struct Count<'a, K> {
    lengths: &'a [u32],
    first: u32,
    parts: &'a Parts<'a>,
    keys: &'a K,
    counts: &'a mut [u32],
}

impl<K: Keys> Job for Count<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (whole, rest) = self.lengths.as_chunks::<CHUNK>();
        let mut first = self.first;
        for lengths in whole {
            self.chunk(first, lengths, CHUNK);
            first += CHUNK as u32;
        }
        for (first, lengths, used) in chunks(rest, first) {
            self.chunk(first, &lengths, used);
        }
    }
}

impl<K: Keys> Count<'_, K> {
    #[inline(always)]
    fn chunk(&mut self, first: u32, lengths: &[u32; CHUNK], used: usize) {
        let mut keys = [0; CHUNK];
        self.keys.fill(first, lengths, &mut keys);
        for at in 0..used.min(CHUNK) {
            self.counts[self.parts.of(lengths[at], keys[at]) as usize] += 1;
        }
    }
}
