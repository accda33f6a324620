//! Which part of a corpus a node plans, and how many batches each shard must have.

use std::fmt;

use crate::base::digest::hex;
use crate::base::setting::{differ, difference};
use crate::error::Error;

#[doc = include_str!("shards.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// Returns shard `number`, from 0, of `of` shards.
    pub fn new(number: u32, of: u32) -> Result<Self, Error> {
        if number >= of {
            return Err(Error::BadShard { shard: number, of });
        }
        Ok(Self { number, of })
    }

    /// The manual page of shards, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("shards.md")
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// How many batches the shards of a corpus need with some settings.
///
/// [`Planner::needs`](crate::Planner::needs) counts the batches of one shard. Merge the needs of all
/// shards into the statistics to fix how many batches each of them takes in every epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The settings that the number depends on, as `name=value` with spaces between.
    pub settings: String,
    /// The [digest](crate::shard::Statistics::digest) of the statistics that they were counted with.
    pub statistics: u64,
    /// How many shards there are.
    pub of: u32,
    /// The shards that were counted, as ascending ranges: the first, and the one after the last.
    pub shards: Vec<[u32; 2]>,
    /// The most batches that any of them needs.
    pub most: u32,
    /// The fewest batches that any of them needs.
    pub least: u32,
    /// What they need together.
    pub sum: u64,
}

impl Needs {
    /// How many shards were counted.
    pub fn counted(&self) -> u32 {
        self.shards.iter().map(|[first, end]| end.saturating_sub(*first)).sum()
    }

    /// The first shard that was not counted.
    pub fn first_missing(&self) -> Option<u32> {
        match self.shards.first() {
            Some(&[0, end]) => (end < self.of).then_some(end),
            _ => Some(0),
        }
    }

    /// The share of all batches that exist only because other shards need more: these are halves of
    /// larger batches.
    pub fn added_share(&self) -> f64 {
        let all = u64::from(self.counted()) * u64::from(self.most);
        if all == 0 { 0.0 } else { 1.0 - self.sum as f64 / all as f64 }
    }

    /// Refuses what no shards can need.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let bad = |what: &str| Err(Error::BadStatistics { what: what.to_owned() });
        let mut before = None;
        for &[first, end] in &self.shards {
            if first >= end || before.is_some_and(|before| first <= before) || end > self.of {
                return bad("the counted shards are not among all shards");
            }
            before = Some(end);
        }
        let counted = u64::from(self.counted());
        let [most, least] = [self.most, self.least].map(u64::from);
        if counted == 0 || least == 0 || !(least * counted..=most * counted).contains(&self.sum) {
            return bad("the needs of the shards contradict each other");
        }
        Ok(())
    }

    /// Of all shards that are in one of them.
    pub(crate) fn merge(&self, other: &Self) -> Result<Self, Error> {
        self.same(&other.settings, other.of, other.statistics)?;
        let mut all = [&self.shards[..], &other.shards[..]].concat();
        all.sort_unstable();
        let mut shards: Vec<[u32; 2]> = Vec::with_capacity(all.len());
        for [first, end] in all {
            match shards.last_mut() {
                Some(last) if first < last[1] => return Err(Error::CountedTwice { shard: first }),
                Some(last) if first == last[1] => last[1] = end,
                _ => shards.push([first, end]),
            }
        }
        Ok(Self {
            shards,
            most: self.most.max(other.most),
            least: self.least.min(other.least),
            sum: self.sum.saturating_add(other.sum),
            ..self.clone()
        })
    }

    /// Refuses other settings or statistics, or another number of shards, and names the first difference.
    pub(crate) fn same(&self, settings: &str, of: u32, statistics: u64) -> Result<(), Error> {
        let found = differ("shards", [self.of, of])
            .or_else(|| difference(&self.settings, settings))
            .or_else(|| differ("statistics", [self.statistics, statistics].map(hex)));
        match found {
            Some((what, [counted, given])) => Err(Error::OtherNeeds { what, counted, given }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_agree_with_themselves() {
        let needs = |shards: &[[u32; 2]], [least, most]: [u32; 2], sum| Needs {
            settings: String::new(),
            statistics: 0,
            of: 9,
            shards: shards.to_vec(),
            most,
            least,
            sum,
        };
        for good in [
            needs(&[[0, 9]], [3, 5], 27),
            needs(&[[0, 9]], [3, 5], 45),
            needs(&[[1, 3], [4, 5]], [1, 1], 3),
        ] {
            assert_eq!(good.check(), Ok(()), "{good:?}");
        }
        for bad in [
            needs(&[[0, 9]], [3, 5], 26),
            needs(&[[0, 9]], [3, 5], 46),
            needs(&[[0, 9]], [0, 5], 9),
            needs(&[], [1, 1], 0),
            needs(&[[0, 10]], [1, 1], 10),
            needs(&[[3, 3]], [1, 1], 0),
            needs(&[[0, 3], [3, 5]], [1, 1], 5),
            needs(&[[4, 5], [1, 3]], [1, 1], 3),
        ] {
            assert!(matches!(bad.check(), Err(Error::BadStatistics { .. })), "{bad:?}");
        }
    }
}
