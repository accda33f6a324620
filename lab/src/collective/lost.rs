//! A worker that does not come any more.

use std::fmt;

use crate::error::Error;

/// A worker does not come any more: it failed, or it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which, where that is known.
    pub rank: Option<usize>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "worker {rank} is lost"),
            None => f.write_str("a worker is lost, or too slow to stop"),
        }
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        Error::new(
            lost.to_string(),
            "the same command continues from the last checkpoint, with as many workers or another number",
        )
    }
}
