use crate::base::rng::Rng;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::shape::ladder::ladder;
use crate::shape::rounding::Staircase;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, parameter};
use crate::strategy::length_buckets::by_length;

#[doc = include_str!("optimal_buckets.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimalBuckets {
    /// How many buckets: paper 3's Q.
    pub count: u32,
}

parameter!(OptimalBuckets "optimal-buckets" { count: 1.. => 6 } AT_LEAST_ONE);

impl Group for OptimalBuckets {
    fn describe(&self) -> String {
        format!("optimal-buckets:count={}", self.count)
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn most_groups(&self, _: &Lengths) -> u64 {
        self.count.into()
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let steps = Staircase::new(ladder(lengths, self.count), lengths);
        by_length(lengths, limit, rng, |length| steps.of(length))
    }
}
