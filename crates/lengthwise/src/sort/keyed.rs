//! All sequences by a key that is computed for each of them: the fast path of most strategies.
//!
//! Keys are computed for a chunk of sequences at a time and never stored: each sequence goes at once
//! to one of many parts, by its key and, if batches are on a ladder, by its rung. Every part then fits
//! in a cache, where it is sorted. Elements are 64 bits: the key, then the index, then, where there is
//! room, what the sequence is padded to, so that cutting need not look it up.
//!
//! Equal keys come in the order of a random word, and equal words by index: the order that sorting a
//! shuffled order stably would give. Words are computed for equal keys only.

use std::ops::Range;

use super::{
    local::{Local, settle},
    pool::{Filling, Pool},
};
use crate::{
    Lengths, Purpose, Rng, Room, Workspace,
    ladder::Staircase,
    lanes::{self, Job},
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

/// The most parts: beyond this there are more places to write to than the second cache can hold.
const MOST_PARTS: usize = 1 << 13;

/// Whether there is a fast path for so many sequences.
fn is_fast(count: usize) -> bool {
    (LEAST..MOST).contains(&count)
}

/// All sequences by their keys.
pub(crate) fn flat(lengths: &Lengths, room: &Room, keys: &impl Keys) -> Flat {
    let workspace = room.workspace();
    flat_in(lengths, &workspace, room.rounding(), keys)
}

fn flat_in(
    lengths: &Lengths,
    workspace: &Workspace,
    rounding: Option<&Rounding>,
    keys: &impl Keys,
) -> Flat {
    let count = lengths.len();
    if !is_fast(count) {
        return Flat { order: plain(lengths, keys), padded: None };
    }
    let digit = (count / PART).clamp(1, MOST_PARTS).ilog2();
    // The part says what the highest bits of the key are; so many others are free for the length.
    let free = 32 + digit - (usize::BITS - (count - 1).leading_zeros());
    let rounding =
        rounding.filter(|rounding| u32::BITS - rounding.of(lengths.max()).leading_zeros() <= free);
    let packing = Packing {
        key: 32 + digit,
        index: rounding
            .map_or(0, |rounding| u32::BITS - rounding.of(lengths.max()).leading_zeros()),
    };
    let parts = Parts {
        splits: vec![Split { low: 0, shift: 32 - digit, first: 0, last: (1 << digit) - 1 }],
        rungs: None,
        rounding,
        packing,
    };
    let threads = workspace.threads_for(count);
    let pools = workspace.stage("keys", || fill(lengths, workspace, threads, &parts, keys));
    let mut order = vec![0; count];
    let mut padded = vec![0; if rounding.is_some() { count } else { 0 }];
    workspace.stage("sort", || {
        let jobs = Jobs::new(&pools, 1 << digit, threads);
        let (orders, lengths) = (jobs.split(&mut order), jobs.split(&mut padded));
        let jobs = jobs.ranges.into_iter().zip(orders.into_iter().zip(lengths)).collect();
        threads::each(threads, jobs, |(range, (mut order, mut padded))| {
            let mut local = Local::default();
            for part in range {
                let count = count_of(&pools, part);
                let slices = pools.iter().flat_map(|pool| pool.part(part));
                let sorted = local.sort(slices, count, packing.key, 32 - digit);
                settle(sorted, packing.key, |element| {
                    let sequence = packing.index_of(element);
                    (keys.tie(sequence), sequence)
                });
                for (place, &element) in take(&mut order, count).iter_mut().zip(&*sorted) {
                    *place = packing.index_of(element);
                }
                if rounding.is_some() {
                    for (place, &element) in take(&mut padded, count).iter_mut().zip(&*sorted) {
                        *place = packing.length_of(element);
                    }
                }
            }
        });
    });
    workspace.keep_pools(pools);
    Flat { order, padded: rounding.map(|_| padded) }
}

/// The sequences of every rung by their keys, and the full batches; `None` where there is no fast
/// path.
pub(crate) fn dealt(lengths: &Lengths, room: &Room, keys: &impl Keys) -> Option<Dealt> {
    let Some(Rounding::Rungs(rungs)) = room.rounding() else { return None };
    let count = lengths.len();
    if !is_fast(count) || rungs.edges().len() > MOST_PARTS {
        return None;
    }
    let workspace = &*room.workspace();
    let threads = workspace.threads_for(count);
    let parts = workspace.stage("sample", || Parts::sampled(lengths, rungs, keys));
    let pools = workspace.stage("keys", || fill(lengths, workspace, threads, &parts, keys));
    let mut indices = workspace.indices(count);
    let (ends, mut full) = workspace.stage("sort", || {
        let each = parts.each();
        // Where every part begins among those of its rung.
        let mut ends = vec![0_u32; rungs.edges().len()];
        let places: Vec<u32> = each
            .iter()
            .zip(0..)
            .map(|(&(rung, _), part)| {
                let end = &mut ends[rung as usize];
                let place = *end;
                *end += count_of(&pools, part) as u32;
                place
            })
            .collect();
        let mut end = 0;
        for of_rung in &mut ends {
            end += *of_rung;
            *of_rung = end;
        }
        let sizes: Vec<u32> = rungs.edges().iter().map(|&rung| room.full(rung)).collect();
        let jobs = Jobs::new(&pools, each.len(), threads);
        let outputs = jobs.split(&mut indices);
        let jobs = jobs.ranges.into_iter().zip(outputs).collect();
        let full = threads::each(threads, jobs, |(range, mut output)| {
            let (mut local, mut full) = (Local::default(), Vec::new());
            for part in range {
                let (rung, bits) = each[part];
                let count = count_of(&pools, part);
                let slices = pools.iter().flat_map(|pool| pool.part(part));
                let sorted = local.sort(slices, count, 32, bits);
                settle(sorted, 32, |element| (keys.tie(element as u32), element as u32));
                for (place, &element) in take(&mut output, count).iter_mut().zip(&*sorted) {
                    *place = element as u32;
                }
                let (size, start) = (sizes[rung as usize], places[part]);
                for batch in start / size..(start + count as u32) / size {
                    let last = (batch + 1) * size - 1 - start;
                    full.push((sorted[last as usize], rung, batch));
                }
            }
            full
        });
        (ends, full.concat())
    });
    workspace.keep_pools(pools);
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
    Some(Dealt { indices, ends, full })
}

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
    settle(&mut elements, 32, |element| (keys.tie(element as u32), element as u32));
    super::unpack(&elements)
}

/// The lengths in chunks, each with its first index and how many of it there are; the rest of the
/// last chunk is filled up.
fn chunks(lengths: &[u32], first: u32) -> impl Iterator<Item = (u32, [u32; CHUNK], usize)> {
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
    fn index_of(self, element: u64) -> u32 {
        ((element & !(u64::MAX << self.key)) >> self.index) as u32
    }

    fn length_of(self, element: u64) -> u32 {
        (element & !(u64::MAX << self.index)) as u32
    }
}

/// How keys are divided into parts: those of one rung, or all.
#[derive(Clone, Copy, Debug)]
struct Split {
    /// Keys below this are in the first part.
    low: u32,
    /// A part has 2^`shift` keys, except for the first and the last.
    shift: u32,
    /// The number of the first part.
    first: u32,
    /// The number of the last part, less that of the first.
    last: u32,
}

impl Split {
    /// Which part a key belongs to.
    #[inline(always)]
    fn part(self, key: u32) -> u32 {
        self.first + (key.saturating_sub(self.low) >> self.shift).min(self.last)
    }
}

/// The parts that elements go to.
struct Parts<'a> {
    /// One for each rung, or one for all.
    splits: Vec<Split>,
    rungs: Option<&'a Staircase>,
    rounding: Option<&'a Rounding>,
    packing: Packing,
}

impl<'a> Parts<'a> {
    /// Parts of each rung, of similar size as far as a sample tells.
    fn sampled(lengths: &Lengths, rungs: &'a Staircase, keys: &impl Keys) -> Self {
        let all = lengths.as_slice();
        let chunks_in_all = all.len().div_ceil(CHUNK);
        let wanted = (chunks_in_all / 64).clamp(16, 256).min(chunks_in_all);
        let mut samples: Vec<Vec<u32>> = vec![Vec::new(); rungs.edges().len()];
        for chunk in 0..wanted {
            let first = chunk * chunks_in_all / wanted * CHUNK;
            let rest = &all[first..];
            for (first, lengths, used) in chunks(&rest[..rest.len().min(CHUNK)], first as u32) {
                let mut of_chunk = [0; CHUNK];
                keys.fill(first, &lengths, &mut of_chunk);
                for (&length, &key) in lengths[..used].iter().zip(&of_chunk) {
                    samples[rungs.of(length) as usize].push(key);
                }
            }
        }
        let in_all: usize = samples.iter().map(Vec::len).sum();
        let parts = (all.len() / PART).clamp(1, MOST_PARTS);
        let mut first = 0;
        let splits = samples
            .iter_mut()
            .map(|sample| {
                sample.sort_unstable();
                let share = (parts * sample.len() / in_all).max(1) as u32;
                let low = sample.first().copied().unwrap_or(0);
                // The tail is one part.
                let high = sample.get(sample.len() * 99 / 100).copied().unwrap_or(0);
                let shift = (0..31).find(|shift| (high - low) >> shift < share).unwrap_or(31);
                let low = low >> shift << shift;
                let last = ((high - low) >> shift) + 1;
                let split = Split { low, shift, first, last };
                first += last + 1;
                split
            })
            .collect();
        let packing = Packing { key: 32, index: 0 };
        Self { splits, rungs: Some(rungs), rounding: None, packing }
    }

    fn count(&self) -> usize {
        self.splits.last().map_or(0, |split| (split.first + split.last) as usize + 1)
    }

    /// The rung of every part, and how many of the lowest bits of keys differ in it.
    fn each(&self) -> Vec<(u32, u32)> {
        let of_split = |(split, rung): (&Split, u32)| {
            let Split { shift, last, .. } = *split;
            (0..=last).map(move |part| (rung, if part == 0 || part == last { 32 } else { shift }))
        };
        self.splits.iter().zip(0..).flat_map(of_split).collect()
    }
}

/// Puts all sequences into parts, in as many pools as there are threads.
fn fill(
    lengths: &Lengths,
    workspace: &Workspace,
    threads: usize,
    parts: &Parts,
    keys: &impl Keys,
) -> Vec<Pool> {
    let ranges = threads::ranges(lengths.len(), threads, CHUNK);
    let pools = workspace.pools(ranges.len());
    let jobs = ranges.into_iter().zip(pools).collect();
    threads::each(threads, jobs, |(range, mut pool): (Range<usize>, Pool)| {
        pool.clear(range.len(), parts.count());
        let first = range.start as u32;
        let lengths = &lengths.as_slice()[range];
        lanes::run(Fill { lengths, first, parts, keys, pool: pool.filling() });
        pool.finish();
        pool
    })
}

/// Puts sequences into the parts of a pool.
struct Fill<'a, K> {
    lengths: &'a [u32],
    first: u32,
    parts: &'a Parts<'a>,
    keys: &'a K,
    pool: Filling<'a>,
}

impl<K: Keys> Job for Fill<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let whole = self.lengths.chunks_exact(CHUNK);
        let rest = whole.remainder();
        let mut first = self.first;
        for lengths in whole {
            let mut chunk = [0; CHUNK];
            chunk.copy_from_slice(lengths);
            self.chunk(first, &chunk, CHUNK);
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
        let (mut keys, mut parts, mut low) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
        self.keys.fill(first, lengths, &mut keys);
        match self.parts.rungs {
            None => {
                let split = self.parts.splits[0];
                for (part, &key) in parts.iter_mut().zip(&keys) {
                    *part = split.part(key);
                }
            }
            Some(rungs) => {
                for ((part, &key), &length) in parts.iter_mut().zip(&keys).zip(lengths) {
                    *part = self.parts.splits[rungs.of(length) as usize].part(key);
                }
            }
        }
        match self.parts.rounding {
            None => {}
            Some(Rounding::Exact) => low = *lengths,
            Some(rounding) => {
                for (low, &length) in low.iter_mut().zip(lengths) {
                    *low = rounding.of(length);
                }
            }
        }
        let Packing { key: key_shift, index: index_shift } = self.parts.packing;
        let sequences = (first..).zip(parts).zip(keys.into_iter().zip(low));
        for ((sequence, part), (key, low)) in sequences.take(used) {
            let element =
                u64::from(key) << key_shift | u64::from(sequence) << index_shift | u64::from(low);
            self.pool.push(part, element);
        }
    }
}

/// How many elements a part has in all pools.
fn count_of(pools: &[Pool], part: usize) -> usize {
    pools.iter().map(|pool| pool.count(part)).sum()
}

/// Ranges of parts with about as many elements each, several for every thread.
struct Jobs {
    ranges: Vec<Range<usize>>,
    sizes: Vec<usize>,
}

impl Jobs {
    fn new(pools: &[Pool], parts: usize, threads: usize) -> Self {
        let all: usize = (0..parts).map(|part| count_of(pools, part)).sum();
        let wanted = if threads > 1 { all.div_ceil(4 * threads) } else { all };
        let mut jobs = Self { ranges: Vec::new(), sizes: Vec::new() };
        let (mut start, mut size) = (0, 0);
        for part in 0..parts {
            size += count_of(pools, part);
            if size >= wanted || part + 1 == parts {
                jobs.ranges.push(start..part + 1);
                jobs.sizes.push(size);
                (start, size) = (part + 1, 0);
            }
        }
        jobs
    }

    /// The places of each job's elements, or nothing for each where there are none.
    fn split<'a>(&self, mut places: &'a mut [u32]) -> Vec<&'a mut [u32]> {
        let empty = places.is_empty();
        let size = |&size: &usize| if empty { 0 } else { size };
        self.sizes.iter().map(size).map(|size| take(&mut places, size)).collect()
    }
}

/// Takes so many places from the front.
#[expect(clippy::mut_mut, reason = "the slice itself changes")]
fn take<'a>(places: &mut &'a mut [u32], count: usize) -> &'a mut [u32] {
    let (front, rest) = std::mem::take(places).split_at_mut(count);
    *places = rest;
    front
}
