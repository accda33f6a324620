//! The lengths of sequences that stay together.

/// What each group holds: the lengths of its sequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    lengths: Vec<u32>,
    ends: Vec<u32>,
}

impl Members {
    /// Adds a group.
    pub(crate) fn push(&mut self, lengths: impl Iterator<Item = u32>) {
        self.lengths.extend(lengths);
        self.ends.push(self.lengths.len() as u32);
    }

    /// The lengths of one group.
    pub(crate) fn of(&self, group: u32) -> &[u32] {
        let at = group as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.lengths[start as usize..self.ends[at] as usize]
    }

    /// The longest of all.
    pub(crate) fn longest(&self) -> u32 {
        self.lengths.iter().copied().max().unwrap_or(0)
    }
}
