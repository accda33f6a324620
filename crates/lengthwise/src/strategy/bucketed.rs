use crate::base::rng::{Purpose, Rng};
use crate::base::threads;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keyed::flat_in;
use crate::order::keys::Random;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, parameter};

#[doc = include_str!("bucketed.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucketed {
    /// How many sequences a bucket holds.
    pub size: u32,
}

parameter!(Bucketed "bucketed" { size: 1.. => 1024 } AT_LEAST_ONE);

impl Group for Bucketed {
    fn describe(&self) -> String {
        format!("bucketed:size={}", self.size)
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let (longest, count) = (lengths.max(), lengths.count());
        // Which of equal lengths are on which side of an end is random, whatever the order inside.
        let keys = Random::within(longest, |length| longest - length, rng, Purpose::Ties);
        // What the planner asks of strategies that do not sort in passes is enough.
        let mut order = flat_in(lengths, limit.workspace, None, &limit.rounding, &keys)?.order;
        let threads = limit.workspace.threads_for(order.len());
        let buckets = order.chunks_mut(self.size as usize).collect();
        threads::each(threads, buckets, |bucket: &mut [u32]| {
            bucket.sort_by_cached_key(|&sequence| (rng.word(Purpose::Shuffle, sequence), sequence));
        });
        let ends = (1..=count.div_ceil(self.size)).map(|bucket| bucket.saturating_mul(self.size));
        let ends = ends.map(|end| end.min(count)).collect();
        Ok(Groups::trusted(order, ends).left_anywhere(limit, rng))
    }
}
