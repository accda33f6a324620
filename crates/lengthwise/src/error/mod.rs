//! Everything that can go wrong while settings are read or a plan is made.

pub(crate) mod display;
pub(crate) mod kind;
pub(crate) mod remedy;

/// Why a plan could not be made.
///
/// [`Display`](std::fmt::Display) gives one line that names the place and both numbers of a conflict;
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
        /// How they were to be treated, by its name; any but `error` left nothing to plan.
        treatment: &'static str,
    },
    /// Sequences of two lengths that exceed the budget even alone.
    OverBudgetPair {
        /// The first of them.
        index: usize,
        /// Its lengths.
        lengths: [u32; 2],
        /// What of it is too large: `both` lengths together, the `first`, the `second`, the `larger`.
        side: &'static str,
        /// What a batch of it alone costs in cells there, after rounding by the shapes.
        cells: u64,
        /// The limit of these cells.
        limit: u64,
        /// How many there are in all.
        count: usize,
        /// How they were to be treated, by its name; any but `error` left nothing to plan.
        treatment: &'static str,
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
        /// How they were to be treated, by its name; any but `error` left nothing to plan.
        treatment: &'static str,
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
        shard: u32,
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
}

impl std::error::Error for Error {}
