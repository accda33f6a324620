#![doc = include_str!("shuffled.md")]

use crate::{
    base::{
        error::Error,
        rng::{Purpose, Rng},
        setting::Setting,
    },
    data::lengths::Lengths,
    limit::resolved::Room,
    order::{groups::Groups, keys::Random},
    strategy::{
        Strategy,
        group::{Group, Inner},
    },
};

#[doc = include_str!("shuffled.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shuffled;

impl Shuffled {
    #[expect(clippy::unnecessary_wraps, reason = "every strategy is read the same way")]
    pub(crate) fn read(_: &mut Setting) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Inner for Shuffled {
    fn parameters(&self) -> String {
        String::new()
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Group for Shuffled {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        Groups::one(lengths, room, &Random::within(0, |_| 0, rng, Purpose::Shuffle))
    }
}
