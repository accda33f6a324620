#![doc = include_str!("alternated.md")]

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

#[doc = include_str!("alternated.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternated {
    /// How many bins the shuffled order is divided into.
    pub bins: u32,
}

impl Alternated {
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        let bins = setting.number("bins", AT_LEAST_ONE)?;
        Ok(Self { bins: bins.unwrap_or(Self::default().bins) })
    }
}

impl Default for Alternated {
    fn default() -> Self {
        Self { bins: 64 }
    }
}

impl Inner for Alternated {
    fn parameters(&self) -> String {
        format!(":bins={}", self.bins)
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("alternated", "bins", self.bins)
    }
}

impl Group for Alternated {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        // More bins than sequences are as many bins of one.
        let bins = u64::from(self.bins.min(lengths.count()));
        let end = |bin: u64| ((bin + 1) * u64::from(lengths.count()) / bins) as u32;
        let ends: Vec<u32> = (0..bins).map(end).collect();
        // The paper counts bins from 1: the first is odd and ascends.
        let first = |bin: usize| if bin.is_multiple_of(2) { First::Short } else { First::Long };
        let order = Mixed::new(lengths, room, rng, Purpose::Shuffle)?.sorted(&ends, first, room);
        Ok(Groups::sorted(order, vec![lengths.count()]).short_anywhere(rng))
    }
}
