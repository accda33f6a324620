//! What errors are about, and what to do about them. The facts are here; the command line and Python have
//! their own words for them. And parts of sentences.

use crate::math::digits;

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
/// A remedy is a fact, not a sentence: the command line words it with its flags, Python with its
/// keywords, and [`Error::hint`](crate::Error::hint) with the methods of this crate.
/// [`Advice`](Remedy::Advice) is the same for all of them.
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
    /// Use fewer ranks, or do not drop the tail.
    KeepTail,
    /// Fix the number of batches at this many or more, or let it be chosen.
    RaiseBatches(usize),
    /// Raise the bound on memory to this or more, as in "2.1GB".
    RaiseMemory(String),
    /// Use statistics of the lengths of all shards.
    GatherStatistics,
    /// Make the lengths a part of the statistics of all shards.
    GiveStatistics,
    /// Give the number of the shard, and the number of shards.
    NameShard,
    /// Count the needs of every shard, and merge them into the statistics.
    CountNeeds,
}

impl Remedy {
    /// In the words of this crate.
    pub(crate) fn hint(self) -> String {
        let or_choose = |what: &str, to: Option<String>| {
            let to = to.map(|to| format!(" to at least {to}")).unwrap_or_default();
            format!(
                "raise the {what}{to}, or choose what happens to sequences that are too long with \
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
                text("give a second length for each sequence with `Pairs::new`")
            }
            Remedy::KeepTail => {
                text("use fewer ranks, or `Tail::Split` or `Tail::Repeat` in `Planner::tail`")
            }
            Remedy::GatherStatistics => text(
                "use statistics of the lengths of all shards, from `Statistics::of` and `merge`",
            ),
            Remedy::GiveStatistics => text(
                "make the lengths a part of the statistics of all shards with `Lengths::part_of`",
            ),
            Remedy::NameShard => {
                text("set the shard and the number of shards with `Planner::shard`")
            }
            Remedy::CountNeeds => {
                text("merge what `Planner::needs` returns for every shard into the statistics")
            }
        }
    }
}

pub(crate) fn text(text: &str) -> String {
    text.to_owned()
}

/// Why a sequence takes more than its length, if it does.
pub(crate) fn by_shapes(length: u32, cells: u64) -> &'static str {
    if u64::from(length) == cells { "" } else { " (rounded up by the shapes)" }
}

/// That there are other sequences like the first of `count`.
pub(crate) fn so_do_others(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        1 => "; so does 1 more sequence".to_owned(),
        more => format!("; so do {more} more sequences"),
    }
}

/// A setting that was another before.
pub(crate) fn differ(one: &str, what: &str, before: &str, other: &str, now: &str) -> String {
    let what = match what {
        "lengths" => "lengths of digest",
        "plan" => "a plan of digest",
        "statistics" => "statistics of digest",
        "batches" => "a constant number of batches of",
        other => other,
    };
    format!("{one} {what} `{}`, {other} `{}`", shortened(before), shortened(now))
}

/// A number of bytes with three or four digits, rounded so that the smaller of two looks smaller.
pub(crate) fn bytes(count: u64, round: fn(f64) -> f64) -> String {
    let (unit, name) = match count {
        ..10_000 => return format!("{count} bytes"),
        10_000..10_000_000 => (1e3, "KB"),
        10_000_000..10_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let number = round(10.0 * count as f64 / unit) / 10.0;
    format!("{number}{name}")
}

/// About four digits of a number, or all if it would not look over `limit` with these.
pub(crate) fn over(value: f64, limit: f64) -> f64 {
    let near = digits(value, 3);
    if near > limit { near } else { value }
}

/// About three digits of a number, and not less than it: as a limit it is enough.
pub(crate) fn rounded_up(value: f64) -> f64 {
    let near = digits(value, 2);
    // The last of three digits is at most 1 % of the number.
    if near >= value { near } else { digits(1.01 * value, 2) }
}

pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// At most forty characters of what was given, none of them a control character.
pub(crate) fn shortened(given: &str) -> String {
    let mut shown = String::new();
    for character in given.chars().take(40) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if given.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}
