//! Rows that several sequences share, one after another.

use crate::error::Error;

/// What one row may hold where several sequences share it, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The most positions.
    pub capacity: u32,
    /// The most sequences.
    pub at_most: u32,
}

impl Row {
    /// Refuses rows that hold too much: a strategy may be the user's own.
    pub(crate) fn check(self, row: &[u32], sum: u64) -> Result<(), Error> {
        let what = if sum > u64::from(self.capacity) {
            format!("a row holds {sum} positions of {}", self.capacity)
        } else if row.len() > self.at_most as usize {
            format!("a row holds {} sequences of {}", row.len(), self.at_most)
        } else {
            return Ok(());
        };
        Err(Error::BadGroups { what })
    }
}
