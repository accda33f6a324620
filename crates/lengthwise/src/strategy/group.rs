//! What every strategy does.

use crate::base::rng::Rng;
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Row;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;

/// A way to group sequences: implement it to plan with a strategy of your own.
///
/// `group` must be a pure function: the same lengths, budget and random numbers give the same groups.
///
/// ```
/// use lengthwise::{Budget, Error, Lengths, Planner, custom::{Group, Groups, ResolvedBudget, Rng}};
///
/// /// Batches in the order of the data.
/// struct Unchanged;
///
/// impl Group for Unchanged {
///     fn group(&self, lengths: &Lengths, _: &ResolvedBudget, _: &Rng) -> Result<Groups, Error> {
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
    /// The name that identifies the strategy when a plan is resumed or read back. Two strategies that
    /// group differently should not have the same name.
    fn describe(&self) -> String {
        "own".to_owned()
    }

    /// What a row may hold, if several sequences share one: the groups are then rows, marked by
    /// [`packed`](Groups::packed). Most strategies have one row per sequence.
    fn row(&self) -> Option<Row> {
        None
    }

    /// Whether it stays within a bound on memory ([`Workspace::memory`](crate::Workspace::memory)) by
    /// itself, as strategies that sort by keys do: in several passes if needed. All others are assumed
    /// to need 56 bytes per sequence, and are refused if the bound is lower.
    fn in_passes(&self) -> bool {
        false
    }

    /// The most groups that it makes of these lengths, if it sorts in passes: each may end with a batch
    /// that is not full, which counts against a bound on memory.
    fn most_groups(&self, lengths: &Lengths) -> u64 {
        _ = lengths;
        1
    }

    /// For how many epochs it avoids repeating batch-mates: 1 for a strategy that draws every epoch
    /// independently. Two epochs of one cycle say nothing about how often batch-mates repeat later.
    fn cycle(&self, lengths: &Lengths, limit: &ResolvedBudget) -> u64 {
        _ = (lengths, limit);
        1
    }

    /// Orders all sequences and divides them into groups. No batch crosses two groups.
    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error>;
}

/// What each strategy of the list has besides [`Group`].
pub(crate) trait Inner: Group {
    /// Reads its parameters from the string form, if it has any.
    fn read(setting: &mut Setting) -> Result<Self, Error>
    where
        Self: Default,
    {
        _ = setting;
        Ok(Self::default())
    }

    /// Refuses parameters that make no sense.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The error for a parameter out of its range.
pub(crate) fn bad(
    strategy: &str,
    key: &str,
    given: &(impl ToString + ?Sized),
    expected: &str,
) -> Error {
    Error::bad_value(format!("`{key}` of strategy `{strategy}`"), given, expected)
}

/// Refuses zero for a count.
pub(crate) fn at_least_one(strategy: &str, key: &str, given: u32) -> Result<(), Error> {
    if given == 0 { Err(bad(strategy, key, &given, AT_LEAST_ONE)) } else { Ok(()) }
}

pub(crate) const AT_LEAST_ONE: &str = "a whole number from 1 to 4294967295";

/// Writes what a strategy of one parameter needs besides [`Group`]: its default, how it is read (also under
/// the `or` name, which it had before), and the refusal of values out of its range.
macro_rules! parameter {
    ($type:ident $name:literal { $key:ident $(or $old:ident)?: $range:expr => $default:expr } $expected:expr) => {
        impl Default for $type {
            fn default() -> Self {
                Self { $key: $default }
            }
        }

        impl Inner for $type {
            fn read(
                setting: &mut $crate::base::setting::Setting,
            ) -> Result<Self, $crate::error::Error> {
                $(setting.renamed(stringify!($old), stringify!($key));)?
                let given = setting.number(stringify!($key), $expected)?;
                Ok(Self { $key: given.unwrap_or($default) })
            }

            fn check(&self) -> Result<(), $crate::error::Error> {
                if ($range).contains(&self.$key) {
                    return Ok(());
                }
                Err($crate::strategy::group::bad($name, stringify!($key), &self.$key, $expected))
            }
        }
    };
}
pub(crate) use parameter;
