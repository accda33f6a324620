//! What to do about an error. The facts are here; each face has its own words for them.

use crate::{
    error::{Error, display::bytes},
    math::{digits, short},
};

/// What to do about an [`Error`].
///
/// A remedy is a fact and no sentence: the command line words it with its flags, Python with its
/// keywords, and [`Error::hint`] with the methods of this crate. What is the same for all of them is
/// [`Advice`](Remedy::Advice).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// A sentence that names no flag, keyword or method.
    Advice(String),
    /// Raise the budget, at least to this if that is known, as in "5210 cells"; or choose what happens
    /// to sequences that are too long.
    RaiseBudget(Option<String>),
    /// Raise the limit of a budget of seconds at least to this, or choose what happens to sequences that
    /// are too long.
    RaiseSeconds(String),
    /// Raise the capacity of rows at least to this, or choose what happens to sequences that are too
    /// long.
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

impl Error {
    /// What to do about it, in the words of this crate, in one line, without the word "hint".
    pub fn hint(&self) -> Option<String> {
        Some(match self.remedy()? {
            Remedy::Advice(advice) => advice,
            Remedy::RaiseBudget(None) => format!("raise the budget, or {CHOOSE}"),
            Remedy::RaiseBudget(Some(to)) => {
                format!("raise the budget to at least {to}, or {CHOOSE}")
            }
            Remedy::RaiseSeconds(to) => format!("raise the limit to at least {to}, or {CHOOSE}"),
            Remedy::RaiseCapacity(to) => {
                format!("raise the capacity to at least {to}, or {CHOOSE}")
            }
            Remedy::GiveSecondLengths => {
                "give a second length for each sequence, by `Pairs::new`".to_owned()
            }
            Remedy::DidYouMean(name) => format!("did you mean `{name}`? `NAMES` lists all"),
            Remedy::KeepTail => {
                "use fewer ranks, or `Tail::Split` or `Tail::Repeat` in `Planner::tail`".to_owned()
            }
            Remedy::RaiseBatches(least) => format!(
                "fix the number at {least} or more, or let `Planner::constant_steps` choose it"
            ),
            Remedy::RaiseMemory(to) => {
                format!("raise the bound of `Workspace::memory` to {to} or more; {LEAST_MEMORY}")
            }
            Remedy::GatherStatistics => {
                "use statistics of the lengths of all shards, by `Statistics::of` and `merge`"
                    .to_owned()
            }
            Remedy::GiveStatistics => {
                "make the lengths a part of the statistics of all shards, by `Lengths::part_of`"
                    .to_owned()
            }
            Remedy::NameShard => {
                "say which shard it is, and of how many, by `Planner::shard`".to_owned()
            }
            Remedy::CountNeeds => {
                "merge what `Planner::needs` gives for every shard into the statistics".to_owned()
            }
        })
    }

    /// What to do about it; nothing where the caller asked for it.
    pub fn remedy(&self) -> Option<Remedy> {
        if *self == Error::Stopped {
            return None;
        }
        let remedy = self.of_too_long().or_else(|| self.of_face());
        let advice = || self.of_settings().or_else(|| self.of_ranks()).or_else(|| self.of_others());
        remedy.or_else(|| advice().map(Remedy::Advice))
    }

    /// Sequences that fit no batch.
    fn of_too_long(&self) -> Option<Remedy> {
        let say = |text: String| Some(Remedy::Advice(text));
        match self {
            Error::OverBudget { largest, treatment: "error", .. } => {
                Some(Remedy::RaiseBudget(Some(format!("{largest} cells"))))
            }
            Error::OverBudget { largest, treatment, .. } => say(format!(
                "`{treatment}` leaves nothing to plan; raise the budget, up to {largest} cells"
            )),
            Error::OverBudgetPair { treatment: "truncate", .. } => say(
                "cutting the first length to what is left beside the second leaves nothing of it; \
                 raise the budget, or choose `alone` or `drop`"
                    .to_owned(),
            ),
            Error::OverBudgetPair { treatment: "error", .. } | Error::OverLongElsewhere { .. } => {
                Some(Remedy::RaiseBudget(None))
            }
            Error::OverBudgetPair { treatment, .. } => {
                say(format!("`{treatment}` leaves nothing to plan; raise the budget"))
            }
            Error::OverBudgetShape { .. } => {
                say("raise the budget, use more shapes, or shapes `exact`".to_owned())
            }
            Error::OverCapacity { largest, treatment: "error", .. } => {
                Some(Remedy::RaiseCapacity(*largest))
            }
            Error::OverCapacity { largest, treatment, .. } => say(format!(
                "`{treatment}` leaves nothing to plan; raise the capacity, up to {largest}"
            )),
            Error::OverBudgetSeconds { largest, .. } => {
                Some(Remedy::RaiseSeconds(short(rounded_up(*largest))))
            }
            _ => None,
        }
    }

    /// What every face has its own words for.
    fn of_face(&self) -> Option<Remedy> {
        Some(match self {
            Error::NoSecond { .. } => Remedy::GiveSecondLengths,
            Error::UnknownName { nearest: Some(nearest), .. } => Remedy::DidYouMean(nearest),
            Error::NoFullStep { .. } => Remedy::KeepTail,
            Error::TooManyBatches { batches, .. } => Remedy::RaiseBatches(*batches),
            Error::OverMemory { needed, .. } => Remedy::RaiseMemory(bytes(*needed, f64::ceil)),
            Error::BadStatistics { .. } => Remedy::GatherStatistics,
            Error::NoStatistics => Remedy::GiveStatistics,
            Error::NoShard => Remedy::NameShard,
            Error::NotCounted { .. } => Remedy::CountNeeds,
            _ => return None,
        })
    }

    /// Lengths, measured steps and settings.
    fn of_settings(&self) -> Option<String> {
        const MOST: u32 = u32::MAX;
        Some(match self {
            Error::NoSequences => "give at least one length".to_owned(),
            Error::TooManySequences { .. } => {
                format!("at most {MOST} sequences fit one plan; split the data")
            }
            Error::BadLength { .. } => {
                format!("lengths are whole numbers from 1 to {MOST}; leave empty sequences out")
            }
            Error::UnequalCounts { .. } => "give both lengths of every sequence".to_owned(),
            Error::SecondLengths { what } => format!(
                "leave out the second lengths, or {what}; the strategy for two lengths is `paired`"
            ),
            Error::BadStep { .. } => format!(
                "batch sizes and batch lengths are whole numbers from 1 to {MOST}, and times are \
                 seconds from 1e-12 to 1e9"
            ),
            Error::TooFewSteps { .. } => {
                "measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths"
                    .to_owned()
            }
            Error::PoorFit { .. } => {
                "check that each time belongs to its batch size and batch length; measure after a \
                 warm-up of each shape, take the median of several steps, and measure more shapes"
                    .to_owned()
            }
            Error::UnknownName { known, .. } => format!("one of {}", listed(known)),
            Error::UnknownKey { known, .. } if known.is_empty() => {
                "it takes no parameters".to_owned()
            }
            Error::UnknownKey { known, .. } => format!("its parameters are {}", listed(known)),
            Error::BadValue { expected, .. } => format!("it must be {expected}"),
            Error::LadderTooShort { length, .. } => {
                format!("add a rung of at least {length}, or let `ladder:8` choose the rungs")
            }
            Error::LengthOverflow { .. } => "use a smaller multiple, or shapes `exact`".to_owned(),
            _ => return None,
        })
    }

    /// Ranks, and epochs that go on.
    fn of_ranks(&self) -> Option<String> {
        let last = |count: u32| count.saturating_sub(1);
        Some(match self {
            Error::NoRanks => "give at least one rank".to_owned(),
            Error::BadRank { world_size, .. } => {
                format!("ranks are numbered from 0; the last one is {}", last(*world_size))
            }
            Error::BadShard { of, .. } => {
                format!("shards are numbered from 0; the last one is {}", last(*of))
            }
            Error::TooManyRanks { .. } => "use fewer ranks, or accumulate less".to_owned(),
            Error::TooFewForRanks { sequences, places, world_size } => {
                let each = places / world_size;
                match (sequences / each.max(1) as usize, each) {
                    (0, _) => "accumulate less, or fix fewer canonical ranks".to_owned(),
                    (most, 1) => format!("use {most} ranks or fewer"),
                    (most, _) => format!(
                        "use {most} ranks or fewer, accumulate less, or fix fewer canonical ranks"
                    ),
                }
            }
            Error::OtherRun { what, .. } => match what.as_str() {
                "lengths" => "go on with the lengths that the epoch began with, in the same order",
                "plan" => {
                    "the plan is made in another way now: go on with the release of lengthwise that \
                     the epoch began with, or begin a new epoch"
                }
                _ => "go on with the settings that the epoch began with, or begin a new epoch",
            }
            .to_owned(),
            Error::CursorBeyondEnd { .. } => {
                "the cursor is damaged, or counts something else than steps of all ranks".to_owned()
            }
            Error::TooManySteps { steps, .. } => format!("take at most {steps}"),
            Error::RanksOfOtherRuns { .. } => {
                "give the cursors of all ranks of one run, saved at one step".to_owned()
            }
            Error::RanksApart { .. } => {
                "save cursors of the same step on all ranks; go on from the last common checkpoint"
                    .to_owned()
            }
            Error::BadCursor { .. } => "the cursor is damaged; use another checkpoint".to_owned(),
            _ => return None,
        })
    }

    /// Streams, shards, plans and groups.
    fn of_others(&self) -> Option<String> {
        let advice = match self {
            Error::OtherStream { what, .. } if what == "lengths" => {
                "read the same stream again, in the same order, from the position that the state says"
            }
            Error::OtherStream { .. } => {
                "go on with the settings that the stream began with, or begin it anew"
            }
            Error::BadState { .. } => "the state is damaged; use another checkpoint",
            Error::StreamTooShort { .. } => {
                "read the same stream again, from the position that the state says"
            }
            Error::NotNeeded { ended: false, .. } => "make a step whenever no sequence is needed",
            Error::NotNeeded { .. } => {
                "resume the stream from its state to go on with more sequences"
            }
            Error::BadPlan { .. } => "the plan is damaged; make it again",
            Error::BeyondStatistics { .. } => {
                "gather the statistics anew with the lengths of every shard in them"
            }
            Error::CountedTwice { .. } => "merge what each shard needs once",
            Error::OtherNeeds { .. } => {
                "plan all shards with the settings and the statistics that they were counted with, or \
                 count what they need anew"
            }
            Error::SmallShard { .. } => {
                "make shards of about the same total length: join small ones, or cut large ones"
            }
            Error::BadGroups { .. } => {
                "the order of a grouping must be a permutation of all sequences, and its ends must \
                 rise to their number"
            }
            _ => return None,
        };
        Some(advice.to_owned())
    }
}

const CHOOSE: &str = "choose what happens to sequences that are too long, by `Planner::over_long`";

/// Which strategies take least memory.
const LEAST_MEMORY: &str =
    "`shuffled`, `sorted`, `semi-sorted`, `blurred` and buckets of lengths take least";

/// About three digits of a number, and not less than it: as a limit it is enough.
fn rounded_up(value: f64) -> f64 {
    let near = digits(value, 2);
    // The last of three digits is at most 1 % of the number.
    if near >= value { near } else { digits(1.01 * value, 2) }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
