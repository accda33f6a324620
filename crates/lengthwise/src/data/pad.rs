//! What a batch is padded to.

/// What a batch is padded to: its batch length, and the second one, which is 0 where sequences have
/// one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pad {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

impl Pad {
    /// Of a batch of one length.
    pub(crate) const fn one(first: u32) -> Self {
        Self { first, second: 0 }
    }

    /// What is at least as long as both.
    pub(crate) fn over(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), second: self.second.max(other.second) }
    }

    /// Both together: what stands for the length wherever one number is asked for.
    pub(crate) fn joint(self) -> u32 {
        self.first.saturating_add(self.second)
    }

    pub(crate) fn cells(self, rows: u32) -> u64 {
        u64::from(rows).saturating_mul(u64::from(self.first) + u64::from(self.second))
    }
}
