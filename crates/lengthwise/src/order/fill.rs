//! Elements are computed and put into parts, and parts are shared among threads.
//!
//! Where memory is bounded, this is done in several passes: each computes all keys anew and keeps the elements
//! of some parts only. The parts are counted first, so that it is known what fits.

use std::ops::Range;

use crate::base::pool::{BLOCK, Filling, Pool};
use crate::base::rng::CHUNK;
use crate::base::simd::Job;
use crate::base::workspace::Workspace;
use crate::base::{simd, threads};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::order::keys::{Keyed, Keys, Place};
use crate::order::local::{Local, NEAR, PER_ELEMENT, TABLES, settle};
use crate::shape::rounding::Rounding;

/// Puts all sequences of a pass into parts, in as many pools as there are threads.
fn fill(
    lengths: &Lengths,
    workspace: &Workspace,
    pass: &Pass,
    parts: &Parts,
    keys: &dyn AnyKeys,
) -> Vec<Pool> {
    let threads = workspace.threads_for(lengths.len());
    let ranges = threads::ranges(lengths.len(), threads, CHUNK);
    let pools = workspace.pools(ranges.len());
    let all = || ranges.iter().map(ExactSizeIterator::len).collect();
    let capacities = pass.capacities.clone().unwrap_or_else(all);
    let jobs = ranges.into_iter().zip(pools.into_iter().zip(capacities)).collect();
    threads::each(threads, jobs, |(range, (mut pool, limit)): (Range<usize>, (Pool, usize))| {
        pool.clear(limit, parts.count);
        let first = range.start as u32;
        let lengths = &lengths.as_slice()[range];
        let only = pass.capacities.as_ref().map(|_| pass.parts.start as u32..pass.parts.end as u32);
        keys.fill_parts(first, lengths, Fill { parts, only, pool: pool.filling() });
        pool.finish();
        pool
    })
}

/// Keys of any kind. What follows once they are known is compiled once, and not for every kind.
pub(crate) trait AnyKeys: Keys {
    /// Puts the sequences from `first` on into parts.
    fn fill_parts(&self, first: u32, lengths: &[u32], to: Fill);

    /// Counts the sequences from `first` on.
    fn count_parts(&self, first: u32, lengths: &[u32], to: Count);
}

impl<K: Keys> AnyKeys for K {
    fn fill_parts(&self, first: u32, lengths: &[u32], to: Fill) {
        simd::run(Keyed { lengths, first, keys: self, to });
    }

    fn count_parts(&self, first: u32, lengths: &[u32], to: Count) {
        simd::run(Keyed { lengths, first, keys: self, to });
    }
}

/// Puts sequences into the parts of a pool.
pub(crate) struct Fill<'a> {
    pub(crate) parts: &'a Parts<'a>,
    /// Where not all parts are filled, those that are.
    pub(crate) only: Option<Range<u32>>,
    pub(crate) pool: Filling<'a>,
}

impl Place for Fill<'_> {
    #[inline(never)]
    fn place(&mut self, first: u32, lengths: &[u32; CHUNK], keys: &[u32; CHUNK], used: usize) {
        let Parts { rungs, rounding, .. } = *self.parts;
        let sequences = (first, lengths, keys, used);
        if let Some(only) = &self.only {
            let (start, count) = (only.start, only.end - only.start);
            let rung = |length: u32| if rungs.is_empty() { 0 } else { rungs[length as usize] };
            let low = |length: u32| rounding.map_or(0, |rounding| rounding.of(length));
            return self.put(sequences, rung, low, |part| part.wrapping_sub(start) < count);
        }
        let all = |_| true;
        match rounding {
            None if rungs.is_empty() => self.put(sequences, |_| 0, |_| 0, all),
            None => self.put(sequences, |length| rungs[length as usize], |_| 0, all),
            Some(Rounding::Exact) => self.put(sequences, |_| 0, |length| length, all),
            Some(rounding) => self.put(sequences, |_| 0, |length| rounding.of(length), all),
        }
    }
}

impl Fill<'_> {
    /// Puts the sequences of a chunk into those of their parts that are `wanted`. `part` and `low` give
    /// the first part and the lowest bits for a length. Nothing is made for all of the chunk first:
    /// while many stores are under way, to read what was just written takes long.
    #[inline(always)]
    fn put(
        &mut self,
        (first, lengths, keys, used): (u32, &[u32; CHUNK], &[u32; CHUNK], usize),
        part: impl Fn(u32) -> u32,
        low: impl Fn(u32) -> u32,
        wanted: impl Fn(u32) -> bool,
    ) {
        let Parts { digit, packing, .. } = *self.parts;
        let mut pool = self.pool.reborrow();
        for at in 0..used {
            let (key, length) = (keys[at], lengths[at]);
            let part = part(length) | key >> (32 - digit);
            if wanted(part) {
                let index = u64::from(first + at as u32) << packing.index;
                pool.push(part, u64::from(key) << packing.key | index | u64::from(low(length)));
            }
        }
    }
}

/// How many elements each part has in all pools.
fn counts_of(pools: &[Pool], parts: usize) -> Vec<u32> {
    let of = |part: usize| pools.iter().map(|pool| pool.count(part)).sum::<usize>() as u32;
    (0..parts).map(of).collect()
}

/// Ranges of parts with about as many elements each, several for every thread; and how many those are.
fn jobs(counts: &[u32], parts: Range<usize>, threads: usize) -> Vec<(Range<usize>, usize)> {
    let all: usize = counts[parts.clone()].iter().map(|&count| count as usize).sum();
    let wanted = if threads > 1 { all.div_ceil(4 * threads) } else { all };
    let mut jobs = Vec::new();
    let (mut start, mut size) = (parts.start, 0);
    for part in parts.clone() {
        size += counts[part] as usize;
        if size >= wanted || part + 1 == parts.end {
            jobs.push((start..part + 1, size));
            (start, size) = (part + 1, 0);
        }
    }
    jobs
}

/// Takes so many places from the front, or none where there are fewer.
#[expect(clippy::mut_mut, reason = "the slice itself changes")]
fn take<'a>(places: &mut &'a mut [u32], count: usize) -> &'a mut [u32] {
    places.split_off_mut(..count).unwrap_or_default()
}

/// Sorts all sequences part by part, and writes their indices in order to the first list. `visit` sees the
/// number and the elements of each part that is not empty, how many elements all parts have, and its places
/// in the second list if that has any; it can add to what is returned.
pub(crate) fn sort<T: Send>(
    (lengths, workspace): (&Lengths, &Workspace),
    parts: &Parts,
    keys: &dyn AnyKeys,
    passes: Passes,
    [mut indices, mut others]: [&mut [u32]; 2],
    visit: impl Fn((usize, &[u64]), &[u32], &mut [u32], &mut Vec<T>) + Sync,
) -> Vec<T> {
    let Parts { digit, packing, .. } = *parts;
    let threads = workspace.threads_for(lengths.len());
    let (mut counts, mut results) = (passes.counts, Vec::new());
    for pass in passes.list {
        let pools = workspace.stage("keys", || fill(lengths, workspace, &pass, parts, keys));
        let counts = counts.get_or_insert_with(|| counts_of(&pools, parts.count));
        let sort = |(range, mut indices, mut others): (Range<usize>, &mut [u32], &mut [u32])| {
            let (mut local, mut near, mut results) = (Local::default(), Vec::new(), Vec::new());
            for part in range.filter(|&part| counts[part] > 0) {
                let count = counts[part] as usize;
                let slices = pools.iter().flat_map(|pool| pool.part(part));
                let elements = local.sort(slices, count, packing.key, 32 - digit);
                packing.unpack(elements, keys, &mut near, take(&mut indices, count));
                visit((part, elements), counts, take(&mut others, count), &mut results);
            }
            results
        };
        let found = workspace.stage("sort", || {
            let jobs = jobs(counts, pass.parts, threads).into_iter();
            let jobs = jobs
                .map(|(range, size)| (range, take(&mut indices, size), take(&mut others, size)));
            threads::each(threads, jobs.collect(), sort)
        });
        results.extend(found.into_iter().flatten());
        workspace.keep_pools(pools);
    }
    results
}

/// Parts that are filled and sorted together.
pub(crate) struct Pass {
    pub(crate) parts: Range<usize>,
    /// How many elements each pool must hold, if that is known.
    pub(crate) capacities: Option<Vec<usize>>,
}

/// All passes, and how many elements each part has, if they were counted.
pub(crate) struct Passes {
    pub(crate) list: Vec<Pass>,
    pub(crate) counts: Option<Vec<u32>>,
}

/// What a block of a pool takes, with the spare memory of a pool and its place in two lists.
const OF_BLOCK: u64 = (8 * BLOCK + 8 * BLOCK / 16 + 8) as u64;

impl Passes {
    /// One pass for everything.
    pub(crate) fn one(parts: usize) -> Self {
        Self { list: vec![Pass { parts: 0..parts, capacities: None }], counts: None }
    }
}

/// How many elements each part has in each pool.
pub(crate) struct Counted {
    of_pools: Vec<Vec<u32>>,
    /// In all of them.
    pub(crate) all: Vec<u32>,
}

impl Counted {
    /// Counts what [`fill`] would put where, with as many pools as there are threads.
    pub(crate) fn new(
        lengths: &Lengths,
        threads: usize,
        parts: &Parts,
        keys: &dyn AnyKeys,
    ) -> Self {
        let ranges = threads::ranges(lengths.len(), threads, CHUNK);
        let of_pools = threads::each(threads, ranges, |range: Range<usize>| {
            let mut counts = vec![0; parts.count];
            let first = range.start as u32;
            let lengths = &lengths.as_slice()[range];
            keys.count_parts(first, lengths, Count { parts, counts: &mut counts });
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
        threads * TABLES + largest * PER_ELEMENT + parts * (16 + 16 * threads)
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
        Pass { capacities: Some(self.of_pools.iter().map(limit).collect()), parts }
    }
}

/// Counts the sequences of every part.
pub(crate) struct Count<'a> {
    parts: &'a Parts<'a>,
    counts: &'a mut [u32],
}

impl Place for Count<'_> {
    #[inline(never)]
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
        keys: &dyn AnyKeys,
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
