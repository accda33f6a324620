//! What an error tells others: what it is about, and what to do about it. Each face has its own words
//! for that.

use crate::error::Error;
use crate::error::words::text;

impl Error {
    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        self.listed_kind().0
    }

    /// The sequence, or the measured step, that it is about: the first, if there are several.
    pub fn index(&self) -> Option<usize> {
        self.listed_kind().1
    }

    /// What to do about it; nothing where the caller asked for it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.listed_remedy()
    }

    /// What to do about it, in the words of this crate, in one line, without the word "hint".
    pub fn hint(&self) -> Option<String> {
        self.remedy().map(Remedy::hint)
    }

    /// At least one example of every error, for tests of what each face says about them.
    #[doc(hidden)]
    pub fn examples() -> Vec<Error> {
        Self::listed_examples()
    }

    /// A value that a setting does not accept, and what it must be.
    pub(crate) fn bad_value(
        of: impl Into<String>,
        given: &(impl ToString + ?Sized),
        expected: impl Into<String>,
    ) -> Self {
        let (of, given, expected) = (of.into(), given.to_string(), expected.into());
        Error::BadValue { of, given, expected }
    }

    /// What is left of a bound on memory; refused if there is too little.
    pub(crate) fn check_memory(
        needed: u64,
        bound: u64,
        what: impl FnOnce() -> String,
    ) -> Result<u64, Error> {
        bound.checked_sub(needed).ok_or_else(|| Error::OverMemory { what: what(), needed, bound })
    }

    /// The same where so many bytes more are taken of the bound.
    pub(crate) fn with_memory(self, more: u64) -> Self {
        match self {
            Error::OverMemory { what, needed, bound } => {
                Error::OverMemory { what, needed: needed + more, bound: bound + more }
            }
            other => other,
        }
    }
}

impl std::error::Error for Error {}

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

/// What to do about an [`Error`](crate::Error).
///
/// A remedy is a fact and no sentence: the command line words it with its flags, Python with its
/// keywords, and [`Error::hint`](crate::Error::hint) with the methods of this crate. What is the same for
/// all of them is [`Advice`](Remedy::Advice).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// A sentence that names no flag, keyword or method.
    Advice(String),
    /// Raise the budget, at least to this if that is known, as in "5210 cells"; or choose what happens
    /// to sequences that are too long.
    RaiseBudget(Option<String>),
    /// Raise the seconds of the budget at least to this, or choose what happens to over-long sequences.
    RaiseSeconds(String),
    /// Raise the capacity of rows at least to this, or choose what happens to over-long sequences.
    RaiseCapacity(u64),
    /// Give a second length for each sequence.
    GiveSecondLengths,
    /// Use this name, or look at the list of all.
    DidYouMean(&'static str),
    /// Use fewer ranks, or do not drop the batches that fill no step.
    KeepTail,
    /// Fix the number of batches at so many or more, or have it chosen.
    RaiseBatches(usize),
    /// Raise the bound on memory to this or more, as in "2.1GB".
    RaiseMemory(String),
    /// Use statistics of the lengths of all shards.
    GatherStatistics,
    /// Make the lengths a part of the statistics of all shards.
    GiveStatistics,
    /// Say which shard it is, and of how many.
    NameShard,
    /// Count what every shard needs, and merge that into the statistics.
    CountNeeds,
}

impl Remedy {
    /// In the words of this crate.
    pub(crate) fn hint(self) -> String {
        let or_choose = |what: &str, to: Option<String>| {
            let to = to.map(|to| format!(" to at least {to}")).unwrap_or_default();
            format!(
                "raise the {what}{to}, or choose what happens to sequences that are too long, by \
                 `Planner::over_long`"
            )
        };
        match self {
            Remedy::Advice(advice) => advice,
            Remedy::RaiseBudget(to) => or_choose("budget", to),
            Remedy::RaiseSeconds(to) => or_choose("limit", Some(to)),
            Remedy::RaiseCapacity(to) => or_choose("capacity", Some(to.to_string())),
            Remedy::DidYouMean(name) => format!("did you mean `{name}`? `NAMES` lists all"),
            Remedy::RaiseBatches(least) => format!(
                "fix the number at {least} or more, or let `Planner::constant_steps` choose it"
            ),
            Remedy::RaiseMemory(to) => format!(
                "raise the bound of `Workspace::memory` to {to} or more; `shuffled`, `sorted`, \
                 `semi-sorted`, `blurred` and buckets of lengths take least"
            ),
            Remedy::GiveSecondLengths => {
                text("give a second length for each sequence, by `Pairs::new`")
            }
            Remedy::KeepTail => {
                text("use fewer ranks, or `Tail::Split` or `Tail::Repeat` in `Planner::tail`")
            }
            Remedy::GatherStatistics => {
                text("use statistics of the lengths of all shards, by `Statistics::of` and `merge`")
            }
            Remedy::GiveStatistics => text(
                "make the lengths a part of the statistics of all shards, by `Lengths::part_of`",
            ),
            Remedy::NameShard => {
                text("say which shard it is, and of how many, by `Planner::shard`")
            }
            Remedy::CountNeeds => {
                text("merge what `Planner::needs` gives for every shard into the statistics")
            }
        }
    }
}
