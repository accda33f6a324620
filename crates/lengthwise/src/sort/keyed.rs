//! All sequences by a key that is computed for each of them: the fast path of most strategies.
//!
//! Keys are computed for a chunk of sequences at a time and never stored: each sequence goes at once
//! to one of many parts, by its key and, if batches are on a ladder, by its rung. Every part then fits
//! in a cache, where it is sorted. Elements are 64 bits: the key, then the index, then, where there is
//! room, what the sequence is padded to, so that cutting need not look it up.
//!
//! Equal keys come in the order of a random word, and equal words by index: the order that sorting a
//! shuffled order stably would give. Words are computed for equal keys only.

use std::ops::{Range, RangeInclusive};

use super::{
    local::{Local, NEAR, settle},
    passes::{Counted, Pass, Passes, Share},
    pool::{Filling, Pool},
};
use crate::{
    Error, Lengths, Purpose, Rng, Room, Workspace,
    lanes::{self, Job},
    lengths::is_small_table,
    rng::CHUNK,
    shapes::Rounding,
    threads,
};

/// What sequences are sorted by.
pub(crate) trait Keys: Sync {
    /// The keys of the sequences from `first` on, which have these lengths. It must be
    /// `#[inline(always)]`, so that it is compiled for every kind of processor.
    fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]);

    /// The order of sequences whose keys are equal; the index decides between equals.
    fn tie(&self, sequence: u32) -> u32;
}

/// Places of lengths, and a random order among those of one place.
pub(crate) struct Random<'a, F> {
    rng: &'a Rng,
    purpose: Purpose,
    place: F,
    /// How many bits places take.
    bits: u32,
}

impl<'a, F: Fn(u32) -> u32 + Sync> Random<'a, F> {
    /// By the place of each length, which is at most `most`.
    pub(crate) fn within(most: u32, place: F, rng: &'a Rng, purpose: Purpose) -> Self {
        Self { rng, purpose, place, bits: u32::BITS - most.leading_zeros() }
    }
}

impl<F: Fn(u32) -> u32 + Sync> Keys for Random<'_, F> {
    #[inline(always)]
    fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]) {
        let mut words = [0; CHUNK];
        self.rng.fill(self.purpose, first, &mut words);
        for ((key, word), &length) in keys.iter_mut().zip(words).zip(lengths) {
            // As much of the word as there is room for below the place.
            let both = u64::from((self.place)(length)) << 32 | u64::from(word);
            *key = (both >> self.bits) as u32;
        }
    }

    fn tie(&self, sequence: u32) -> u32 {
        self.rng.word(self.purpose, sequence)
    }
}

/// All sequences in an order.
#[derive(Clone, Debug)]
pub(crate) struct Flat {
    pub(crate) order: Vec<u32>,
    /// What each one is padded to, in the same order, where that came for free.
    pub(crate) padded: Option<Vec<u32>>,
}

/// All sequences of each rung in an order, rung after rung, and the full batches that they make.
#[derive(Clone, Debug)]
pub(crate) struct Dealt {
    pub(crate) indices: Vec<u32>,
    /// Where the sequences of each rung end.
    pub(crate) ends: Vec<u32>,
    /// The full batches, each with the number of its rung and its own number there, in the order in
    /// which their last sequences come.
    pub(crate) full: Vec<(u32, u32)>,
}

/// Fewer sequences than this are sorted at once.
const LEAST: usize = 1500;

/// So many elements, and all blocks that are not full, can be counted in 32 bits.
const MOST: usize = 1 << 31;

/// How many elements a part has, about: as many as suit the caches.
const PART: usize = 4096;

/// How many of the highest bits of the key decide on the part: at least, so that the others are two
/// digits, and at most, so that the places to write to fit in the second cache.
const BITS: RangeInclusive<u32> = 8..=13;

/// The most parts, those of all rungs together; most are empty.
const MOST_PARTS: usize = 1 << 18;

/// Fewer sequences than this are in parts of a few hundred.
const FEW: usize = 1 << 19;

/// How many of the highest bits of the key decide on the part, for each of so many rungs.
fn bits_for(count: usize, rungs: usize) -> u32 {
    if count < FEW {
        return (count / (512 * rungs)).max(2).ilog2();
    }
    (count / PART).max(1).ilog2().clamp(*BITS.start(), *BITS.end())
}

/// Whether there is a fast path for so many sequences.
fn is_fast(count: usize) -> bool {
    (LEAST..MOST).contains(&count)
}

/// All sequences by their keys.
pub(crate) fn flat(lengths: &Lengths, room: &Room, keys: &impl Keys) -> Result<Flat, Error> {
    let workspace = room.workspace();
    flat_in(lengths, &workspace, room.memory(), room.rounding(), keys)
}

/// Up to so many passes are better than to look the lengths of sequences up in their order.
const FEW_PASSES: u64 = 16;

pub(super) fn flat_in(
    lengths: &Lengths,
    workspace: &Workspace,
    memory: Option<u64>,
    rounding: Option<&Rounding>,
    keys: &impl Keys,
) -> Result<Flat, Error> {
    let count = lengths.len();
    // Dealing the order to rungs makes a second list of it, and does not ask what sequences are
    // padded to.
    let dealt = matches!(rounding, Some(Rounding::Rungs(_)));
    let mut held = 4 * count as u64 * if dealt { 2 } else { 1 };
    if !is_fast(count) {
        if let Some(bound) = memory {
            let (what, needed) = (format!("sorting {count} sequences"), held + 32 * count as u64);
            Error::check_memory(needed, bound, || what)?;
        }
        return Ok(Flat { order: plain(lengths, keys), padded: None });
    }
    let digit = bits_for(count, 1);
    // The part says what the highest bits of the key are; so many others are free for the length.
    let free = 32 + digit - (usize::BITS - (count - 1).leading_zeros());
    let rounding =
        rounding.filter(|rounding| u32::BITS - rounding.of(lengths.max()).leading_zeros() <= free);
    let packing = Packing {
        key: 32 + digit,
        index: rounding
            .map_or(0, |rounding| u32::BITS - rounding.of(lengths.max()).leading_zeros()),
    };
    let mut parts = Parts { digit, count: 1 << digit, rungs: &[], rounding, packing };
    let threads = workspace.threads_for(count);
    let passes = match memory {
        None => Passes::one(parts.count),
        Some(bound) => {
            let counted = workspace.stage("count", || Counted::new(lengths, threads, &parts, keys));
            let both = held + 4 * count as u64;
            if both + counted.least(threads, FEW_PASSES) > bound || dealt {
                parts.rounding = None;
            } else if rounding.is_some() {
                held = both;
            }
            let bytes = Error::check_memory(held, bound, || format!("{count} sequences"))?;
            counted.passes(threads, &Share { bytes, held })?
        }
    };
    let rounding = parts.rounding;
    let mut order = vec![0; count];
    let mut padded = vec![0; if rounding.is_some() { count } else { 0 }];
    let (mut orders, mut lists) = (&mut order[..], &mut padded[..]);
    let mut counts = passes.counts;
    for pass in passes.list {
        let pools = workspace.stage("keys", || fill(lengths, workspace, &pass, &parts, keys));
        let counts = counts.get_or_insert_with(|| counts_of(&pools, parts.count));
        workspace.stage("sort", || {
            let jobs = Jobs::new(counts, pass.parts, threads);
            let (orders, lengths) = (jobs.split(&mut orders), jobs.split(&mut lists));
            let jobs = jobs.ranges.into_iter().zip(orders.into_iter().zip(lengths)).collect();
            threads::each(threads, jobs, |(range, (mut order, mut padded))| {
                let (mut local, mut near) = (Local::default(), Vec::new());
                for part in range {
                    let count = counts[part] as usize;
                    let slices = pools.iter().flat_map(|pool| pool.part(part));
                    let sorted = local.sort(slices, count, packing.key, 32 - digit);
                    packing.unpack(sorted, keys, &mut near, take(&mut order, count));
                    if rounding.is_some() {
                        for (place, &element) in take(&mut padded, count).iter_mut().zip(&*sorted) {
                            *place = packing.length_of(element);
                        }
                    }
                }
            });
        });
        workspace.keep_pools(pools);
    }
    let padded = rounding.map(|_| padded);
    Ok(Flat { order, padded })
}

/// The sequences of every rung by their keys, and the full batches; `None` where there is no fast
/// path.
pub(crate) fn dealt(
    lengths: &Lengths,
    room: &Room,
    keys: &impl Keys,
) -> Result<Option<Dealt>, Error> {
    let Some(Rounding::Rungs(rungs)) = room.rounding() else { return Ok(None) };
    let count = lengths.len();
    let edges = rungs.edges();
    let digit = bits_for(count, edges.len());
    if !is_fast(count) || edges.len() << digit > MOST_PARTS {
        return Ok(None);
    }
    // Where the parts of the rung of every length begin, if a table of it is small.
    let first_parts: Vec<u32> = if is_small_table(lengths.max(), count / 4) {
        (0..=lengths.max()).map(|length| rungs.of(length) << digit).collect()
    } else {
        return Ok(None);
    };
    let packing = Packing { key: 32, index: 0 };
    let parts =
        Parts { digit, count: edges.len() << digit, rungs: &first_parts, rounding: None, packing };
    let workspace = &*room.workspace();
    let threads = workspace.threads_for(count);
    let sizes: Vec<u32> = edges.iter().map(|&rung| room.full(rung)).collect();
    let passes = match room.memory() {
        None => Passes::one(parts.count),
        Some(bound) => {
            let counted = workspace.stage("count", || Counted::new(lengths, threads, &parts, keys));
            let of_rungs = counted.all().chunks(1 << digit).map(|parts| parts.iter().sum::<u32>());
            let full = of_rungs.zip(&sizes).map(|(count, size)| u64::from(count / size));
            let held = 4 * count as u64 + OF_FULL * full.sum::<u64>();
            let bytes = Error::check_memory(held, bound, || format!("{count} sequences"))?;
            counted.passes(threads, &Share { bytes, held })?
        }
    };
    let mut indices = workspace.indices(count);
    let (mut ends, mut places) = (Vec::with_capacity(edges.len()), Vec::new());
    let mut full = Vec::new();
    let mut output = &mut indices[..];
    let mut counts = passes.counts;
    for pass in passes.list {
        let pools = workspace.stage("keys", || fill(lengths, workspace, &pass, &parts, keys));
        let counts = counts.get_or_insert_with(|| counts_of(&pools, parts.count));
        workspace.stage("sort", || {
            if ends.is_empty() {
                // Where every part begins among those of its rung.
                let mut end = 0;
                for parts in counts.chunks(1 << digit) {
                    let start = end;
                    for count in parts {
                        places.push(end - start);
                        end += count;
                    }
                    ends.push(end);
                }
            }
            let jobs = Jobs::new(counts, pass.parts, threads);
            let outputs = jobs.split(&mut output);
            let jobs = jobs.ranges.into_iter().zip(outputs).collect();
            let found = threads::each(threads, jobs, |(range, mut output)| {
                let (mut local, mut near, mut full) = (Local::default(), Vec::new(), Vec::new());
                for part in range {
                    let count = counts[part] as usize;
                    if count == 0 {
                        continue;
                    }
                    let slices = pools.iter().flat_map(|pool| pool.part(part));
                    let sorted = local.sort(slices, count, 32, 32 - digit);
                    packing.unpack(sorted, keys, &mut near, take(&mut output, count));
                    let rung = part >> digit;
                    let (size, start) = (sizes[rung], places[part]);
                    for batch in start / size..(start + count as u32) / size {
                        let last = (batch + 1) * size - 1 - start;
                        full.push((sorted[last as usize], rung as u32, batch));
                    }
                }
                full
            });
            full.extend(found.into_iter().flatten());
        });
        workspace.keep_pools(pools);
    }
    let full = workspace.stage("batches", || {
        full.sort_unstable();
        // Sequences of two rungs may have equal keys.
        for run in full.chunk_by_mut(|a, b| a.0 >> 32 == b.0 >> 32) {
            if run.len() > 1 {
                run.sort_unstable_by_key(|&(element, ..)| {
                    (keys.tie(element as u32), element as u32)
                });
            }
        }
        full.into_iter().map(|(_, rung, batch)| (rung, batch)).collect()
    });
    Ok(Some(Dealt { indices, ends, full }))
}

/// What a full batch takes while all of them are listed and sorted.
const OF_FULL: u64 = 48;

/// The same order without parts or vectors: for few sequences, and what the fast path must equal.
pub(crate) fn plain(lengths: &Lengths, keys: &impl Keys) -> Vec<u32> {
    let mut elements = Vec::with_capacity(lengths.len());
    for (first, lengths, used) in chunks(lengths.as_slice(), 0) {
        let mut of_chunk = [0; CHUNK];
        keys.fill(first, &lengths, &mut of_chunk);
        let packed = of_chunk[..used].iter().zip(first..);
        elements.extend(packed.map(|(&key, index)| super::pack(key, index)));
    }
    elements.sort_unstable();
    let all = (0..elements.len()).step_by(NEAR);
    let tie = |element: u64| (keys.tie(element as u32), element as u32);
    settle(&mut elements, all, 32, tie, |_, _| {});
    super::unpack(&elements)
}

/// The lengths in chunks, each with its first index and how many of it there are; the rest of the
/// last chunk is filled up.
pub(super) fn chunks(
    lengths: &[u32],
    first: u32,
) -> impl Iterator<Item = (u32, [u32; CHUNK], usize)> {
    (first..).step_by(CHUNK).zip(lengths.chunks(CHUNK)).map(|(first, lengths)| {
        let mut chunk = [lengths[0]; CHUNK];
        chunk[..lengths.len()].copy_from_slice(lengths);
        (first, chunk, lengths.len())
    })
}

/// Where key and index are in an element, from the lowest bit; below the index is the length.
#[derive(Clone, Copy, Debug)]
struct Packing {
    key: u32,
    index: u32,
}

impl Packing {
    #[inline(always)]
    fn index_of(self, element: u64) -> u32 {
        ((element & !(u64::MAX << self.key)) >> self.index) as u32
    }

    /// The indices of a part that is sorted by key; settles the order of equal keys, with `near` for
    /// memory.
    fn unpack(
        self,
        sorted: &mut [u64],
        keys: &impl Keys,
        near: &mut Vec<usize>,
        indices: &mut [u32],
    ) {
        near.clear();
        lanes::run(Unpack { packing: self, sorted, near, indices });
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

    fn length_of(self, element: u64) -> u32 {
        (element & !(u64::MAX << self.index)) as u32
    }
}

/// Takes the indices out of sorted elements, and tells near which places two keys are equal.
struct Unpack<'a> {
    packing: Packing,
    sorted: &'a [u64],
    near: &'a mut Vec<usize>,
    indices: &'a mut [u32],
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
pub(super) struct Parts<'a> {
    /// How many of the highest bits of the key decide on the part.
    digit: u32,
    /// How many parts there are.
    pub(super) count: usize,
    /// Where the parts of every length begin, if they differ.
    rungs: &'a [u32],
    /// What goes into the lowest bits, if anything does.
    rounding: Option<&'a Rounding>,
    packing: Packing,
}

impl Parts<'_> {
    /// The part of a sequence.
    #[inline(always)]
    pub(super) fn of(&self, length: u32, key: u32) -> u32 {
        let first = if self.rungs.is_empty() { 0 } else { self.rungs[length as usize] };
        first | key >> (32 - self.digit)
    }
}

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
    let rooms = match &pass.rooms {
        Some(rooms) => rooms.clone(),
        None => ranges.iter().map(ExactSizeIterator::len).collect(),
    };
    let jobs = ranges.into_iter().zip(pools.into_iter().zip(rooms)).collect();
    threads::each(threads, jobs, |(range, (mut pool, room)): (Range<usize>, (Pool, usize))| {
        pool.clear(room, parts.count);
        let first = range.start as u32;
        let lengths = &lengths.as_slice()[range];
        let only = pass.rooms.as_ref().map(|_| pass.parts.start as u32..pass.parts.end as u32);
        lanes::run(Fill { lengths, first, parts, only, keys, pool: pool.filling() });
        pool.finish();
        pool
    })
}

/// Puts sequences into the parts of a pool.
struct Fill<'a, K> {
    lengths: &'a [u32],
    first: u32,
    parts: &'a Parts<'a>,
    /// Where not all parts are filled, those that are.
    only: Option<Range<u32>>,
    keys: &'a K,
    pool: Filling<'a>,
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
    fn chunk(&mut self, first: u32, lengths: &[u32; CHUNK], used: usize) {
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
    fn place(
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
    fn place_some(
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
fn counts_of(pools: &[Pool], parts: usize) -> Vec<u32> {
    let of = |part: usize| pools.iter().map(|pool| pool.count(part)).sum::<usize>() as u32;
    (0..parts).map(of).collect()
}

/// Ranges of parts with about as many elements each, several for every thread.
struct Jobs {
    ranges: Vec<Range<usize>>,
    sizes: Vec<usize>,
}

impl Jobs {
    fn new(counts: &[u32], parts: Range<usize>, threads: usize) -> Self {
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
    fn split<'a>(&self, places: &mut &'a mut [u32]) -> Vec<&'a mut [u32]> {
        let empty = places.is_empty();
        let size = |&size: &usize| if empty { 0 } else { size };
        self.sizes.iter().map(size).map(|size| take(places, size)).collect()
    }
}

/// Takes so many places from the front.
#[expect(clippy::mut_mut, reason = "the slice itself changes")]
fn take<'a>(places: &mut &'a mut [u32], count: usize) -> &'a mut [u32] {
    let (front, rest) = std::mem::take(places).split_at_mut(count);
    *places = rest;
    front
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Budget,
        cut::{self, Loose},
        groups::Groups,
        ladder::{Staircase, ladder},
    };

    /// Keys of few values, so that nearly all are equal to others, far apart.
    struct Coarse<'a>(&'a Rng);

    impl Keys for Coarse<'_> {
        #[inline(always)]
        fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]) {
            self.0.fill(Purpose::Noise, first, keys);
            for (key, &length) in keys.iter_mut().zip(lengths) {
                *key = (*key >> 30) * 0x3fff_ffff + length / 128;
            }
        }

        fn tie(&self, sequence: u32) -> u32 {
            self.0.word(Purpose::Shuffle, sequence) >> 24
        }
    }

    fn lengths(count: u32, most: u32) -> Lengths {
        let words = Rng::new(9, u64::from(count)).words(Purpose::Own(0), count);
        Lengths::new(words.map(|word| 1 + word % most).collect::<Vec<_>>()).unwrap()
    }

    /// The order as it is defined, in parts and at once, and the batches on a ladder, dealt one by one
    /// and in parts, on any number of threads.
    fn check(lengths: &Lengths, keys: &impl Keys) {
        let mut elements: Vec<(u32, u32, u32)> = Vec::new();
        for (first, lengths, used) in chunks(lengths.as_slice(), 0) {
            let mut of_chunk = [0; CHUNK];
            keys.fill(first, &lengths, &mut of_chunk);
            let keyed = (first..).zip(&of_chunk[..used]);
            elements.extend(keyed.map(|(index, &key)| (key, keys.tie(index), index)));
        }
        elements.sort_unstable();
        let expected: Vec<u32> = elements.iter().map(|&(.., index)| index).collect();
        assert_eq!(plain(lengths, keys), expected);

        let budget = Budget::padded(16 * u64::from(lengths.max())).multiple_of(3);
        for rungs in [1, 7] {
            let staircase = Staircase::new(ladder(lengths, rungs), lengths);
            let roundings = [Rounding::Exact, Rounding::Multiple(8), Rounding::Rungs(staircase)];
            for (rounding, threads) in
                roundings.into_iter().flat_map(|r| [1, 2, 3, 7].map(|threads| (r.clone(), threads)))
            {
                let (rounding, workspace) = (Arc::new(rounding), Workspace::new().threads(threads));
                let longest = rounding.of(lengths.max());
                let room = budget
                    .resolve(lengths, vec![longest].into())
                    .unwrap()
                    .rounded(lengths, Arc::clone(&rounding))
                    .within(&workspace);
                // Twice, so that memory is used again.
                for _ in 0..2 {
                    let flat = flat(lengths, &room, keys).unwrap();
                    assert_eq!(flat.order, expected, "{} on {threads}", lengths.len());
                    if let Some(padded) = flat.padded {
                        let lookup = expected.iter().map(|&index| room.padded_length(index));
                        assert_eq!(padded, lookup.collect::<Vec<_>>());
                    }
                    let end = vec![lengths.count()];
                    let gathered = |batches: Loose| batches.gathered(&workspace);
                    let slow = Groups::trusted(expected.clone(), end);
                    let slow = gathered(cut::cut(slow, &room, &rounding));
                    let fast = Groups::one(lengths, &room, keys).unwrap();
                    assert_eq!(gathered(cut::cut(fast, &room, &rounding)), slow);
                }
            }
        }
    }

    #[test]
    fn the_fast_path_is_the_plain_one() {
        let least = LEAST as u32;
        for count in [1, 63, 64, 65, least - 1, least, least + 1, 4096, 16_500] {
            let rng = Rng::new(7, u64::from(count));
            for most in [1, 900, 3_000_000] {
                let lengths = lengths(count, most);
                check(&lengths, &Random::within(0, |_| 0, &rng, Purpose::Shuffle));
                check(&lengths, &Random::within(most, |length| length, &rng, Purpose::Shuffle));
                check(&lengths, &Coarse(&rng));
            }
        }
    }

    /// More than one part of several blocks, and keys that share all of their bits.
    #[test]
    fn many_sequences_are_sorted_too() {
        let rng = Rng::new(8, 0);
        let lengths = lengths(150_000, 5000);
        check(&lengths, &Random::within(0, |_| 0, &rng, Purpose::Shuffle));
        check(&lengths, &Coarse(&rng));
    }

    /// Vectors change no number: the oracle of the one `unsafe` call.
    #[test]
    fn keys_are_the_same_with_vectors_and_without() {
        let (rng, lengths) = (Rng::new(3, 5), lengths(5000, 900));
        let keys = Random::within(900, |length| length, &rng, Purpose::Noise);
        let packing = Packing { key: 40, index: 0 };
        let parts = Parts { digit: 8, count: 256, rungs: &[], rounding: None, packing };
        let filled = |wide: bool| {
            let mut pool = Pool::default();
            pool.clear(lengths.len(), parts.count);
            let (lengths, pool_) = (lengths.as_slice(), pool.filling());
            let job =
                Fill { lengths, first: 0, parts: &parts, only: None, keys: &keys, pool: pool_ };
            if wide {
                lanes::run(job);
            } else {
                lanes::plain(job);
            }
            pool.finish();
            (0..parts.count)
                .flat_map(|part| pool.part(part).flatten().copied().collect::<Vec<_>>())
                .collect::<Vec<u64>>()
        };
        assert_eq!(filled(true), filled(false));
    }
}
