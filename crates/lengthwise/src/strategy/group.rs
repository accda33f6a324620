//! What every strategy does.

use std::fmt;

use crate::{
    base::{error::Error, rng::Rng},
    data::lengths::Lengths,
    limit::{resolved::Room, row::Row},
    order::groups::Groups,
};

/// A way to group sequences: implement it to plan with a strategy of your own.
///
/// Group must be a pure function: the same lengths, room and randomness give the same groups.
///
/// ```
/// use lengthwise::{Budget, Error, Group, Groups, Lengths, Planner, Rng, Room};
///
/// /// Batches in the order of the data.
/// struct Unchanged;
///
/// impl Group for Unchanged {
///     fn group(&self, lengths: &Lengths, _: &Room, _: &Rng) -> Result<Groups, Error> {
///         let count = lengths.len() as u32;
///         Groups::new((0..count).collect(), vec![count])
///     }
/// }
///
/// let lengths = Lengths::new([5, 9, 4])?;
/// let plan = Planner::new(Unchanged, Budget::sequences(2)).plan(&lengths, 0)?;
/// assert_eq!(plan.len(), 2);
/// # Ok::<(), Error>(())
/// ```
pub trait Group {
    /// What it is called where a plan is continued or read back: two strategies that group
    /// differently should not have one name.
    fn describe(&self) -> String {
        "own".to_owned()
    }

    /// What a row may hold, where several sequences share one: the groups are then rows, and say so
    /// by [`packed`](Groups::packed). Most strategies have batches of sequences with a row each.
    fn row(&self) -> Option<Row> {
        None
    }

    /// Whether it keeps a bound on memory ([`Workspace::memory`](crate::Workspace::memory)) by itself,
    /// as strategies do that sort by keys: in several passes, if need be. All others are taken to need
    /// 56 bytes for each sequence, and are refused where the bound is lower.
    fn in_passes(&self) -> bool {
        false
    }

    /// The most groups that it makes of these lengths, if it sorts in passes: each may end with a batch
    /// that is not full, which counts against a bound on memory.
    fn most_groups(&self, lengths: &Lengths) -> u64 {
        _ = lengths;
        1
    }

    /// Orders all sequences in groups that no batch may cross.
    fn group(&self, lengths: &Lengths, room: &Room, rng: &Rng) -> Result<Groups, Error>;
}

/// What each strategy of the list has besides [`Group`].
pub(crate) trait Inner: Group {
    /// The part of the string form after the name, with its colon.
    fn parameters(&self) -> String;

    /// Refuses parameters that make no sense.
    fn check(&self) -> Result<(), Error>;
}

/// The error for a parameter out of its range.
pub(crate) fn bad(strategy: &str, key: &str, given: impl fmt::Display, expected: &str) -> Error {
    Error::BadValue {
        of: format!("`{key}` of strategy `{strategy}`"),
        given: given.to_string(),
        expected: expected.to_owned(),
    }
}

/// Refuses zero for a count.
pub(crate) fn at_least_one(strategy: &str, key: &str, given: u32) -> Result<(), Error> {
    if given == 0 { Err(bad(strategy, key, given, AT_LEAST_ONE)) } else { Ok(()) }
}

pub(crate) const AT_LEAST_ONE: &str = "a whole number from 1 to 4294967295";
