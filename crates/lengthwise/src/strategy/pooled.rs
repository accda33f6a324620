use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keyed::Mixed;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, parameter};

#[doc = include_str!("pooled.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// How many batches' worth of sequences are sorted together.
    pub batches: u32,
}

parameter!(Pooled "pooled" { batches: 1.. => 50 } AT_LEAST_ONE);

impl Group for Pooled {
    fn describe(&self) -> String {
        format!("pooled:batches={}", self.batches)
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let mixed = Mixed::new(lengths, limit, rng, Purpose::Shuffle)?;
        let (mut ends, mut end) = (Vec::new(), 0);
        while end < lengths.len() {
            end += limit.prefix_for(mixed.padded(end, limit), self.batches);
            ends.push(end as u32);
        }
        let order = mixed.sorted(&ends, |_| true, limit);
        Ok(Groups::trusted(order, ends).short_anywhere(rng))
    }
}
