use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keys::Random;
use crate::strategy::group::{Group, Inner};

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
