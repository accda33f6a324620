#![doc = include_str!("optimal_buckets.md")]

use crate::{
    base::{error::Error, rng::Rng, setting::Setting},
    data::lengths::Lengths,
    limit::resolved::Room,
    order::groups::Groups,
    shape::{ladder::ladder, rounding::Staircase},
    strategy::{
        Strategy, buckets,
        group::{AT_LEAST_ONE, Group, Inner, at_least_one},
    },
};

#[doc = include_str!("optimal_buckets.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimalBuckets {
    /// How many buckets: paper 3's Q.
    pub count: u32,
}

impl OptimalBuckets {
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        let count = setting.number("count", AT_LEAST_ONE)?;
        Ok(Self { count: count.unwrap_or(Self::default().count) })
    }
}

impl Default for OptimalBuckets {
    fn default() -> Self {
        Self { count: 6 }
    }
}

impl Inner for OptimalBuckets {
    fn parameters(&self) -> String {
        format!(":count={}", self.count)
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("optimal-buckets", "count", self.count)
    }
}

impl Group for OptimalBuckets {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn most_groups(&self, _: &Lengths) -> u64 {
        self.count.into()
    }

    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let steps = Staircase::new(ladder(lengths, self.count), lengths);
        buckets::by_length(lengths, room, rng, |length| steps.of(length))
    }
}
