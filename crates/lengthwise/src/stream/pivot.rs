//! Around which sequence the next step grows.

use std::{fmt, str::FromStr};

use crate::base::{error::Error, setting::Setting};

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

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FromStr for Pivot {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let setting = Setting::parse("pivot", &Self::NAMES, given)?;
        let name = setting.name();
        setting.finish()?;
        Ok(if name == "quantile" { Self::Quantile } else { Self::Oldest })
    }
}

impl fmt::Display for Pivot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
