//! What the bucket strategies share: random order inside buckets, bucket after bucket.

use crate::{
    Error, Groups, Lengths, Purpose, Rng, Room,
    sort::{self, Random},
};

/// Groups by the bucket of each length, rising, in a random order inside each. Longer lengths are in
/// no earlier bucket.
pub(super) fn by_length(
    lengths: &Lengths,
    room: &Room,
    rng: &Rng,
    bucket_of: impl Fn(u32) -> u32 + Sync,
) -> Result<Groups, Error> {
    let keys = Random::within(bucket_of(lengths.max()), &bucket_of, rng, Purpose::Shuffle);
    Groups::keyed(lengths, room, &keys, || {
        let histogram = lengths.histogram();
        let same = |a: &(u32, u32), b: &(u32, u32)| bucket_of(a.0) == bucket_of(b.0);
        let mut end = 0;
        histogram
            .chunk_by(same)
            .map(|bucket| {
                end += bucket.iter().map(|&(_, count)| count).sum::<u32>();
                end
            })
            .collect()
    })
}

/// Groups by bucket number, rising, in a random order inside each. A shuffled order of all
/// sequences, sorted stably by bucket, is a shuffled order inside every bucket.
pub(super) fn random_inside(
    lengths: &Lengths,
    rng: &Rng,
    bucket_of: impl Fn(u32) -> u32,
) -> Groups {
    let mut order = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
    sort::by_key(&mut order, &bucket_of);
    let mut ends = Vec::new();
    let mut current = bucket_of(order[0]);
    for (place, &sequence) in (0..).zip(&order) {
        let bucket = bucket_of(sequence);
        if bucket != current {
            ends.push(place);
            current = bucket;
        }
    }
    ends.push(lengths.count());
    Groups::trusted(order, ends)
}
