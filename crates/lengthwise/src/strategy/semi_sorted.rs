use crate::base::rng::Rng;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keys::Noisy;
use crate::strategy::group::{Group, Inner, parameter};

#[doc = include_str!("semi_sorted.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SemiSorted {
    /// The full width of the noise, as a share of the range of lengths: paper 2's LRF.
    pub noise: f64,
}

parameter!(SemiSorted "semi-sorted" { noise: 0.0..=1e9 => 0.1 } "a number from 0 to 1000000000");

impl Group for SemiSorted {
    fn describe(&self) -> String {
        format!("semi-sorted:noise={}", self.noise)
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let shortest = lengths.shortest();
        let range = f64::from(lengths.longest() - shortest);
        let width = self.noise * range;
        // length + U(−width/2, width/2), moved to begin at 0 and stretched over the integers of
        // 32 bits: neither changes the order. Without noise distinct lengths stay distinct.
        let stretch = f64::from(u32::MAX) / (range + width).max(1.0);
        let place = |length: u32| f64::from(length - shortest);
        let noise = |word: u32| width * (f64::from(word) / 4_294_967_296.0);
        let keys = Noisy { rng, place, noise, stretch };
        Ok(Groups::one(lengths, limit, &keys)?.short_anywhere(rng))
    }
}
