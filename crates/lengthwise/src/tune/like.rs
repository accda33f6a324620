//! The settings of equal memory, or of equal updates, if you train with a fixed batch size today.

use std::{fmt, str::FromStr};

use crate::base::setting::Setting;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::update::Update;

/// The batch size that you train with today. A batch may then take the same memory as that many of the
/// longest sequences. An update has as much data as fits, or, if steps are kept, as many sequences as
/// today.
///
/// ```
/// use lengthwise::{Budget, Update, tune::Like};
///
/// let like: Like = "32,keep=steps".parse()?;
/// assert_eq!(like.budget(), Budget::dynamic(32));
/// assert_eq!(like.update(8), Some(Update::Sequences(256)));
/// assert_eq!("32".parse::<Like>()?.update(8), None);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Like {
    /// Sequences of a batch today.
    pub batch_size: u32,
    /// Whether an epoch keeps as many optimizer steps as it has today.
    pub keep_steps: bool,
}

const EXPECTED: &str = "a batch size from 1, as in `32`";

impl Like {
    /// The budget of equal memory.
    pub const fn budget(self) -> Budget {
        Budget::dynamic(self.batch_size)
    }

    /// The update that keeps the optimizer steps on this many ranks, if they are kept.
    pub fn update(self, ranks: u32) -> Option<Update> {
        let sequences = u64::from(self.batch_size) * u64::from(ranks);
        self.keep_steps.then_some(Update::Sequences(sequences))
    }

    /// How many optimizer steps an epoch of this many sequences has today.
    pub(crate) fn steps(self, sequences: usize, ranks: u32) -> u64 {
        (sequences as u64).div_ceil(u64::from(self.batch_size) * u64::from(ranks))
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.batch_size, if self.keep_steps { ",keep=steps" } else { "" })
    }
}

impl FromStr for Like {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let mut setting = Setting::split("`like`".to_owned(), "", given)?;
        let batch_size = setting.required_number(EXPECTED)?;
        if batch_size == 0 {
            return Err(Error::bad_value("`like`", &batch_size, EXPECTED));
        }
        let keep_steps = match setting.text("keep") {
            None | Some("memory") => false,
            Some("steps") => true,
            Some(other) => {
                return Err(Error::bad_value(setting.of("keep"), other, "`memory` or `steps`"));
            }
        };
        setting.finish()?;
        Ok(Self { batch_size, keep_steps })
    }
}
