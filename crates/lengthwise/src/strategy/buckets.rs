//! What the bucket strategies share: random order inside buckets, bucket after bucket.

use crate::{Groups, Lengths, Purpose, Rng, sort};

/// Groups by bucket number, rising, in a random order inside each. A shuffled order of all
/// sequences, sorted stably by bucket, is a shuffled order inside every bucket.
pub(super) fn random_inside(
    lengths: &Lengths,
    rng: &Rng,
    bucket_of: impl Fn(u32) -> u32,
) -> Groups {
    let mut order = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
    sort::by_key(&mut order, &bucket_of);
    let mut ends: Vec<u32> = (1..order.len())
        .filter(|&place| bucket_of(order[place - 1]) != bucket_of(order[place]))
        .map(|place| place as u32)
        .collect();
    ends.push(lengths.count());
    Groups::trusted(order, ends)
}

/// Which bucket a length falls into: the first whose upper edge is at or above it. Lengths above
/// the last edge share one bucket more.
pub(super) fn between(edges: &[u32], length: u32) -> u32 {
    edges.partition_point(|&edge| edge < length) as u32
}
