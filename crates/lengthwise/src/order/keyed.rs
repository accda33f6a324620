//! All sequences by a key that is computed for each of them: the fast path of most strategies.
//!
//! Keys are computed for a chunk of sequences at a time and never stored: each sequence goes at once
//! to one of many parts, by its key and, if batches are on a ladder, by its rung. Every part then fits
//! in a cache, where it is sorted. Elements are 64 bits: the key, then the index, then, where there is
//! room, what the sequence is padded to, so that cutting need not look it up.
//!
//! Equal keys come in the order of a random word, and equal words by index: the order that sorting a
//! shuffled order stably would give. Words are computed for equal keys only.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use crate::base::rng::{CHUNK, Purpose, Rng};
use crate::base::threads;
use crate::base::workspace::Workspace;
use crate::data::lengths::{Lengths, Pad, is_small_table};
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::fill::{AnyKeys, Counted, Packing, Parts, Passes, sort};
use crate::order::keys::{Random, chunks};
use crate::order::local::{NEAR, settle};
use crate::order::sort::{by_high_half, pack, unpack};
use crate::shape::rounding::Rounding;

/// All sequences in an order.
#[derive(Clone, Debug)]
pub(crate) struct Flat {
    pub(crate) order: Vec<u32>,
    /// What each one is padded to, in the same order, where that came for free.
    pub(crate) padded: Option<Vec<u32>>,
}

impl Flat {
    /// Keeps its memory for the next plan.
    pub(crate) fn keep(self, workspace: &Workspace) {
        workspace.keep_indices(self.order);
        self.padded.into_iter().for_each(|padded| workspace.keep_indices(padded));
    }
}

impl From<Vec<u32>> for Flat {
    fn from(order: Vec<u32>) -> Self {
        Self { order, padded: None }
    }
}

/// All sequences of each rung in an order, rung after rung, and the full batches that they make.
#[derive(Clone, Debug)]
pub(crate) struct AtRungs {
    pub(crate) indices: Vec<u32>,
    /// Where the sequences of each rung end.
    pub(crate) ends: Vec<u32>,
    /// The full batches in the order in which they fill: the rung of each, and its number there.
    pub(crate) full: Vec<(u32, u32)>,
}

/// Fewer sequences than this are sorted at once.
pub(crate) const LEAST: usize = 1500;

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
pub(crate) fn bits_for(count: usize, rungs: usize) -> u32 {
    if count < FEW {
        return (count / (512 * rungs)).max(2).ilog2();
    }
    (count / PART).max(1).ilog2().clamp(*BITS.start(), *BITS.end())
}

/// Whether there is a fast path for so many sequences.
pub(crate) fn is_fast(count: usize) -> bool {
    (LEAST..MOST).contains(&count)
}

/// All sequences by their keys.
pub(crate) fn flat(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    keys: &dyn AnyKeys,
) -> Result<Flat, Error> {
    flat_in(lengths, limit.workspace, limit.memory, &limit.rounding, keys)
}

/// Up to so many passes are better than to look the lengths of sequences up in their order.
const FEW_PASSES: u64 = 16;

pub(crate) fn flat_in(
    lengths: &Lengths,
    workspace: &Workspace,
    memory: Option<u64>,
    rounding: &Rounding,
    keys: &dyn AnyKeys,
) -> Result<Flat, Error> {
    let count = lengths.len();
    // Putting the order to rungs makes a second list of it, and asks for no padded lengths.
    let on_ladder = matches!(rounding, Rounding::Rungs(_));
    let mut held = 4 * count as u64 * if on_ladder { 2 } else { 1 };
    if !is_fast(count) {
        if let Some(bound) = memory {
            let (what, needed) = (format!("sorting {count} sequences"), held + 32 * count as u64);
            Error::check_memory(needed, bound, || what)?;
        }
        return Ok(plain(lengths, keys).into());
    }
    let digit = bits_for(count, 1);
    // The part says what the highest bits of the key are; so many others are free for the length.
    let free = 32 + digit - (usize::BITS - (count - 1).leading_zeros());
    let bits = u32::BITS - rounding.of(lengths.max()).leading_zeros();
    let rounding = (bits <= free).then_some(rounding);
    let packing = Packing { key: 32 + digit, index: if rounding.is_some() { bits } else { 0 } };
    let mut parts = Parts { digit, count: 1 << digit, rungs: &[], rounding, packing };
    let threads = workspace.threads_for(count);
    let passes = match memory {
        None => Passes::one(parts.count),
        Some(bound) => {
            let counted = workspace.stage("count", || Counted::new(lengths, threads, &parts, keys));
            let both = held + 4 * count as u64;
            if both + counted.least(threads, FEW_PASSES) > bound || on_ladder {
                parts.rounding = None;
            } else if rounding.is_some() {
                held = both;
            }
            counted.passes(threads, held, bound)?
        }
    };
    let mut order = workspace.indices(count);
    let mut padded = parts.rounding.map(|_| workspace.indices(count));
    let lists = [&mut order[..], padded.as_deref_mut().unwrap_or_default()];
    let visit = |(_, elements): (usize, &[u64]), _: &[u32], padded: &mut [u32], _: &mut Vec<()>| {
        for (place, &element) in padded.iter_mut().zip(elements) {
            *place = packing.length_of(element);
        }
    };
    sort((lengths, workspace), &parts, keys, passes, lists, visit);
    Ok(Flat { order, padded })
}

/// The sequences of every rung by their keys, and the full batches, where there is a fast path.
pub(crate) fn at_rungs(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    keys: &dyn AnyKeys,
) -> Result<Option<AtRungs>, Error> {
    let Rounding::Rungs(rungs) = &*limit.rounding else { return Ok(None) };
    let count = lengths.len();
    let edges = &rungs.edges;
    let digit = bits_for(count, edges.len());
    let is_small = edges.len() << digit <= MOST_PARTS && is_small_table(lengths.max(), count / 4);
    if !is_fast(count) || !is_small {
        return Ok(None);
    }
    // Where the parts of the rung of every length begin.
    let rungs = (0..=lengths.max()).map(|length| rungs.of(length) << digit).collect::<Vec<_>>();
    let (count_of_parts, packing) = (edges.len() << digit, Packing { key: 32, index: 0 });
    let parts = Parts { digit, count: count_of_parts, rungs: &rungs, rounding: None, packing };
    let workspace = limit.workspace;
    let threads = workspace.threads_for(count);
    let sizes: Vec<u32> = edges.iter().map(|&rung| limit.full(rung)).collect();
    let passes = match limit.memory {
        None => Passes::one(parts.count),
        Some(bound) => {
            let counted = workspace.stage("count", || Counted::new(lengths, threads, &parts, keys));
            let of_rungs = counted.all.chunks(1 << digit).map(|parts| parts.iter().sum::<u32>());
            let full = of_rungs.zip(&sizes).map(|(count, size)| u64::from(count / size));
            let held = 4 * count as u64 + OF_FULL * full.sum::<u64>();
            counted.passes(threads, held, bound)?
        }
    };
    let mut indices = workspace.indices(count);
    let places: OnceLock<Places> = OnceLock::new();
    let visit =
        |(part, elements): (usize, &[u64]), counts: &[u32], _: &mut [u32], full: &mut Vec<_>| {
            let places = places.get_or_init(|| Places::new(counts, digit));
            let rung = part >> digit;
            let (size, start) = (sizes[rung], places.starts[part]);
            for batch in start / size..(start + elements.len() as u32) / size {
                let last = (batch + 1) * size - 1 - start;
                full.push((elements[last as usize], rung as u32, batch));
            }
        };
    let lists = [&mut indices[..], &mut []];
    let full = sort((lengths, workspace), &parts, keys, passes, lists, visit);
    let Places { ends, .. } = places.into_inner().unwrap_or_default();
    let full = workspace.stage("batches", || in_turn(full, keys));
    Ok(Some(AtRungs { indices, ends, full }))
}

/// The full batches, each a rung and its number there, in the order of their last elements.
fn in_turn(mut full: Vec<(u64, u32, u32)>, keys: &dyn AnyKeys) -> Vec<(u32, u32)> {
    full.sort_unstable();
    // Sequences of two rungs may have equal keys.
    for run in full.chunk_by_mut(|a, b| a.0 >> 32 == b.0 >> 32).filter(|run| run.len() > 1) {
        run.sort_unstable_by_key(|&(element, ..)| (keys.tie(element as u32), element as u32));
    }
    full.into_iter().map(|(_, rung, batch)| (rung, batch)).collect()
}

/// Where the parts of rungs are.
#[derive(Default)]
struct Places {
    /// Where every part begins among those of its rung.
    starts: Vec<u32>,
    /// Where every rung ends.
    ends: Vec<u32>,
}

impl Places {
    fn new(counts: &[u32], digit: u32) -> Self {
        let (mut places, mut end) = (Self::default(), 0);
        for parts in counts.chunks(1 << digit) {
            let start = end;
            for count in parts {
                places.starts.push(end - start);
                end += count;
            }
            places.ends.push(end);
        }
        places
    }
}

/// What a full batch takes while all of them are listed and sorted.
const OF_FULL: u64 = 48;

/// The same order without parts or vectors: for few sequences, and what the fast path must equal.
pub(crate) fn plain(lengths: &Lengths, keys: &dyn AnyKeys) -> Vec<u32> {
    let mut elements = Vec::with_capacity(lengths.len());
    for (first, lengths, used) in chunks(lengths.as_slice(), 0) {
        let mut of_chunk = [0; CHUNK];
        keys.fill(first, &lengths, &mut of_chunk);
        let packed = of_chunk[..used].iter().zip(first..);
        elements.extend(packed.map(|(&key, index)| pack(key, index)));
    }
    elements.sort_unstable();
    let all = (0..elements.len()).step_by(NEAR);
    let tie = |element: u64| (keys.tie(element as u32), element as u32);
    settle(&mut elements, all, 32, tie, |_, _| {});
    unpack(&elements)
}

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
