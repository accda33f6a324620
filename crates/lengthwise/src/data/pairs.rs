//! Sequences that have two lengths: a source and a target, frames and tokens.

use std::ops::Deref;

use crate::data::lengths::Lengths;
use crate::error::Error;

/// Two lengths for each sequence: a batch then has two rectangles, and padding in both.
///
/// It is a [`Lengths`] of the first column that also holds the second. You can use it wherever lengths
/// are used: budgets then limit both, plans have batch lengths of both, and measures count both.
///
/// ```
/// use lengthwise::{Budget, Lengths, Pairs, Planner, strategy::Paired};
///
/// let frames = Lengths::new([500, 480, 1200, 1180])?;
/// let tokens = Lengths::new([40, 60, 95, 110])?;
/// let pairs = Pairs::new(frames, tokens)?;
/// let plan = Planner::new(Paired::default(), Budget::padded(2700)).plan(&pairs, 0)?;
/// assert_eq!(plan.len(), 2); // 2 · (500 + 60) and 2 · (1200 + 110) cells
/// assert!(plan.second_batch_lengths().is_some_and(|lengths| lengths.contains(&110)));
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs(Lengths);

impl Pairs {
    /// Takes the first and the second lengths, one of each for every sequence. Neither may be a
    /// [part](Lengths::part_of) of a corpus or have second lengths itself.
    pub fn new(first: Lengths, second: Lengths) -> Result<Self, Error> {
        if first.len() != second.len() {
            return Err(Error::UnequalCounts { first: first.len(), second: second.len() });
        }
        for one in [&first, &second] {
            let what = match (one.part(), one.second()) {
                (Some(_), _) => "a part of a corpus",
                (_, Some(_)) => "one of two lengths",
                (None, None) => continue,
            };
            return Err(Error::SecondLengths { what: what.to_owned() });
        }
        Ok(Self(first.with_second(second)))
    }

    /// The first lengths, which know the second.
    pub fn into_lengths(self) -> Lengths {
        self.0
    }
}

impl Deref for Pairs {
    type Target = Lengths;

    fn deref(&self) -> &Lengths {
        &self.0
    }
}

impl From<Pairs> for Lengths {
    fn from(pairs: Pairs) -> Self {
        pairs.0
    }
}
