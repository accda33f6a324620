//! What errors are about.

/// What an [`Error`](crate::Error) is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Lengths that cannot be planned.
    Lengths,
    /// Sequences that exceed the budget alone.
    Budget,
    /// A setting, or settings that do not go together.
    Setting,
    /// Ranks and shards.
    Rank,
    /// A cursor, or the state of a stream.
    State,
    /// Measured steps.
    Cost,
}
