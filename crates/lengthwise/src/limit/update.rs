//! How much data an optimizer step has.

use std::{fmt, str::FromStr};

use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;

/// How much data an optimizer step has, over all ranks and micro-batches. A plan keeps it within a few per
/// cent in every step: an epoch has the nearest whole number of steps.
///
/// ```
/// use lengthwise::Update;
///
/// assert_eq!("tokens:29000".parse(), Ok(Update::Tokens(29_000)));
/// assert_eq!(Update::Sequences(256).to_string(), "sequences:256");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Update {
    /// This many tokens, frames or other positions, padding not counted; of both lengths, if there are two.
    Tokens(u64),
    /// This many sequences.
    Sequences(u64),
}

impl Update {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["tokens", "sequences"];

    /// How many steps an epoch of these lengths has.
    pub(crate) fn steps(self, lengths: &Lengths) -> f64 {
        match self {
            Update::Tokens(tokens) => lengths.positions() as f64 / tokens as f64,
            Update::Sequences(sequences) => lengths.len() as f64 / sequences as f64,
        }
    }

    pub(crate) fn check(self) -> Result<(), Error> {
        let (Update::Tokens(count) | Update::Sequences(count)) = self;
        if count > 0 {
            return Ok(());
        }
        Err(Error::bad_value("the size of an update", &self, EXPECTED))
    }
}

const EXPECTED: &str = "a whole number from 1";

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Update::Tokens(tokens) => write!(f, "tokens:{tokens}"),
            Update::Sequences(sequences) => write!(f, "sequences:{sequences}"),
        }
    }
}

impl FromStr for Update {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let mut setting = Setting::parse("update", &Self::NAMES, given)?;
        let count = setting.required_number(EXPECTED)?;
        let update = match setting.name {
            "tokens" => Update::Tokens(count),
            _ => Update::Sequences(count),
        };
        setting.finish()?;
        update.check()?;
        Ok(update)
    }
}
