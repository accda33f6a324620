//! What the bucket strategies share: random order inside buckets, bucket after bucket.

use crate::{
    base::{
        rng::{Purpose, Rng},
        threads,
    },
    data::lengths::Lengths,
    error::Error,
    limit::resolved::ResolvedBudget,
    order::{groups::Groups, keyed::flat, keys::Random},
};

/// Groups by the bucket of each length, rising, in a random order inside each. Longer lengths are in
/// no earlier bucket.
pub(crate) fn by_length(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    rng: &Rng,
    bucket_of: impl Fn(u32) -> u32 + Sync,
) -> Result<Groups, Error> {
    let keys = Random::within(bucket_of(lengths.max()), &bucket_of, rng, Purpose::Shuffle);
    let groups = Groups::keyed(lengths, limit, &keys, || {
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
    })?;
    Ok(groups.left_anywhere(limit, rng))
}

/// Groups of `size` from the longest sequences to the shortest, in a random order inside each. Which of
/// several equal lengths fall on which side of a bucket's end is random, and does not depend on the
/// order inside.
pub(crate) fn by_rank(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    rng: &Rng,
    size: u32,
) -> Result<Groups, Error> {
    let longest = lengths.max();
    let keys = Random::within(longest, |length| longest - length, rng, Purpose::Ties);
    // What the planner asks of strategies that do not sort in passes is enough.
    let mut order = flat(lengths, &limit.clone().with_memory(None), &keys)?.order;
    let threads = limit.workspace().threads_for(order.len());
    let buckets = order.chunks_mut(size as usize).collect();
    threads::each(threads, buckets, |bucket: &mut [u32]| {
        bucket.sort_by_cached_key(|&sequence| (rng.word(Purpose::Shuffle, sequence), sequence));
    });
    let ends = (1..=lengths.count().div_ceil(size)).map(|bucket| bucket.saturating_mul(size));
    let ends = ends.map(|end| end.min(lengths.count())).collect();
    Ok(Groups::trusted(order, ends).left_anywhere(limit, rng))
}
