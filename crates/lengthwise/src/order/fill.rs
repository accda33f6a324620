//! Elements are computed and put into parts, and parts are shared among threads.

use std::ops::Range;

use crate::base::pool::{Filling, Pool};
use crate::base::rng::CHUNK;
use crate::base::workspace::Workspace;
use crate::base::{simd, threads};
use crate::data::lengths::Lengths;
use crate::order::keys::{Keyed, Keys, Place};
use crate::order::local::Local;
use crate::order::passes::{Parts, Pass, Passes};
use crate::shape::rounding::Rounding;

/// Puts all sequences of a pass into parts, in as many pools as there are threads.
fn fill(
    lengths: &Lengths,
    workspace: &Workspace,
    pass: &Pass,
    parts: &Parts,
    keys: &impl Keys,
) -> Vec<Pool> {
    let threads = workspace.threads_for(lengths.len());
    let ranges = threads::ranges(lengths.len(), threads, CHUNK);
    let pools = workspace.pools(ranges.len());
    let all = || ranges.iter().map(ExactSizeIterator::len).collect();
    let rooms = pass.rooms.clone().unwrap_or_else(all);
    let jobs = ranges.into_iter().zip(pools.into_iter().zip(rooms)).collect();
    threads::each(threads, jobs, |(range, (mut pool, limit)): (Range<usize>, (Pool, usize))| {
        pool.clear(limit, parts.count);
        let first = range.start as u32;
        let lengths = &lengths.as_slice()[range];
        let only = pass.rooms.as_ref().map(|_| pass.parts.start as u32..pass.parts.end as u32);
        simd::run(Keyed { lengths, first, keys, to: Fill { parts, only, pool: pool.filling() } });
        pool.finish();
        pool
    })
}

/// Puts sequences into the parts of a pool.
pub(crate) struct Fill<'a> {
    pub(crate) parts: &'a Parts<'a>,
    /// Where not all parts are filled, those that are.
    pub(crate) only: Option<Range<u32>>,
    pub(crate) pool: Filling<'a>,
}

impl Place for Fill<'_> {
    #[inline(always)]
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
    keys: &impl Keys,
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
