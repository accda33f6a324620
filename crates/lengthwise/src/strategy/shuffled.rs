#![doc = include_str!("shuffled.md")]

use crate::{
    base::rng::{Purpose, Rng},
    data::lengths::Lengths,
    error::Error,
    limit::resolved::ResolvedBudget,
    order::{groups::Groups, keys::Random},
    strategy::group::{Group, Inner},
};

#[doc = include_str!("shuffled.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shuffled;

impl Inner for Shuffled {}

impl Group for Shuffled {
    fn describe(&self) -> String {
        "shuffled".to_owned()
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        Groups::one(lengths, limit, &Random::within(0, |_| 0, rng, Purpose::Shuffle))
    }
}
