//! What went wrong, in one line.

use std::fmt;

use crate::{
    error::Error,
    math::{digits, short},
};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.too_long().or_else(|| self.setting()).or_else(|| self.rank());
        let text = text.or_else(|| self.state()).or_else(|| self.shard());
        f.write_str(&text.unwrap_or_default())
    }
}

impl Error {
    /// Sequences that fit no batch.
    fn too_long(&self) -> Option<String> {
        let rounded = |length: u32, cells: u64| {
            if u64::from(length) == cells { "" } else { " (rounded up by the shapes)" }
        };
        let (text, count) = match self {
            Error::OverBudget { index, length, cells, limit, count, .. } => {
                let by = rounded(*length, *cells);
                let text = format!(
                    "sequence {index} of length {length} alone costs {cells} cells{by}, over the \
                     budget of {limit}"
                );
                (text, count)
            }
            Error::OverBudgetPair { index, lengths: [a, b], side, cells, limit, count, .. } => {
                let of = if *side == "both" { String::new() } else { format!(" of the {side}") };
                let text = format!(
                    "sequence {index} has lengths {a} and {b}, and alone takes {cells} cells{of}, \
                     more than the budget of {limit}"
                );
                (text, count)
            }
            Error::OverBudgetShape { index, lengths: [a, b], padded: [c, d], budget, count } => {
                let text = format!(
                    "sequence {index} has lengths {a} and {b}, and padded to {c} and {d} by the \
                     shapes exceeds the budget `{budget}`"
                );
                (text, count)
            }
            Error::OverCapacity { index, length, cells, capacity, count, .. } => {
                let by = rounded(*length, *cells);
                let text = format!(
                    "sequence {index} of length {length} alone takes {cells} positions{by}, over the \
                     capacity of {capacity}"
                );
                (text, count)
            }
            Error::OverBudgetSeconds { index, length, padded, seconds, limit, count, .. } => {
                // Both numbers would look equal if only the last digits differ.
                let near = digits(*seconds, 3);
                let seconds = short(if near > *limit { near } else { *seconds });
                let by = match padded {
                    padded if padded == length => String::new(),
                    padded => format!(" (rounded up to {padded} by the shapes)"),
                };
                let text = format!(
                    "sequence {index} of length {length} alone takes {seconds} seconds{by}, over the \
                     budget of {}",
                    short(*limit)
                );
                (text, count)
            }
            _ => return None,
        };
        Some(text + &so_do(count - 1))
    }

    /// Lengths, measured steps and settings.
    fn setting(&self) -> Option<String> {
        const MOST: u32 = u32::MAX;
        Some(match self {
            Error::NoSequences => "there are no sequences".to_owned(),
            Error::TooManySequences { count } => {
                format!("{count} sequences are more than the {MOST} that one plan can hold")
            }
            Error::BadLength { index, given } => format!("sequence {index} has length {given}"),
            Error::UnequalCounts { first, second } => {
                format!("there are {first} first lengths and {second} second lengths")
            }
            Error::NoSecond { what } => format!("{what} needs a second length for each sequence"),
            Error::SecondLengths { what } => {
                format!("{what} is for sequences of one length, and these have two")
            }
            Error::BadStep { index, what, given } => {
                format!("measured step {index} has {what} {given}")
            }
            Error::TooFewSteps { what } => what.clone(),
            Error::PoorFit { mean_relative_error, r2 } => format!(
                "the best cost model is wrong by {:.0} % on average, and explains {:.0} % of the \
                 differences between the measured times (r2 {r2:.4})",
                100.0 * mean_relative_error,
                100.0 * r2
            ),
            Error::UnknownName { kind, given, .. } => {
                format!("unknown {kind} `{}`", shortened(given))
            }
            Error::UnknownKey { of, given, .. } => {
                format!("unknown parameter `{}` of {of}", shortened(given))
            }
            Error::BadValue { of, given, .. } => format!("{of} cannot be `{}`", shortened(given)),
            Error::LadderTooShort { top, index, length } => {
                format!("sequence {index} of length {length} is longer than the top rung {top}")
            }
            Error::LengthOverflow { length, multiple } => {
                format!(
                    "length {length} rounded up to a multiple of {multiple} is more than {MOST}"
                )
            }
            Error::Stopped => "stopped before the end".to_owned(),
            Error::OverMemory { what, needed, bound } => format!(
                "{what} takes about {} of memory, over the bound of {}",
                bytes(*needed, f64::ceil),
                bytes(*bound, f64::floor)
            ),
            Error::BadPlan { what } => format!("the plan does not hold together: {what}"),
            Error::BadGroups { what } => format!("the strategy's grouping is not valid: {what}"),
            _ => return None,
        })
    }

    /// Ranks and steps.
    fn rank(&self) -> Option<String> {
        Some(match self {
            Error::NoRanks => "there are no ranks".to_owned(),
            Error::BadRank { rank, world_size: 1 } => {
                format!("there is no rank {rank} where there is only one rank")
            }
            Error::BadRank { rank, world_size } => {
                format!("there is no rank {rank} among {world_size} ranks")
            }
            Error::TooManyRanks { world_size, accumulate } => format!(
                "{world_size} ranks with {accumulate} batches each are more than {} batches a step",
                u32::MAX
            ),
            Error::TooFewForRanks { sequences, places, world_size } => {
                let noun = if *sequences == 1 { "sequence" } else { "sequences" };
                let ranks = match (places / world_size, world_size) {
                    (each, 1) => format!("{each} for one rank"),
                    (1, _) => format!("one for each of {world_size} ranks"),
                    (each, _) => format!("{each} for each of {world_size} ranks"),
                };
                format!("{sequences} {noun} cannot fill a step of {places} batches, {ranks}")
            }
            Error::NoFullStep { batches, places } => {
                let fill = match batches {
                    1 => "1 batch fills".to_owned(),
                    batches => format!("{batches} batches fill"),
                };
                format!("{fill} no step of {places}, and a tail that is dropped leaves none")
            }
            Error::TooManyBatches { batches, fixed } => {
                format!("the epoch has {batches} batches, more than the {fixed} it is to have")
            }
            Error::TooManySteps { asked, steps: 1 } => {
                format!("{asked} steps were asked for, but there is 1")
            }
            Error::TooManySteps { asked, steps } => {
                format!("{asked} steps were asked for, but there are {steps}")
            }
            _ => return None,
        })
    }

    /// Cursors, and states of streams.
    fn state(&self) -> Option<String> {
        Some(match self {
            Error::OtherRun { what, cursor, plan } => {
                differ("the cursor was made with", what, cursor, "the plan with", plan)
            }
            Error::RanksOfOtherRuns { rank, what, values: [first, other] } => {
                let that = format!("that of rank {rank} with");
                differ("the cursor of rank 0 was made with", what, first, &that, other)
            }
            Error::CursorBeyondEnd { ranks, counted, steps } => {
                let noun = if *ranks == 1 { "batch" } else { "batches" };
                format!(
                    "the cursor counts {counted} steps of {ranks} {noun}, but there are {steps}"
                )
            }
            Error::RanksApart { rank, steps: [first, other] } if first == other => format!(
                "rank 0 and rank {rank} both stopped after {first} steps, but with different numbers \
                 of batches"
            ),
            Error::RanksApart { rank, steps: [first, other] } => {
                format!("rank 0 stopped after {first} steps, and rank {rank} after {other}")
            }
            Error::BadCursor { what } => {
                format!("the cursor counts {}, which cannot be", shortened(what))
            }
            Error::OtherStream { what, state, now } => {
                differ("the state was made with", what, state, "this stream has", now)
            }
            Error::BadState { what } => {
                format!("the state says {}, which cannot be", shortened(what))
            }
            Error::StreamTooShort { at, read } => format!(
                "the stream ended at position {at}, and {read} sequences of it had been read"
            ),
            Error::NotNeeded { position, ended: false } => {
                format!(
                    "the window is full, and has no place for the sequence at position {position}"
                )
            }
            Error::NotNeeded { position, ended: true } => {
                format!("the stream has ended before the sequence at position {position}")
            }
            _ => return None,
        })
    }

    /// Shards and their statistics.
    fn shard(&self) -> Option<String> {
        Some(match self {
            Error::BeyondStatistics { index, length, longest } => format!(
                "sequence {index} of length {length} is longer than any that the statistics know: the \
                 longest has {longest}"
            ),
            Error::OverLongElsewhere { longest, what } => {
                format!("the statistics know a sequence of length {longest}, and {what}")
            }
            Error::BadStatistics { what } => format!("the statistics cannot be used: {what}"),
            Error::BadShard { shard, of } => format!("there is no shard {shard} among {of} shards"),
            Error::NoStatistics => "a shard cannot be planned without statistics of all".to_owned(),
            Error::NoShard => "what a shard needs can be counted of a shard only".to_owned(),
            Error::NotCounted { counted: 0, .. } => {
                "the statistics do not say how many batches the shards need".to_owned()
            }
            Error::NotCounted { counted, first, of } => format!(
                "the statistics say what {counted} of {of} shards need; shard {first} is the first \
                 that is not among them"
            ),
            Error::CountedTwice { shard } => format!("what shard {shard} needs is there twice"),
            Error::OtherNeeds { what, counted, given } => differ(
                "what the shards need was counted with",
                what,
                counted,
                "and now it is",
                given,
            ),
            Error::SmallShard { shard, sequences, batches } => format!(
                "shard {shard} has {sequences} sequences, and every shard takes {batches} batches"
            ),
            _ => return None,
        })
    }
}

/// A setting that was another before.
fn differ(one: &str, what: &str, before: &str, other: &str, now: &str) -> String {
    let what = match what {
        "lengths" => "lengths of digest",
        "plan" => "a plan of digest",
        "statistics" => "statistics of digest",
        "batches" => "a constant number of batches of",
        other => other,
    };
    format!("{one} {what} `{}`, {other} `{}`", shortened(before), shortened(now))
}

fn so_do(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "; so does 1 more sequence".to_owned(),
        more => format!("; so do {more} more sequences"),
    }
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

/// At most forty characters of what was given, none of them a control character.
fn shortened(given: &str) -> String {
    let mut shown: String = given.chars().take(40).flat_map(printable).collect();
    if given.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}

fn printable(character: char) -> impl Iterator<Item = char> {
    let escaped = character.is_control().then(|| character.escape_default());
    let plain = (!character.is_control()).then_some(character);
    escaped.into_iter().flatten().chain(plain)
}
