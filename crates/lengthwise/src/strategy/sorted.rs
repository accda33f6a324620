#![doc = include_str!("sorted.md")]

use crate::{
    base::rng::{Purpose, Rng},
    data::lengths::Lengths,
    error::Error,
    limit::resolved::ResolvedBudget,
    order::{groups::Groups, keys::Random},
    strategy::group::{Group, Inner},
};

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
