use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keyed::Mixed;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, parameter};

#[doc = include_str!("alternated.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternated {
    /// How many bins the shuffled order is divided into.
    pub bins: u32,
}

parameter!(Alternated "alternated" { bins: 1.. => 64 } AT_LEAST_ONE);

impl Group for Alternated {
    fn describe(&self) -> String {
        format!("alternated:bins={}", self.bins)
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        // With more bins than sequences, each bin has one sequence.
        let bins = u64::from(self.bins.min(lengths.count()));
        let end = |bin: u64| ((bin + 1) * u64::from(lengths.count()) / bins) as u32;
        let ends: Vec<u32> = (0..bins).map(end).collect();
        // The paper counts bins from 1: the first is odd and ascends.
        let falls = |bin: usize| !bin.is_multiple_of(2);
        let order = Mixed::new(lengths, limit, rng, Purpose::Shuffle)?.sorted(&ends, falls, limit);
        Ok(Groups::trusted(order, vec![lengths.count()]).short_anywhere(rng))
    }
}
