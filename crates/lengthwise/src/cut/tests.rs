//! The fast path of sorting gives the batches of the plain one.

use std::sync::Arc;

use crate::base::pool::Pool;
use crate::base::rng::{CHUNK, Purpose, Rng};
use crate::base::simd;
use crate::base::workspace::Workspace;
use crate::cut::batches::Spans;
use crate::cut::in_order::cut;
use crate::data::lengths::Lengths;
use crate::limit::budget::Budget;
use crate::order::fill::{AnyKeys, Fill, Packing, Parts};
use crate::order::groups::Groups;
use crate::order::keyed::{LEAST, flat, plain};
use crate::order::keys::{Keyed, Keys, Random, chunks};
use crate::shape::ladder::ladder;
use crate::shape::rounding::{Rounding, Staircase};

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

/// The order as it is defined, in parts and at once, and the batches on a ladder, made one by one and
/// in parts, on any number of threads.
fn check(lengths: &Lengths, keys: &dyn AnyKeys) {
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
            let mut limit =
                budget.resolve(longest).unwrap().rounded(lengths, Arc::clone(&rounding));
            limit.workspace = &workspace;
            // Twice, so that memory is used again.
            for _ in 0..2 {
                let flat = flat(lengths, &limit, keys).unwrap();
                assert_eq!(flat.order, expected, "{} on {threads}", lengths.len());
                if let Some(padded) = flat.padded {
                    let lookup = expected.iter().map(|&index| limit.padded_length(index));
                    assert_eq!(padded, lookup.collect::<Vec<_>>());
                }
                let end = vec![lengths.count()];
                let gathered = |batches: Spans| batches.gathered(&workspace);
                let slow = Groups::trusted(expected.clone(), end);
                let slow = gathered(cut(slow, &limit, &rounding));
                let fast = Groups::one(lengths, &limit, keys).unwrap();
                assert_eq!(gathered(cut(fast, &limit, &rounding)), slow);
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
        let to = Fill { parts: &parts, only: None, pool: pool_ };
        let job = Keyed { lengths, first: 0, keys: &keys, to };
        if wide {
            simd::run(job);
        } else {
            simd::plain(job);
        }
        pool.finish();
        (0..parts.count)
            .flat_map(|part| pool.part(part).flatten().copied().collect::<Vec<_>>())
            .collect::<Vec<u64>>()
    };
    assert_eq!(filled(true), filled(false));
}
