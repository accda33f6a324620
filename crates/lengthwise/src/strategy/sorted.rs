use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keys::Random;
use crate::strategy::group::{Group, Inner};

#[doc = include_str!("sorted.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorted;

impl Inner for Sorted {}

impl Group for Sorted {
    fn describe(&self) -> String {
        "sorted".to_owned()
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        let shortest = lengths.min();
        let place = |length: u32| length - shortest;
        let keys = Random::within(place(lengths.max()), place, rng, Purpose::Shuffle);
        Ok(Groups::one(lengths, limit, &keys)?.short_anywhere(rng))
    }
}
