#![doc = include_str!("alternated.md")]

use super::{AT_LEAST_ONE, Group, Inner, Strategy, at_least_one};
use crate::{Error, Groups, Lengths, Purpose, Rng, Room, settings::Setting, sort};

#[doc = include_str!("alternated.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternated {
    /// How many bins the shuffled order is divided into.
    pub bins: u32,
}

impl Alternated {
    pub(super) fn read(setting: &mut Setting) -> Result<Self, Error> {
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

    fn group(&self, lengths: &Lengths, _: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let mut order = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
        // More bins than sequences are as many bins of one.
        let bins = u64::from(self.bins.min(lengths.count()));
        let start = |bin: u64| (bin * u64::from(lengths.count()) / bins) as usize;
        for bin in 0..bins {
            let bin_order = &mut order[start(bin)..start(bin + 1)];
            // The paper counts bins from 1: the first is odd and ascends.
            if bin % 2 == 0 {
                sort::by_key(bin_order, |sequence| lengths.of(sequence));
            } else {
                sort::by_key(bin_order, |sequence| !lengths.of(sequence));
            }
        }
        Ok(Groups::trusted(order, vec![lengths.count()]))
    }
}
