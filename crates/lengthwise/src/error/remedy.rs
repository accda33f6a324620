//! What to do about an error. The facts are here; each face has its own words for them.

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
        let fixed = match self {
            Remedy::Advice(advice) => return advice,
            Remedy::RaiseBudget(to) => return or_choose("budget", to),
            Remedy::RaiseSeconds(to) => return or_choose("limit", Some(to)),
            Remedy::RaiseCapacity(to) => return or_choose("capacity", Some(to.to_string())),
            Remedy::DidYouMean(name) => return format!("did you mean `{name}`? `NAMES` lists all"),
            Remedy::RaiseBatches(least) => {
                return format!(
                    "fix the number at {least} or more, or let `Planner::constant_steps` choose it"
                );
            }
            Remedy::RaiseMemory(to) => {
                return format!(
                    "raise the bound of `Workspace::memory` to {to} or more; `shuffled`, `sorted`, \
                     `semi-sorted`, `blurred` and buckets of lengths take least"
                );
            }
            Remedy::GiveSecondLengths => "give a second length for each sequence, by `Pairs::new`",
            Remedy::KeepTail => {
                "use fewer ranks, or `Tail::Split` or `Tail::Repeat` in `Planner::tail`"
            }
            Remedy::GatherStatistics => {
                "use statistics of the lengths of all shards, by `Statistics::of` and `merge`"
            }
            Remedy::GiveStatistics => {
                "make the lengths a part of the statistics of all shards, by `Lengths::part_of`"
            }
            Remedy::NameShard => "say which shard it is, and of how many, by `Planner::shard`",
            Remedy::CountNeeds => {
                "merge what `Planner::needs` gives for every shard into the statistics"
            }
        };
        fixed.to_owned()
    }
}
