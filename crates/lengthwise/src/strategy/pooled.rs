#![doc = include_str!("pooled.md")]

use crate::{
    base::{
        error::Error,
        rng::{Purpose, Rng},
        setting::Setting,
    },
    data::lengths::Lengths,
    limit::resolved::Room,
    order::{
        groups::Groups,
        windows::{First, Mixed},
    },
    strategy::{
        Strategy,
        group::{AT_LEAST_ONE, Group, Inner, at_least_one},
    },
};

#[doc = include_str!("pooled.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// How many batches' worth of sequences are sorted together.
    pub batches: u32,
}

impl Pooled {
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        let batches = setting.number("batches", AT_LEAST_ONE)?;
        Ok(Self { batches: batches.unwrap_or(Self::default().batches) })
    }
}

impl Default for Pooled {
    fn default() -> Self {
        Self { batches: 50 }
    }
}

impl Inner for Pooled {
    fn parameters(&self) -> String {
        format!(":batches={}", self.batches)
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("pooled", "batches", self.batches)
    }
}

impl Group for Pooled {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let mixed = Mixed::new(lengths, room, rng, Purpose::Shuffle)?;
        let (mut ends, mut end) = (Vec::new(), 0);
        while end < lengths.len() {
            end += room.prefix_for(mixed.padded(end, room), self.batches);
            ends.push(end as u32);
        }
        let order = mixed.sorted(&ends, |_| First::Long, room);
        Ok(Groups::sorted(order, ends).short_anywhere(rng))
    }
}
