//! Elements are computed and put into parts, and parts are shared among threads.

use std::ops::Range;

use crate::{
    base::{
        pool::{Filling, Pool},
        rng::CHUNK,
        simd,
        simd::Job,
        threads,
        workspace::Workspace,
    },
    data::lengths::Lengths,
    order::{
        keys::{Keys, chunks},
        local::Local,
        parts::Parts,
        passes::{Pass, Passes},
    },
    shape::rounding::Rounding,
};

/// Puts all sequences of a pass into parts, in as many pools as there are threads.
pub(crate) fn fill(
    lengths: &Lengths,
    workspace: &Workspace,
    pass: &Pass,
    parts: &Parts,
    keys: &impl Keys,
) -> Vec<Pool> {
    let threads = workspace.threads_for(lengths.len());
    let ranges = threads::ranges(lengths.len(), threads, CHUNK);
    let pools = workspace.pools(ranges.len());
    let rooms = match &pass.rooms {
        Some(rooms) => rooms.clone(),
        None => ranges.iter().map(ExactSizeIterator::len).collect(),
    };
    let jobs = ranges.into_iter().zip(pools.into_iter().zip(rooms)).collect();
    threads::each(threads, jobs, |(range, (mut pool, limit)): (Range<usize>, (Pool, usize))| {
        pool.clear(limit, parts.count);
        let first = range.start as u32;
        let lengths = &lengths.as_slice()[range];
        let only = pass.rooms.as_ref().map(|_| pass.parts.start as u32..pass.parts.end as u32);
        simd::run(Fill { lengths, first, parts, only, keys, pool: pool.filling() });
        pool.finish();
        pool
    })
}

/// Puts sequences into the parts of a pool.
pub(crate) struct Fill<'a, K> {
    pub(crate) lengths: &'a [u32],
    pub(crate) first: u32,
    pub(crate) parts: &'a Parts<'a>,
    /// Where not all parts are filled, those that are.
    pub(crate) only: Option<Range<u32>>,
    pub(crate) keys: &'a K,
    pub(crate) pool: Filling<'a>,
}

impl<K: Keys> Job for Fill<'_, K> {
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

impl<K: Keys> Fill<'_, K> {
    #[inline(always)]
    pub(crate) fn chunk(&mut self, first: u32, lengths: &[u32; CHUNK], used: usize) {
        let mut keys = [0; CHUNK];
        self.keys.fill(first, lengths, &mut keys);
        if let Some(only) = &self.only {
            let (start, count) = (only.start, only.end - only.start);
            return self.place_some((first, lengths, used), &keys, |part: u32| {
                part.wrapping_sub(start) < count
            });
        }
        let (sequences, rungs) = ((first, lengths, used), self.parts.rungs);
        match self.parts.rounding {
            None if rungs.is_empty() => self.place(sequences, &keys, |_| 0, |_| 0),
            None => self.place(sequences, &keys, |length| rungs[length as usize], |_| 0),
            Some(Rounding::Exact) => self.place(sequences, &keys, |_| 0, |length| length),
            Some(rounding) => self.place(sequences, &keys, |_| 0, |length| rounding.of(length)),
        }
    }

    /// Puts the sequences of a chunk into their parts. `part` and `low` give the first part and the
    /// lowest bits for a length. Nothing is made for all of the chunk first: while many stores are
    /// under way, to read what was just written takes long.
    #[inline(always)]
    pub(crate) fn place(
        &mut self,
        (first, lengths, used): (u32, &[u32; CHUNK], usize),
        keys: &[u32; CHUNK],
        part: impl Fn(u32) -> u32,
        low: impl Fn(u32) -> u32,
    ) {
        let Parts { digit, packing, .. } = *self.parts;
        let mut pool = self.pool.reborrow();
        for at in 0..used.min(CHUNK) {
            let (key, length) = (keys[at], lengths[at]);
            let index = u64::from(first + at as u32) << packing.index;
            let element = u64::from(key) << packing.key | index | u64::from(low(length));
            pool.push(part(length) | key >> (32 - digit), element);
        }
    }

    /// The same for the parts of a pass, which are those that are `wanted`.
    #[inline(always)]
    pub(crate) fn place_some(
        &mut self,
        (first, lengths, used): (u32, &[u32; CHUNK], usize),
        keys: &[u32; CHUNK],
        wanted: impl Fn(u32) -> bool,
    ) {
        let Parts { packing, rounding, .. } = *self.parts;
        let mut pool = self.pool.reborrow();
        for at in 0..used.min(CHUNK) {
            let (key, length) = (keys[at], lengths[at]);
            let part = self.parts.of(length, key);
            if wanted(part) {
                let low = rounding.map_or(0, |rounding| rounding.of(length));
                let index = u64::from(first + at as u32) << packing.index;
                pool.push(part, u64::from(key) << packing.key | index | u64::from(low));
            }
        }
    }
}

/// How many elements each part has in all pools.
pub(crate) fn counts_of(pools: &[Pool], parts: usize) -> Vec<u32> {
    let of = |part: usize| pools.iter().map(|pool| pool.count(part)).sum::<usize>() as u32;
    (0..parts).map(of).collect()
}

/// Ranges of parts with about as many elements each, several for every thread.
pub(crate) struct Jobs {
    pub(crate) ranges: Vec<Range<usize>>,
    pub(crate) sizes: Vec<usize>,
}

impl Jobs {
    pub(crate) fn new(counts: &[u32], parts: Range<usize>, threads: usize) -> Self {
        let all: usize = counts[parts.clone()].iter().map(|&count| count as usize).sum();
        let wanted = if threads > 1 { all.div_ceil(4 * threads) } else { all };
        let mut jobs = Self { ranges: Vec::new(), sizes: Vec::new() };
        let (mut start, mut size) = (parts.start, 0);
        for part in parts.clone() {
            size += counts[part] as usize;
            if size >= wanted || part + 1 == parts.end {
                jobs.ranges.push(start..part + 1);
                jobs.sizes.push(size);
                (start, size) = (part + 1, 0);
            }
        }
        jobs
    }

    /// The places of each job's elements from the front, or nothing for each where there are none.
    #[expect(clippy::mut_mut, reason = "the slice itself changes")]
    pub(crate) fn split<'a>(&self, places: &mut &'a mut [u32]) -> Vec<&'a mut [u32]> {
        let empty = places.is_empty();
        let size = |&size: &usize| if empty { 0 } else { size };
        self.sizes.iter().map(size).map(|size| take(places, size)).collect()
    }
}

/// Takes so many places from the front.
#[expect(clippy::mut_mut, reason = "the slice itself changes")]
pub(crate) fn take<'a>(places: &mut &'a mut [u32], count: usize) -> &'a mut [u32] {
    let (front, rest) = std::mem::take(places).split_at_mut(count);
    *places = rest;
    front
}

/// All sequences sorted part by part, in one pass or in several.
pub(crate) struct Sorting<'a, K> {
    pub(crate) lengths: &'a Lengths,
    pub(crate) workspace: &'a Workspace,
    pub(crate) parts: &'a Parts<'a>,
    pub(crate) keys: &'a K,
}

/// The elements of a part in their order.
pub(crate) struct SortedPart<'a> {
    pub(crate) number: usize,
    pub(crate) elements: &'a [u64],
    /// How many elements each part has.
    pub(crate) counts: &'a [u32],
}

impl<K: Keys> Sorting<'_, K> {
    /// Writes all indices in order to the first list. `visit` sees each part that is not empty, with its
    /// places in the second list if that has any, and can add to what is returned.
    pub(crate) fn run<T: Send>(
        &self,
        passes: Passes,
        [mut indices, mut others]: [&mut [u32]; 2],
        visit: impl Fn(SortedPart, &mut [u32], &mut Vec<T>) + Sync,
    ) -> Vec<T> {
        let Self { lengths, workspace, parts, keys } = *self;
        let Parts { digit, packing, .. } = *parts;
        let threads = workspace.threads_for(lengths.len());
        let (mut counts, mut results) = (passes.counts, Vec::new());
        for pass in passes.list {
            let pools = workspace.stage("keys", || fill(lengths, workspace, &pass, parts, keys));
            let counts = counts.get_or_insert_with(|| counts_of(&pools, parts.count));
            let sort =
                |(range, (mut indices, mut others)): (Range<usize>, (&mut [u32], &mut [u32]))| {
                    let (mut local, mut near, mut results) =
                        (Local::default(), Vec::new(), Vec::new());
                    for number in range.filter(|&part| counts[part] > 0) {
                        let count = counts[number] as usize;
                        let slices = pools.iter().flat_map(|pool| pool.part(number));
                        let elements = local.sort(slices, count, packing.key, 32 - digit);
                        packing.unpack(elements, keys, &mut near, take(&mut indices, count));
                        let some = if others.is_empty() { 0 } else { count };
                        let others = take(&mut others, some);
                        visit(SortedPart { number, elements, counts }, others, &mut results);
                    }
                    results
                };
            let found = workspace.stage("sort", || {
                let jobs = Jobs::new(counts, pass.parts, threads);
                let lists = jobs.split(&mut indices).into_iter().zip(jobs.split(&mut others));
                threads::each(threads, jobs.ranges.into_iter().zip(lists).collect(), sort)
            });
            results.extend(found.into_iter().flatten());
            workspace.keep_pools(pools);
        }
        results
    }
}
