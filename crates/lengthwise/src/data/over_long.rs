//! What happens to sequences that exceed the budget even alone.

use crate::base::setting::names;

/// What happens to sequences that exceed the budget even alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverLong {
    /// No plan is made; the error names the first one and counts the others.
    #[default]
    Error,
    /// Each is a batch of its own, which exceeds the budget. It has its own batch length, even with a
    /// ladder.
    Alone,
    /// They are left out; [`Plan::left_out`](crate::Plan::left_out) lists them.
    Drop,
    /// They are planned as if cut to what fits: [`Plan::truncated`](crate::Plan::truncated).
    Truncate,
}

impl OverLong {
    /// The names, as in string forms.
    pub const NAMES: [&str; 4] = ["error", "alone", "drop", "truncate"];

    const ALL: [OverLong; 4] =
        [OverLong::Error, OverLong::Alone, OverLong::Drop, OverLong::Truncate];
}

names!(OverLong, "treatment of over-long sequences");
