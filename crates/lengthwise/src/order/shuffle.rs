//! Stretches of an order, each in a random order of its own.

use std::sync::{Mutex, PoisonError};

use crate::base::pool::{Filling, Pool};
use crate::base::rng::{CHUNK, Purpose, Rng};
use crate::base::workspace::Workspace;
use crate::base::{simd, threads};
use crate::order::fill::Packing;
use crate::order::keyed::{Flat, bits_for, is_fast};
use crate::order::keys::{Keyed, Place, Random};
use crate::order::local::Local;
use crate::order::sort;

/// Shuffles every stretch that ends at `ends`, with randomness of its own: the sequence at place `i` of it has word `i`,
/// and equal words stay in order. What sequences are padded to goes with them.
pub(crate) fn shuffle(
    flat: &mut Flat,
    ends: &[usize],
    workspace: &Workspace,
    rng: impl Fn(usize) -> Rng + Sync,
    purpose: Purpose,
) {
    let threads = workspace.threads_for(flat.order.len());
    let (mut order, mut padded) = (&mut flat.order[..], flat.padded.as_deref_mut());
    let mut start = 0;
    let jobs = ends.iter().enumerate().map(|(number, &end)| {
        let size = end - std::mem::replace(&mut start, end);
        let order = order.split_off_mut(..size).unwrap_or_default();
        let padded = padded.as_mut().map(|all| all.split_off_mut(..size).unwrap_or_default());
        (rng(number), order, padded.unwrap_or_default())
    });
    let jobs: Vec<_> = jobs.collect();
    // Each thread has a pool, and gives it back after a stretch.
    let pools = Mutex::new(workspace.pools(threads));
    let kept = || pools.lock().unwrap_or_else(PoisonError::into_inner);
    threads::each(threads, jobs, |(rng, order, padded)| {
        let mut pool = kept().pop().unwrap_or_default();
        shuffle_one(order, padded, &mut pool, &rng, purpose);
        kept().push(pool);
    });
    workspace.keep_pools(pools.into_inner().unwrap_or_else(PoisonError::into_inner));
}

/// Shuffles sequences, and what they are padded to if that is known.
fn shuffle_one(
    order: &mut [u32],
    padded: &mut [u32],
    pool: &mut Pool,
    rng: &Rng,
    purpose: Purpose,
) {
    let count = order.len();
    let bits =
        |numbers: &[u32]| u32::BITS - numbers.iter().fold(0, |all, one| all | one).leading_zeros();
    let [index, length] = [&*order, &*padded].map(bits);
    let digit = bits_for(count, 1);
    // The part says what the highest bits of the word are.
    if !is_fast(count) || index + length > 32 + digit {
        let places = sort::shuffled(count as u32, rng, purpose);
        for list in [order, padded].into_iter().filter(|list| !list.is_empty()) {
            let shuffled: Vec<u32> = places.iter().map(|&at| list[at as usize]).collect();
            list.copy_from_slice(&shuffled);
        }
        return;
    }
    let packing = Packing { key: 32 + digit, index: length };
    pool.clear(count, 1 << digit);
    let keys = Random::within(0, |_| 0, rng, purpose);
    // Words do not depend on lengths: the sequences are in their place.
    let to = Scatter { padded, digit, packing, pool: pool.filling() };
    simd::run(Keyed { lengths: order, first: 0, keys: &keys, to });
    pool.finish();
    let (mut local, mut order, mut padded) = (Local::default(), order, padded);
    for part in 0..1 << digit {
        let count = pool.count(part);
        // Equal words stay in order, because sorting is stable.
        let sorted = local.sort(pool.part(part), count, packing.key, 32 - digit);
        for (place, &mut element) in order.iter_mut().zip(&mut *sorted) {
            *place = packing.index_of(element);
        }
        for (place, &mut element) in padded.iter_mut().zip(sorted) {
            *place = packing.length_of(element);
        }
        order = order.split_off_mut(count..).unwrap_or_default();
        padded = padded.split_off_mut(count..).unwrap_or_default();
    }
}

/// Puts sequences, with what they are padded to, into the parts of a pool by the words of their places.
struct Scatter<'a> {
    padded: &'a [u32],
    digit: u32,
    packing: Packing,
    pool: Filling<'a>,
}

impl Place for Scatter<'_> {
    #[inline(never)]
    fn place(&mut self, first: u32, order: &[u32; CHUNK], words: &[u32; CHUNK], used: usize) {
        let Self { padded, digit, packing, .. } = *self;
        let mut pool = self.pool.reborrow();
        // None if nothing is known of what they are padded to.
        let padded = padded.get(first as usize..).unwrap_or_default();
        for at in 0..used {
            let low = padded.get(at).copied().unwrap_or(0);
            let index = u64::from(order[at]) << packing.index;
            let element = u64::from(words[at]) << packing.key | index | u64::from(low);
            pool.push(words[at] >> (32 - digit), element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every stretch is shuffled as [`sort::shuffled`] says, with and without padded lengths, on any number of threads.
    #[test]
    fn stretches_are_shuffled_as_by_sorting_words() {
        let rng = |number: usize| Rng::new(5, number as u64);
        let ends = [0, 7, 1507, 3000, 23_000, 23_001];
        let order = sort::shuffled(23_001, &Rng::new(1, 0), Purpose::Shuffle);
        for most in [0, 300, u32::MAX] {
            let of = |order: &[u32]| -> Option<Vec<u32>> {
                let padded = |sequence: &u32| sequence.wrapping_mul(0x9E37_79B9) & most;
                (most > 0).then(|| order.iter().map(padded).collect())
            };
            let mut expected = Vec::new();
            let mut start = 0;
            for (number, end) in ends.into_iter().enumerate() {
                let stretch = &order[start..end];
                let places = sort::shuffled(stretch.len() as u32, &rng(number), Purpose::Draw);
                expected.extend(places.into_iter().map(|at| stretch[at as usize]));
                start = end;
            }
            for threads in [1, 2, 3] {
                let mut flat = Flat { order: order.clone(), padded: of(&order) };
                let workspace = Workspace::new().threads(threads);
                shuffle(&mut flat, &ends, &workspace, rng, Purpose::Draw);
                assert_eq!(flat.order, expected);
                assert_eq!(flat.padded, of(&expected));
            }
        }
    }
}
