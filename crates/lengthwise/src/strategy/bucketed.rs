#![doc = include_str!("bucketed.md")]

use crate::{
    base::{error::Error, rng::Rng, setting::Setting},
    data::lengths::Lengths,
    limit::resolved::Room,
    order::groups::Groups,
    strategy::{
        Strategy, buckets,
        group::{AT_LEAST_ONE, Group, Inner, at_least_one},
    },
};

#[doc = include_str!("bucketed.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucketed {
    /// How many sequences a bucket holds.
    pub size: u32,
}

impl Bucketed {
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        let size = setting.number("size", AT_LEAST_ONE)?;
        Ok(Self { size: size.unwrap_or(Self::default().size) })
    }
}

impl Default for Bucketed {
    fn default() -> Self {
        Self { size: 1024 }
    }
}

impl Inner for Bucketed {
    fn parameters(&self) -> String {
        format!(":size={}", self.size)
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("bucketed", "size", self.size)
    }
}

impl Group for Bucketed {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        buckets::by_rank(lengths, room, rng, self.size)
    }
}
