#![doc = include_str!("sorted.md")]

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

#[doc = include_str!("sorted.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorted;

impl Sorted {
    #[expect(clippy::unnecessary_wraps, reason = "every strategy is read the same way")]
    pub(crate) fn read(_: &mut Setting) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Inner for Sorted {
    fn parameters(&self) -> String {
        String::new()
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Group for Sorted {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        let shortest = lengths.min();
        let place = |length: u32| length - shortest;
        let keys = Random::within(place(lengths.max()), place, rng, Purpose::Shuffle);
        Ok(Groups::one(lengths, room, &keys)?.short_anywhere(rng))
    }
}
