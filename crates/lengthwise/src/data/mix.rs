//! How much of every kind an epoch has.

use std::{fmt, str::FromStr};

use crate::error::Error;
use crate::math::short;

/// How much of every [kind](crate::Lengths::kinds) an epoch has: a weight for each, in the order in which the kinds
/// first appear.
///
/// An epoch has as many groups of sequences as there are, and of every kind its exact share, rounded to whole groups.
/// Each kind goes through all its groups before one of them comes again, from epoch to epoch. So groups of a kind with a
/// larger share than it has of the data are repeated, and of one with a smaller share every epoch has others. Over the
/// epochs, all groups of a kind occur equally often, or once more.
///
/// ```
/// use lengthwise::groups::Mix;
///
/// let mix = Mix::new([0.7, 0.3])?;
/// assert_eq!(mix.counts(15), [11, 4]); // of 15 groups
/// assert_eq!(mix.to_string(), "0.7/0.3");
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mix(Vec<f64>);

const EXPECTED: &str = "a number from 0 to 1000000000 for each kind, not all of them 0";
const MOST: f64 = 1e9;

impl Mix {
    /// Takes weights of any sum.
    pub fn new(weights: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let weights = weights.into();
        let fits = |&weight: &f64| (0.0..=MOST).contains(&weight);
        if weights.iter().all(fits) && weights.iter().any(|&weight| weight > 0.0) {
            return Ok(Self(weights.into_iter().map(|weight| weight + 0.0).collect()));
        }
        Err(Error::bad_value("the mix of kinds", &text(&weights), EXPECTED))
    }

    /// The weight of every kind.
    pub fn weights(&self) -> &[f64] {
        &self.0
    }

    /// How many of so many groups are of each kind: rounded down, and those with the largest remainders have
    /// one more.
    pub fn counts(&self, groups: u32) -> Vec<u32> {
        let sum: f64 = self.0.iter().sum();
        let shares: Vec<f64> =
            self.0.iter().map(|weight| f64::from(groups) * (weight / sum)).collect();
        let mut counts: Vec<u32> = shares.iter().map(|share| *share as u32).collect();
        let mut rest: Vec<usize> = (0..shares.len()).filter(|&kind| shares[kind] > 0.0).collect();
        rest.sort_by(|&a, &b| {
            let [a, b] = [a, b].map(|kind| shares[kind].fract());
            b.total_cmp(&a)
        });
        let left = groups.saturating_sub(counts.iter().sum());
        for &kind in rest.iter().cycle().take(left as usize) {
            counts[kind] += 1;
        }
        counts
    }
}

fn text(weights: &[f64]) -> String {
    weights.iter().map(|&weight| short(weight)).collect::<Vec<_>>().join("/")
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&self.0))
    }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let weights = given.split('/').map(|weight| weight.trim().parse::<f64>());
        let weights = weights.collect::<Result<Vec<f64>, _>>();
        Self::new(weights.map_err(|_| Error::bad_value("the mix of kinds", given, EXPECTED))?)
    }
}
