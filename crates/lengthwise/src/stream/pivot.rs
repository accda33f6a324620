//! Around which sequence the next step grows.

use crate::base::setting::names;

/// Around which of the sequences that are held the next step grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pivot {
    /// The one that has been held for longest: nobody waits for more steps than the window has
    /// sequences.
    #[default]
    Oldest,
    /// The oldest near a place in the order of lengths that the seed and the number of the step decide:
    /// so ranks with streams of their own have batches of like length at the same time. One that has
    /// waited for two windows of steps goes first.
    Quantile,
}

impl Pivot {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["oldest", "quantile"];

    /// Every pivot.
    pub const ALL: [Pivot; 2] = [Pivot::Oldest, Pivot::Quantile];
}

names!(Pivot, "pivot");
