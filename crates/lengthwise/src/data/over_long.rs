//! What happens to sequences that exceed the budget even alone.

use std::{fmt, str::FromStr};

use crate::base::{error::Error, setting::Setting};

/// What happens to sequences that exceed the budget even alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverLong {
    /// No plan is made; the error names the first one and counts the others.
    #[default]
    Error,
    /// Each is a batch of its own, which exceeds the budget; a batch length of its own too, on any
    /// ladder.
    Alone,
    /// They are left out; [`Plan::left_out`](crate::Plan::left_out) lists them.
    Drop,
    /// They are planned as if cut to what fits; [`Plan::truncated`](crate::Plan::truncated) lists
    /// them.
    Truncate,
}

impl OverLong {
    /// The names, as in string forms.
    pub const NAMES: [&str; 4] = ["error", "alone", "drop", "truncate"];

    const ALL: [OverLong; 4] =
        [OverLong::Error, OverLong::Alone, OverLong::Drop, OverLong::Truncate];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FromStr for OverLong {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let setting = Setting::parse("treatment of over-long sequences", &Self::NAMES, given)?;
        let name = setting.name();
        setting.finish()?;
        Ok(Self::ALL.into_iter().find(|over_long| over_long.name() == name).unwrap_or_default())
    }
}

impl fmt::Display for OverLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
