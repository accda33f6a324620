//! Rows that several sequences share, one after another.

use crate::{base::error::Error, limit::resolved::Room, shape::shapes::Shapes};

/// What one row may hold where several sequences share it, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The most positions.
    pub capacity: u32,
    /// The most sequences.
    pub at_most: u32,
}

impl Row {
    /// The row that also keeps the budget, and that the shapes can round up to.
    pub(crate) fn within(self, room: &Room, shapes: &Shapes) -> Self {
        let capacity = self.capacity.min(room.longest_alone());
        let at_most = self.at_most.min(room.at_most());
        Self { capacity: shapes.longest_within(capacity), at_most }
    }

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
