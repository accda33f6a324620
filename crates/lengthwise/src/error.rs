//! Everything that can go wrong while settings are read or a plan is made.

use std::fmt;

use crate::{
    OverLong, Shard, Side,
    cost::{digits, short},
};

/// Why a plan could not be made.
///
/// [`Display`](fmt::Display) gives one line that names the place and both numbers of a conflict;
/// [`hint`](Error::hint) says what to do about it.
///
/// ```
/// use lengthwise::Lengths;
///
/// let error = Lengths::new([31, 7, 0, 90]).unwrap_err();
/// assert_eq!(error.to_string(), "sequence 2 has length 0");
/// assert!(error.hint().is_some());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to plan.
    NoSequences,
    /// More sequences than a `u32` index can name.
    TooManySequences {
        /// How many were given.
        count: u64,
    },
    /// A length that is zero, negative, or larger than a `u32`.
    BadLength {
        /// The sequence.
        index: usize,
        /// The length as it was given.
        given: String,
    },
    /// Sequences that exceed the budget even alone.
    OverBudget {
        /// The first of them.
        index: usize,
        /// Its length.
        length: u32,
        /// What a batch of it alone costs in cells, after rounding by the shapes.
        cells: u64,
        /// The budget in cells.
        limit: u64,
        /// How many there are in all.
        count: usize,
        /// The most that any of them costs alone.
        largest: u64,
        /// How they were to be treated, which left nothing to plan.
        treatment: OverLong,
    },
    /// Sequences of two lengths that exceed the budget even alone.
    OverBudgetPair {
        /// The first of them.
        index: usize,
        /// Its lengths.
        lengths: [u32; 2],
        /// What of it is too large.
        side: Side,
        /// What a batch of it alone costs in cells there, after rounding by the shapes.
        cells: u64,
        /// The limit of these cells.
        limit: u64,
        /// How many there are in all.
        count: usize,
        /// How they were to be treated, which left nothing to plan.
        treatment: OverLong,
    },
    /// Sequences of two lengths that fit the budget, but not when rounded up to a shape of a ladder.
    OverBudgetShape {
        /// The first of them.
        index: usize,
        /// Its lengths.
        lengths: [u32; 2],
        /// What they are padded to.
        padded: [u32; 2],
        /// The budget.
        budget: String,
        /// How many there are in all.
        count: usize,
    },
    /// First and second lengths that are not as many.
    UnequalCounts {
        /// How many first lengths there are.
        first: usize,
        /// How many second lengths there are.
        second: usize,
    },
    /// Something that is for sequences of two lengths alone.
    NoSecond {
        /// What needs them, as in "strategy `paired`".
        what: String,
    },
    /// Something that is for sequences of one length alone.
    SecondLengths {
        /// What it is, as in "strategy `packed`".
        what: String,
    },
    /// Sequences that are longer than a row may be.
    OverCapacity {
        /// The first of them.
        index: usize,
        /// Its length.
        length: u32,
        /// What it takes alone, after rounding by the shapes.
        cells: u64,
        /// The capacity of a row.
        capacity: u32,
        /// How many there are in all.
        count: usize,
        /// The most that any of them takes alone.
        largest: u64,
        /// How they were to be treated, which left nothing to plan.
        treatment: OverLong,
    },
    /// Sequences that take longer than a budget of seconds even alone.
    OverBudgetSeconds {
        /// The first of them.
        index: usize,
        /// Its length.
        length: u32,
        /// What it is padded to alone, after rounding by the shapes.
        padded: u32,
        /// How long a batch of it alone takes.
        seconds: f64,
        /// The budget in seconds.
        limit: f64,
        /// How many there are in all.
        count: usize,
        /// The longest time that any of them takes alone.
        largest: f64,
    },
    /// A measured step that cannot be.
    BadStep {
        /// The step.
        index: usize,
        /// What of it: batch size, batch length or seconds.
        what: &'static str,
        /// The value as it was given.
        given: String,
    },
    /// Measured steps that do not decide a cost model.
    TooFewSteps {
        /// What is wrong with them.
        what: String,
    },
    /// Measured steps that no cost model describes.
    PoorFit {
        /// The mean relative error of the best one.
        mean_relative_error: f64,
        /// How much better it is than the best constant time, from 0 to 1.
        r2: f64,
    },
    /// A name that is not in the list of its kind.
    UnknownName {
        /// What was looked for: a strategy, a budget, …
        kind: &'static str,
        /// The name as it was given.
        given: String,
        /// The nearest known name, if one is near.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// A key that the setting does not have.
    UnknownKey {
        /// The setting, as in "strategy `alternated`".
        of: String,
        /// The key as it was given.
        given: String,
        /// The keys it has.
        known: Vec<&'static str>,
    },
    /// A value that the setting does not accept.
    BadValue {
        /// The setting, as in "`bins` of strategy `alternated`".
        of: String,
        /// The value as it was given.
        given: String,
        /// What it must be.
        expected: String,
    },
    /// A ladder whose top rung is below the longest sequence.
    LadderTooShort {
        /// The top rung.
        top: u32,
        /// The longest sequence.
        index: usize,
        /// Its length.
        length: u32,
    },
    /// Rounding the longest sequence up leaves the range of `u32`.
    LengthOverflow {
        /// The longest length.
        length: u32,
        /// What it would be rounded to a multiple of.
        multiple: u32,
    },
    /// A world size of zero, or batches of nobody.
    NoRanks,
    /// A rank that the world size does not have.
    BadRank {
        /// The rank.
        rank: u32,
        /// The number of ranks.
        world_size: u32,
    },
    /// More batches a step than can be counted.
    TooManyRanks {
        /// The number of ranks.
        world_size: u32,
        /// How many batches each takes in a step.
        accumulate: u32,
    },
    /// Fewer sequences than there are batches in a step.
    TooFewForRanks {
        /// How many sequences there are.
        sequences: usize,
        /// How many batches a step has.
        places: u32,
        /// The number of ranks.
        world_size: u32,
    },
    /// Batches that fill no step and are all dropped.
    NoFullStep {
        /// How many batches there are.
        batches: usize,
        /// How many batches a step has.
        places: u32,
    },
    /// More batches than there are to be in every epoch.
    TooManyBatches {
        /// How many the epoch has at least.
        batches: usize,
        /// How many it is to have.
        fixed: u32,
    },
    /// A cursor of another run than the plan.
    OtherRun {
        /// What differs.
        what: String,
        /// What the cursor says about it.
        cursor: String,
        /// What the plan says about it.
        plan: String,
    },
    /// A cursor that counts more steps than the epoch has.
    CursorBeyondEnd {
        /// The batches of a step.
        ranks: u32,
        /// The steps that the cursor counts.
        counted: u32,
        /// The steps that there are.
        steps: usize,
    },
    /// More steps than are left of the epoch.
    TooManySteps {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        steps: usize,
    },
    /// Cursors of ranks that stopped at different steps.
    RanksApart {
        /// The first cursor that differs from that of rank 0, by its place in the list.
        rank: usize,
        /// How many steps rank 0 and this one have taken.
        steps: [u64; 2],
    },
    /// Cursors of ranks that are not of one run.
    RanksOfOtherRuns {
        /// The first cursor that differs from that of rank 0, by its place in the list.
        rank: usize,
        /// What differs.
        what: String,
        /// What the two say about it.
        values: [String; 2],
    },
    /// A cursor that no run can have.
    BadCursor {
        /// What it counts.
        what: String,
    },
    /// A state of another stream.
    OtherStream {
        /// What differs.
        what: String,
        /// What the state says about it.
        state: String,
        /// What this stream says about it.
        now: String,
    },
    /// A state that no stream can have.
    BadState {
        /// What it says.
        what: String,
    },
    /// A stream that ends before the place where it is to go on.
    StreamTooShort {
        /// Where it ended.
        at: u64,
        /// How many sequences had been read.
        read: u64,
    },
    /// A plan that does not hold together.
    BadPlan {
        /// What is wrong.
        what: String,
    },
    /// The work was stopped before its end, as its caller asked
    /// ([`Workspace::stopped_by`](crate::Workspace::stopped_by)).
    Stopped,
    /// More memory than the [bound](crate::Workspace::memory) allows.
    OverMemory {
        /// What takes it.
        what: String,
        /// About how many bytes the plan takes in all.
        needed: u64,
        /// The bound.
        bound: u64,
    },
    /// A sequence that is longer than any that the statistics know.
    BeyondStatistics {
        /// The sequence.
        index: usize,
        /// Its length.
        length: u32,
        /// The longest length that the statistics know.
        longest: u32,
    },
    /// Sequences of other shards that exceed a limit alone.
    OverLongElsewhere {
        /// The longest length that the statistics know.
        longest: u32,
        /// The limit.
        what: String,
    },
    /// A sequence that a stream was given and has no place for.
    NotNeeded {
        /// The position that it would have.
        position: u64,
        /// Whether the stream had ended.
        ended: bool,
    },
    /// Statistics that do not hold together, or cannot be used here.
    BadStatistics {
        /// What is wrong.
        what: String,
    },
    /// A shard that there is not.
    BadShard {
        /// The shard.
        shard: u32,
        /// How many there are.
        of: u32,
    },
    /// Lengths of a shard without statistics of all.
    NoStatistics,
    /// The needs of no shard.
    NoShard,
    /// Statistics that do not say what all shards need.
    NotCounted {
        /// How many shards were counted.
        counted: u32,
        /// The first that was not.
        first: u32,
        /// How many there are.
        of: u32,
    },
    /// The needs of one shard, twice.
    CountedTwice {
        /// The shard.
        shard: u32,
    },
    /// Needs that were counted with other settings or statistics.
    OtherNeeds {
        /// What differs.
        what: String,
        /// With what they were counted.
        counted: String,
        /// What is given.
        given: String,
    },
    /// A shard with fewer sequences than every shard has batches.
    SmallShard {
        /// The shard.
        shard: Shard,
        /// How many sequences it has.
        sequences: usize,
        /// How many batches every shard has.
        batches: u32,
    },
    /// A strategy's own grouping does not hold every sequence exactly once.
    BadGroups {
        /// What is wrong, naming the sequence.
        what: String,
    },
}

impl Error {
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

    /// What to do about it, in one line, without the word "hint".
    #[expect(clippy::too_many_lines, reason = "a line or two for each error")]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NoSequences => "give at least one length".to_owned(),
            Error::TooManySequences { .. } => {
                format!("at most {} sequences fit one plan; split the data", u32::MAX)
            }
            Error::BadLength { .. } => {
                format!(
                    "lengths are whole numbers from 1 to {}; leave empty sequences out",
                    u32::MAX
                )
            }
            Error::OverBudget { largest, treatment, .. } if *treatment != OverLong::Error => {
                format!(
                    "`{treatment}` leaves nothing to plan; raise the budget, up to {largest} cells"
                )
            }
            Error::OverBudget { largest, .. } => format!(
                "raise the budget to at least {largest} cells, or choose what happens to over-long \
                 sequences: `alone`, `drop` or `truncate` (`--over-long` on the command line)"
            ),
            Error::OverBudgetPair { treatment: OverLong::Truncate, .. } => {
                "cutting the first length to what is left beside the second leaves nothing of it; \
                 raise the budget, or choose `alone` or `drop`"
                    .to_owned()
            }
            Error::OverBudgetPair { treatment, .. } if *treatment != OverLong::Error => {
                format!("`{treatment}` leaves nothing to plan; raise the budget")
            }
            Error::OverBudgetPair { .. } | Error::OverLongElsewhere { .. } => {
                "raise the budget, or choose what happens to over-long sequences: `alone`, `drop` or \
                 `truncate` (`--over-long` on the command line)"
                    .to_owned()
            }
            Error::OverBudgetShape { .. } => {
                "raise the budget, use more shapes, or shapes `exact`".to_owned()
            }
            Error::UnequalCounts { .. } => "give both lengths of every sequence".to_owned(),
            Error::NoSecond { .. } => {
                "give a second length for each sequence (`--second COLUMN` on the command line, \
                 `second=` in Python)"
                    .to_owned()
            }
            Error::SecondLengths { what } => format!(
                "leave out the second lengths, or {what}; the strategy for two lengths is `paired`"
            ),
            Error::OverCapacity { largest, treatment, .. } if *treatment != OverLong::Error => {
                format!("`{treatment}` leaves nothing to plan; raise the capacity, up to {largest}")
            }
            Error::OverCapacity { largest, .. } => format!(
                "raise the capacity to at least {largest}, or choose what happens to over-long \
                 sequences: `alone`, `drop` or `truncate` (`--over-long` on the command line)"
            ),
            Error::OverBudgetSeconds { largest, .. } => format!(
                "raise the limit to at least {}, or choose what happens to over-long sequences: \
                 `alone`, `drop` or `truncate` (`--over-long` on the command line)",
                short(rounded_up(*largest))
            ),
            Error::BadStep { .. } => format!(
                "batch sizes and batch lengths are whole numbers from 1 to {}, and times are \
                 seconds from 1e-12 to 1e9",
                u32::MAX
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
            Error::UnknownName { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`? run `lengthwise explain` to list all")
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
            Error::NoRanks => "give at least one rank".to_owned(),
            Error::BadRank { world_size, .. } => {
                format!("ranks are numbered from 0; the last one is {}", world_size.saturating_sub(1))
            }
            Error::TooManyRanks { .. } => "use fewer ranks, or accumulate less".to_owned(),
            Error::TooFewForRanks { sequences, places, world_size } => {
                match (sequences / (places / world_size).max(1) as usize, places / world_size) {
                    (0, _) => "accumulate less, or fix fewer canonical ranks".to_owned(),
                    (most, 1) => format!("use {most} ranks or fewer"),
                    (most, _) => format!(
                        "use {most} ranks or fewer, accumulate less, or fix fewer canonical ranks"
                    ),
                }
            }
            Error::NoFullStep { .. } => {
                "use fewer ranks, or `split` or `repeat` the tail (`--tail` on the command line)"
                    .to_owned()
            }
            Error::TooManyBatches { batches, .. } => {
                format!("fix the number at {batches} or more, or let `constant_steps` choose it")
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
            Error::Stopped => return None,
            Error::OverMemory { needed, .. } => format!(
                "raise the bound to {} or more (`--memory` on the command line); `shuffled`, `sorted`, \
                 `semi-sorted`, `blurred` and buckets of lengths take least",
                bytes(*needed, f64::ceil)
            ),
            Error::OtherStream { what, .. } => match what.as_str() {
                "lengths" => {
                    "read the same stream again, in the same order, from the position that the \
                     state says"
                }
                _ => "go on with the settings that the stream began with, or begin it anew",
            }
            .to_owned(),
            Error::BadState { .. } => "the state is damaged; use another checkpoint".to_owned(),
            Error::StreamTooShort { .. } => {
                "read the same stream again, from the position that the state says".to_owned()
            }
            Error::BadPlan { .. } => "the plan is damaged; make it again".to_owned(),
            Error::BeyondStatistics { .. } => {
                "gather the statistics anew with the lengths of every shard in them".to_owned()
            }
            Error::NotNeeded { ended: false, .. } => {
                "make a step whenever no sequence is needed".to_owned()
            }
            Error::NotNeeded { ended: true, .. } => {
                "resume the stream from its state to go on with more sequences".to_owned()
            }
            Error::BadStatistics { .. } => {
                "use statistics of the lengths of all shards, made by `lengthwise statistics`".to_owned()
            }
            Error::BadShard { of, .. } => {
                format!("shards are numbered from 0; the last one is {}", of.saturating_sub(1))
            }
            Error::NoStatistics => {
                "make the lengths a part of the statistics of all shards (`--statistics` on the \
                 command line)"
                    .to_owned()
            }
            Error::NoShard => {
                "say which shard it is, and of how many (`--shard` and `--of` on the command line)"
                    .to_owned()
            }
            Error::NotCounted { .. } => {
                "plan every shard once with `--needs` in place of `-o`, and merge what that wrote into \
                 the statistics with `lengthwise statistics`"
                    .to_owned()
            }
            Error::CountedTwice { .. } => "merge what each shard needs once".to_owned(),
            Error::OtherNeeds { .. } => {
                "plan all shards with the settings and the statistics that they were counted with, or \
                 count what they need anew"
                    .to_owned()
            }
            Error::SmallShard { .. } => {
                "make shards of about the same total length: join small ones, or cut large ones"
                    .to_owned()
            }
            Error::BadGroups { .. } => {
                "the order of a grouping must be a permutation of all sequences, and its ends must \
                 rise to their number"
                    .to_owned()
            }
        };
        Some(hint)
    }
}

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "a line or two for each error")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoSequences => write!(f, "there are no sequences"),
            Error::TooManySequences { count } => {
                write!(f, "{count} sequences are more than the {} that one plan can hold", u32::MAX)
            }
            Error::BadLength { index, given } => write!(f, "sequence {index} has length {given}"),
            Error::OverBudget { index, length, cells, limit, count, .. } => {
                write!(f, "sequence {index} of length {length} alone costs {cells} cells")?;
                if u64::from(*length) != *cells {
                    write!(f, " (rounded up by the shapes)")?;
                }
                write!(f, ", over the budget of {limit}")?;
                so_do(f, count - 1)
            }
            Error::OverBudgetPair {
                index,
                lengths: [first, second],
                side,
                cells,
                limit,
                count,
                ..
            } => {
                let whole = match side {
                    Side::Both => "",
                    Side::First => " of the first",
                    Side::Second => " of the second",
                    Side::Larger => " of the larger",
                };
                write!(
                    f,
                    "sequence {index} has lengths {first} and {second}, and alone takes {cells} \
                     cells{whole}, more than the budget of {limit}"
                )?;
                so_do(f, count - 1)
            }
            Error::OverBudgetShape {
                index,
                lengths: [first, second],
                padded: [a, b],
                budget,
                count,
            } => {
                write!(
                    f,
                    "sequence {index} has lengths {first} and {second}, and padded to {a} and {b} by \
                     the shapes exceeds the budget `{budget}`"
                )?;
                so_do(f, count - 1)
            }
            Error::UnequalCounts { first, second } => {
                write!(f, "there are {first} first lengths and {second} second lengths")
            }
            Error::NoSecond { what } => write!(f, "{what} needs a second length for each sequence"),
            Error::SecondLengths { what } => {
                write!(f, "{what} is for sequences of one length, and these have two")
            }
            Error::OverCapacity { index, length, cells, capacity, count, .. } => {
                write!(f, "sequence {index} of length {length} alone takes {cells} positions")?;
                if u64::from(*length) != *cells {
                    write!(f, " (rounded up by the shapes)")?;
                }
                write!(f, ", over the capacity of {capacity}")?;
                so_do(f, count - 1)
            }
            Error::OverBudgetSeconds { index, length, padded, seconds, limit, count, .. } => {
                // Both numbers would look equal if only the last digits differ.
                let near = digits(*seconds, 3);
                let seconds = short(if near > *limit { near } else { *seconds });
                write!(f, "sequence {index} of length {length} alone takes {seconds} seconds")?;
                if length != padded {
                    write!(f, " (rounded up to {padded} by the shapes)")?;
                }
                write!(f, ", over the budget of {}", short(*limit))?;
                so_do(f, count - 1)
            }
            Error::BadStep { index, what, given } => {
                write!(f, "measured step {index} has {what} {given}")
            }
            Error::TooFewSteps { what } => f.write_str(what),
            Error::PoorFit { mean_relative_error, r2 } => write!(
                f,
                "the best cost model is wrong by {:.0} % on average, and explains {:.0} % of the \
                 differences between the measured times (r2 {r2:.4})",
                100.0 * mean_relative_error,
                100.0 * r2
            ),
            Error::UnknownName { kind, given, .. } => {
                write!(f, "unknown {kind} `{}`", shortened(given))
            }
            Error::UnknownKey { of, given, .. } => {
                write!(f, "unknown parameter `{}` of {of}", shortened(given))
            }
            Error::BadValue { of, given, .. } => write!(f, "{of} cannot be `{}`", shortened(given)),
            Error::LadderTooShort { top, index, length } => {
                write!(f, "sequence {index} of length {length} is longer than the top rung {top}")
            }
            Error::LengthOverflow { length, multiple } => write!(
                f,
                "length {length} rounded up to a multiple of {multiple} is more than {}",
                u32::MAX
            ),
            Error::NoRanks => write!(f, "there are no ranks"),
            Error::BadRank { rank, world_size: 1 } => {
                write!(f, "there is no rank {rank} where there is only one rank")
            }
            Error::BadRank { rank, world_size } => {
                write!(f, "there is no rank {rank} among {world_size} ranks")
            }
            Error::TooManyRanks { world_size, accumulate } => write!(
                f,
                "{world_size} ranks with {accumulate} batches each are more than {} batches a step",
                u32::MAX
            ),
            Error::TooFewForRanks { sequences, places, world_size } => {
                let noun = if *sequences == 1 { "sequence" } else { "sequences" };
                write!(f, "{sequences} {noun} cannot fill a step of {places} batches")?;
                match (places / world_size, world_size) {
                    (each, 1) => write!(f, ", {each} for one rank"),
                    (1, _) => write!(f, ", one for each of {world_size} ranks"),
                    (each, _) => write!(f, ", {each} for each of {world_size} ranks"),
                }
            }
            Error::NoFullStep { batches, places } => write!(
                f,
                "{} no step of {places}, and a tail that is dropped leaves none",
                if *batches == 1 {
                    "1 batch fills".to_owned()
                } else {
                    format!("{batches} batches fill")
                }
            ),
            Error::TooManyBatches { batches, fixed } => {
                write!(f, "the epoch has {batches} batches, more than the {fixed} it is to have")
            }
            Error::OtherRun { what, cursor, plan } => write!(
                f,
                "the cursor was made with {} `{}`, the plan with `{}`",
                in_words(what),
                shortened(cursor),
                shortened(plan)
            ),
            Error::RanksOfOtherRuns { rank, what, values: [first, other] } => write!(
                f,
                "the cursor of rank 0 was made with {} `{}`, that of rank {rank} with `{}`",
                in_words(what),
                shortened(first),
                shortened(other)
            ),
            Error::CursorBeyondEnd { ranks, counted, steps } => write!(
                f,
                "the cursor counts {counted} steps of {ranks} {}, but there are {steps}",
                if *ranks == 1 { "batch" } else { "batches" }
            ),
            Error::TooManySteps { asked, steps: 1 } => {
                write!(f, "{asked} steps were asked for, but there is 1")
            }
            Error::TooManySteps { asked, steps } => {
                write!(f, "{asked} steps were asked for, but there are {steps}")
            }
            Error::RanksApart { rank, steps: [first, other] } if first == other => write!(
                f,
                "rank 0 and rank {rank} both stopped after {first} steps, but with different numbers \
                 of batches"
            ),
            Error::RanksApart { rank, steps: [first, other] } => {
                write!(f, "rank 0 stopped after {first} steps, and rank {rank} after {other}")
            }
            Error::BadCursor { what } => {
                write!(f, "the cursor counts {}, which cannot be", shortened(what))
            }
            Error::Stopped => write!(f, "stopped before the end"),
            Error::OverMemory { what, needed, bound } => write!(
                f,
                "{what} takes about {} of memory, over the bound of {}",
                bytes(*needed, f64::ceil),
                bytes(*bound, f64::floor)
            ),
            Error::OtherStream { what, state, now } => write!(
                f,
                "the state was made with {} `{}`, this stream has `{}`",
                in_words(what),
                shortened(state),
                shortened(now)
            ),
            Error::BadState { what } => {
                write!(f, "the state says {}, which cannot be", shortened(what))
            }
            Error::StreamTooShort { at, read } => write!(
                f,
                "the stream ended at position {at}, and {read} sequences of it had been read"
            ),
            Error::BadPlan { what } => write!(f, "the plan does not hold together: {what}"),
            Error::BeyondStatistics { index, length, longest } => write!(
                f,
                "sequence {index} of length {length} is longer than any that the statistics know: the \
                 longest has {longest}"
            ),
            Error::OverLongElsewhere { longest, what } => {
                write!(f, "the statistics know a sequence of length {longest}, and {what}")
            }
            Error::NotNeeded { position, ended: false } => {
                write!(
                    f,
                    "the window is full, and has no place for the sequence at position {position}"
                )
            }
            Error::NotNeeded { position, ended: true } => {
                write!(f, "the stream has ended before the sequence at position {position}")
            }
            Error::BadStatistics { what } => write!(f, "the statistics cannot be used: {what}"),
            Error::BadShard { shard, of } => {
                write!(f, "there is no shard {shard} among {of} shards")
            }
            Error::NoStatistics => write!(f, "a shard cannot be planned without statistics of all"),
            Error::NoShard => write!(f, "what a shard needs can be counted of a shard only"),
            Error::NotCounted { counted: 0, .. } => {
                write!(f, "the statistics do not say how many batches the shards need")
            }
            Error::NotCounted { counted, first, of } => write!(
                f,
                "the statistics say what {counted} of {of} shards need; shard {first} is the first \
                 that is not among them"
            ),
            Error::CountedTwice { shard } => write!(f, "what shard {shard} needs is there twice"),
            Error::OtherNeeds { what, counted, given } => write!(
                f,
                "what the shards need was counted with {} `{}`, and now it is `{}`",
                in_words(what),
                shortened(counted),
                shortened(given)
            ),
            Error::SmallShard { shard: Shard { number, .. }, sequences, batches } => write!(
                f,
                "shard {number} has {sequences} sequences, and every shard takes {batches} batches"
            ),
            Error::BadGroups { what } => write!(f, "the strategy's grouping is not valid: {what}"),
        }
    }
}

impl std::error::Error for Error {}

/// A number of bytes with three or four digits, rounded so that the smaller of two looks smaller.
fn bytes(count: u64, round: fn(f64) -> f64) -> String {
    let (unit, name) = match count {
        ..10_000 => return format!("{count} bytes"),
        10_000..10_000_000 => (1e3, "KB"),
        10_000_000..10_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let number = round(10.0 * count as f64 / unit) / 10.0;
    format!("{number}{name}")
}

fn so_do(f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
    match more {
        0 => Ok(()),
        1 => write!(f, "; so does 1 more sequence"),
        more => write!(f, "; so do {more} more sequences"),
    }
}

/// A setting of a cursor as part of a sentence.
fn in_words(what: &str) -> String {
    match what {
        "lengths" => "lengths of digest".to_owned(),
        "plan" => "a plan of digest".to_owned(),
        "statistics" => "statistics of digest".to_owned(),
        "batches" => "a constant number of batches of".to_owned(),
        other => other.to_owned(),
    }
}

/// About three digits of a number, and not less than it: as a limit it is enough.
fn rounded_up(value: f64) -> f64 {
    let near = digits(value, 2);
    // The last of three digits is at most 1 % of the number.
    if near >= value { near } else { digits(1.01 * value, 2) }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
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
