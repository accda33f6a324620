//! What an error is about, and one example of each.

use crate::error::Error;

/// What an [`Error`] is about.
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

impl Error {
    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NoSequences
            | Error::TooManySequences { .. }
            | Error::BadLength { .. }
            | Error::BeyondStatistics { .. } => ErrorKind::Lengths,
            Error::OverBudget { .. }
            | Error::OverBudgetPair { .. }
            | Error::OverBudgetShape { .. }
            | Error::OverBudgetSeconds { .. }
            | Error::OverCapacity { .. }
            | Error::OverLongElsewhere { .. } => ErrorKind::Budget,
            Error::BadStep { .. } | Error::TooFewSteps { .. } | Error::PoorFit { .. } => {
                ErrorKind::Cost
            }
            Error::NoRanks
            | Error::BadRank { .. }
            | Error::TooManyRanks { .. }
            | Error::TooFewForRanks { .. }
            | Error::NoFullStep { .. }
            | Error::BadShard { .. }
            | Error::SmallShard { .. } => ErrorKind::Rank,
            Error::OtherRun { .. }
            | Error::CursorBeyondEnd { .. }
            | Error::TooManySteps { .. }
            | Error::RanksApart { .. }
            | Error::RanksOfOtherRuns { .. }
            | Error::BadCursor { .. }
            | Error::OtherStream { .. }
            | Error::BadState { .. }
            | Error::StreamTooShort { .. }
            | Error::NotNeeded { .. } => ErrorKind::State,
            Error::UnequalCounts { .. }
            | Error::NoSecond { .. }
            | Error::SecondLengths { .. }
            | Error::UnknownName { .. }
            | Error::UnknownKey { .. }
            | Error::BadValue { .. }
            | Error::LadderTooShort { .. }
            | Error::LengthOverflow { .. }
            | Error::TooManyBatches { .. }
            | Error::BadPlan { .. }
            | Error::Stopped
            | Error::OverMemory { .. }
            | Error::BadStatistics { .. }
            | Error::NoStatistics
            | Error::NoShard
            | Error::NotCounted { .. }
            | Error::CountedTwice { .. }
            | Error::OtherNeeds { .. }
            | Error::BadGroups { .. } => ErrorKind::Setting,
        }
    }

    /// The sequence, or the measured step, that it is about: the first, if there are several.
    pub fn index(&self) -> Option<usize> {
        match self {
            Error::BadLength { index, .. }
            | Error::OverBudget { index, .. }
            | Error::OverBudgetPair { index, .. }
            | Error::OverBudgetShape { index, .. }
            | Error::OverBudgetSeconds { index, .. }
            | Error::OverCapacity { index, .. }
            | Error::LadderTooShort { index, .. }
            | Error::BeyondStatistics { index, .. }
            | Error::BadStep { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// At least one example of every error, for tests of what each face says about them.
    #[doc(hidden)]
    pub fn examples() -> Vec<Error> {
        let mut all = Self::examples_of_sequences();
        all.extend(Self::examples_of_settings());
        all.extend(Self::examples_of_ranks());
        all.extend(Self::examples_of_shards());
        all
    }

    fn examples_of_sequences() -> Vec<Error> {
        let (index, length, cells, count) = (3, 90, 90, 2);
        let mut all = vec![
            Error::NoSequences,
            Error::TooManySequences { count: 1 << 33 },
            Error::BadLength { index, given: "-8".to_owned() },
            Error::LadderTooShort { top: 60, index, length },
            Error::LengthOverflow { length: u32::MAX, multiple: 8 },
            Error::BeyondStatistics { index, length, longest: 60 },
            Error::OverBudgetShape {
                index,
                lengths: [90, 7],
                padded: [96, 8],
                budget: "padded:60".to_owned(),
                count,
            },
            Error::OverBudgetSeconds {
                index,
                length,
                padded: 96,
                seconds: 0.11,
                limit: 0.1,
                count,
                largest: 0.12,
            },
            Error::OverLongElsewhere { longest: 90, what: "the top rung is 60".to_owned() },
        ];
        for treatment in ["error", "alone", "drop", "truncate"] {
            let (limit, capacity, largest) = (60, 60, 96);
            all.push(Error::OverBudget { index, length, cells, limit, count, largest, treatment });
            all.push(Error::OverCapacity {
                index,
                length,
                cells,
                capacity,
                count,
                largest,
                treatment,
            });
            let (lengths, side) = ([90, 7], "first");
            all.push(Error::OverBudgetPair {
                index,
                lengths,
                side,
                cells,
                limit,
                count,
                treatment,
            });
        }
        all
    }

    fn examples_of_settings() -> Vec<Error> {
        let text = |text: &str| text.to_owned();
        let (kind, given) = ("strategy", text("sortd"));
        vec![
            Error::UnequalCounts { first: 3, second: 2 },
            Error::NoSecond { what: text("strategy `paired`") },
            Error::SecondLengths { what: text("strategy `packed`") },
            Error::BadStep { index: 1, what: "batch size", given: text("0") },
            Error::TooFewSteps { what: text("there are 3 measured steps") },
            Error::PoorFit { mean_relative_error: 0.7, r2: 0.2 },
            Error::UnknownName {
                kind,
                given: given.clone(),
                nearest: Some("sorted"),
                known: vec!["shuffled", "sorted"],
            },
            Error::UnknownName { kind, given, nearest: None, known: vec!["shuffled", "sorted"] },
            Error::UnknownKey { of: text("budget `padded`"), given: text("x"), known: vec![] },
            Error::UnknownKey { of: text("strategy"), given: text("x"), known: vec!["bins"] },
            Error::BadValue { of: text("`bins`"), given: text("0"), expected: text("from 1") },
            Error::BadPlan { what: text("batch 3 is empty") },
            Error::Stopped,
            Error::OverMemory { what: text("planning"), needed: 2_100_000_000, bound: 1000 },
            Error::BadGroups { what: text("sequence 3 is in it twice") },
            Error::TooManyBatches { batches: 9, fixed: 8 },
        ]
    }

    fn examples_of_ranks() -> Vec<Error> {
        let text = |text: &str| text.to_owned();
        let mut all = vec![
            Error::NoRanks,
            Error::BadRank { rank: 4, world_size: 4 },
            Error::TooManyRanks { world_size: 1 << 31, accumulate: 4 },
            Error::TooFewForRanks { sequences: 5, places: 8, world_size: 8 },
            Error::TooFewForRanks { sequences: 5, places: 8, world_size: 2 },
            Error::NoFullStep { batches: 3, places: 4 },
            Error::CursorBeyondEnd { ranks: 4, counted: 9, steps: 8 },
            Error::TooManySteps { asked: 9, steps: 8 },
            Error::RanksApart { rank: 1, steps: [8, 9] },
            Error::BadCursor { what: text("a step of 0 batches") },
            Error::BadState { what: text("rungs that do not rise") },
            Error::StreamTooShort { at: 5, read: 9 },
            Error::NotNeeded { position: 9, ended: false },
            Error::NotNeeded { position: 9, ended: true },
        ];
        for what in ["lengths", "plan", "strategy"].map(text) {
            let [one, other] = ["sorted", "shuffled"].map(text);
            let values = [one.clone(), other.clone()];
            all.push(Error::RanksOfOtherRuns { rank: 1, what: what.clone(), values });
            let (cursor, state) = (one.clone(), one);
            all.push(Error::OtherRun { what: what.clone(), cursor, plan: other.clone() });
            all.push(Error::OtherStream { what, state, now: other });
        }
        all
    }

    fn examples_of_shards() -> Vec<Error> {
        let text = |text: &str| text.to_owned();
        vec![
            Error::BadStatistics { what: text("they know nothing") },
            Error::BadShard { shard: 4, of: 4 },
            Error::NoStatistics,
            Error::NoShard,
            Error::NotCounted { counted: 0, first: 0, of: 4 },
            Error::NotCounted { counted: 2, first: 1, of: 4 },
            Error::CountedTwice { shard: 1 },
            Error::OtherNeeds { what: text("shards"), counted: text("4"), given: text("5") },
            Error::SmallShard { shard: 1, sequences: 5, batches: 8 },
        ]
    }
}
