#![doc = include_str!("bucketed.md")]

use crate::{
    base::rng::Rng,
    data::lengths::Lengths,
    error::Error,
    limit::resolved::ResolvedBudget,
    order::groups::Groups,
    strategy::{
        buckets,
        group::{AT_LEAST_ONE, Group, Inner, parameter},
    },
};

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
        buckets::by_rank(lengths, limit, rng, self.size)
    }
}
