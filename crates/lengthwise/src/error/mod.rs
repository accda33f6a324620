//! Everything that can go wrong while settings are read or a plan is made.

mod facts;
mod list;
pub(crate) mod remedy;

use crate::error::list::errors;
use crate::error::remedy::{
    ErrorKind, Remedy, by_shapes, bytes, differ, listed, over, rounded_up, shortened, so_do_others,
    text,
};
use crate::math::short;

/// The most sequences of a plan, and the longest length.
const MOST: u32 = u32::MAX;

/// The ways to treat over-long sequences, by name.
const TREATMENTS: [&str; 4] = ["error", "alone", "drop", "truncate"];

errors! {
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
    NoSequences
        is Lengths,
        says("there are no sequences"),
        advises("give at least one length"),
        like {};
    /// More sequences than a `u32` index can name.
    TooManySequences {
        count: u64 = "How many were given.",
    } is Lengths,
        says("{count} sequences are more than the {MOST} that one plan can hold"),
        advises("split the data: one plan can hold at most {MOST} sequences"),
        like { count: 1 << 33 };
    /// A length that is zero, negative, or larger than a `u32`.
    BadLength {
        index: usize = "The sequence.",
        given: String = "The length as it was given.",
    } is Lengths at index,
        says("sequence {index} has length {given}"),
        advises("lengths are whole numbers from 1 to {MOST}; leave empty sequences out"),
        like { index: 3, given: text("-8") };
    /// Sequences that exceed the budget even alone.
    OverBudget {
        index: usize = "The first of them.",
        length: u32 = "Its length.",
        cells: u64 = "What a batch of it alone costs in cells, after rounding by the shapes.",
        limit: u64 = "The budget in cells.",
        count: usize = "How many there are in all.",
        largest: u64 = "The most that any of them costs alone.",
        treatment: &'static str =
            "How they were to be treated, by its name; any but `error` left nothing to plan.",
    } is Budget at index,
        says("sequence {index} of length {length} alone costs {cells} cells{}, over the budget of \
              {limit}{}", by_shapes(*length, *cells), so_do_others(*count)),
        remedy(Some(match *treatment {
            "error" => Remedy::RaiseBudget(Some(format!("{largest} cells"))),
            _ => Remedy::Advice(format!(
                "`{treatment}` leaves nothing to plan; raise the budget, up to {largest} cells"
            )),
        })),
        like { index: 3, length: 90, cells: 90, limit: 60, count: 2, largest: 96, treatment }
            for treatment in TREATMENTS;
    /// Sequences of two lengths that exceed the budget even alone.
    OverBudgetPair {
        index: usize = "The first of them.",
        lengths: [u32; 2] = "Its lengths.",
        side: &'static str =
            "What of it is too large: `both` lengths together, the `first`, the `second`, the `larger`.",
        cells: u64 = "What a batch of it alone costs in cells there, after rounding by the shapes.",
        limit: u64 = "The limit of these cells.",
        count: usize = "How many there are in all.",
        treatment: &'static str =
            "How they were to be treated, by its name; any but `error` left nothing to plan.",
    } is Budget at index,
        says("sequence {index} has lengths {} and {}, and alone takes {cells} cells{}, more than the \
              budget of {limit}{}", lengths[0], lengths[1],
              if *side == "both" { String::new() } else { format!(" of the {side}") },
              so_do_others(*count)),
        remedy(Some(match *treatment {
            "error" => Remedy::RaiseBudget(None),
            "truncate" => Remedy::Advice(text(
                "cutting the first length to what is left beside the second leaves nothing of it; \
                 raise the budget, or choose `alone` or `drop`"
            )),
            _ => Remedy::Advice(format!("`{treatment}` leaves nothing to plan; raise the budget")),
        })),
        like { index: 3, lengths: [90, 7], side: "first", cells: 90, limit: 60, count: 2, treatment }
            for treatment in TREATMENTS;
    /// Sequences of two lengths that fit the budget, but not when rounded up to a shape of a ladder.
    OverBudgetShape {
        index: usize = "The first of them.",
        lengths: [u32; 2] = "Its lengths.",
        padded: [u32; 2] = "What they are padded to.",
        budget: String = "The budget.",
        count: usize = "How many there are in all.",
    } is Budget at index,
        says("sequence {index} has lengths {} and {}, and padded to {} and {} by the shapes exceeds the \
              budget `{budget}`{}", lengths[0], lengths[1], padded[0], padded[1], so_do_others(*count)),
        advises("raise the budget, use more shapes, or shapes `exact`"),
        like { index: 3, lengths: [90, 7], padded: [96, 8], budget: text("padded:60"), count: 2 };
    /// Groups of sequences that stay together and exceed the budget even alone.
    OverBudgetGroup {
        index: usize = "The first sequence of the first of them.",
        sequences: u32 = "How many sequences it has.",
        takes: String = "What it takes alone, as in \"180 cells\".",
        budget: String = "What is exceeded, as in \"the budget `padded:60`\".",
        count: usize = "How many groups there are in all.",
        treatment: &'static str = "How they were to be treated, by its name.",
    } is Budget at index,
        says("sequence {index} and what stays together with it, {sequences} sequences in all, take {takes} alone, \
              over {budget}{}", match count {
                  1 => String::new(),
                  2 => text("; so does 1 more group"),
                  _ => format!("; so do {} more groups", count - 1),
              }),
        remedy(Some(match *treatment {
            "error" => Remedy::RaiseBudget(None),
            "truncate" => Remedy::Advice(text(
                "groups in one row, and groups of more sequences than a batch may have, are not truncated; \
                 raise the budget, or choose `alone` or `drop`"
            )),
            _ => Remedy::Advice(format!("`{treatment}` leaves nothing to plan; raise the budget")),
        })),
        like { index: 3, sequences: 2, takes: text("180 cells"), budget: text("the budget `padded:60`"), count: 2,
               treatment } for treatment in TREATMENTS;
    /// Different numbers of first and second lengths.
    UnequalCounts {
        first: usize = "How many first lengths there are.",
        second: usize = "How many second lengths there are.",
    } is Setting,
        says("there are {first} first lengths and {second} second lengths"),
        advises("give both lengths of every sequence"),
        like { first: 3, second: 2 };
    /// Something that needs sequences with two lengths.
    NoSecond {
        what: String = "What needs them, as in \"strategy `paired`\".",
    } is Setting,
        says("{what} needs a second length for each sequence"),
        remedy(Some(Remedy::GiveSecondLengths)),
        like { what: text("strategy `paired`") };
    /// Something that does not support two lengths.
    SecondLengths {
        what: String = "What it is, as in \"strategy `packed`\".",
    } is Setting,
        says("{what} does not support second lengths"),
        advises("leave out the second lengths, or {what}; the strategy for two lengths is `paired`"),
        like { what: text("strategy `packed`") };
    /// Something that does not support groups or kinds.
    GroupsUnsupported {
        what: String = "What it is, as in \"a bound on memory\".",
    } is Setting,
        says("{what} does not support sequences that stay together or have kinds"),
        advises("leave out the groups and kinds, or {what}"),
        like { what: text("a bound on memory") };
    /// Sequences that are longer than a row may be.
    OverCapacity {
        index: usize = "The first of them.",
        length: u32 = "Its length.",
        cells: u64 = "What it takes alone, after rounding by the shapes.",
        capacity: u32 = "The capacity of a row.",
        count: usize = "How many there are in all.",
        largest: u64 = "The most that any of them takes alone.",
        treatment: &'static str =
            "How they were to be treated, by its name; any but `error` left nothing to plan.",
    } is Budget at index,
        says("sequence {index} of length {length} alone takes {cells} positions{}, over the capacity of \
              {capacity}{}", by_shapes(*length, *cells), so_do_others(*count)),
        remedy(Some(match *treatment {
            "error" => Remedy::RaiseCapacity(*largest),
            "balance" => Remedy::Advice(format!(
                "raise the capacity to at least {largest}, or split long sequences over several ranks"
            )),
            _ => Remedy::Advice(format!(
                "`{treatment}` leaves nothing to plan; raise the capacity, up to {largest}"
            )),
        })),
        like { index: 3, length: 90, cells: 90, capacity: 60, count: 2, largest: 96, treatment }
            for treatment in TREATMENTS;
    /// Sequences that take longer than a budget of seconds even alone.
    OverBudgetSeconds {
        index: usize = "The first of them.",
        length: u32 = "Its length.",
        padded: u32 = "What it is padded to alone, after rounding by the shapes.",
        seconds: f64 = "How long a batch of it alone takes.",
        limit: f64 = "The budget in seconds.",
        count: usize = "How many there are in all.",
        largest: f64 = "The longest time that any of them takes alone.",
    } is Budget at index,
        says("sequence {index} of length {length} alone takes {} seconds{}, over the budget of {}{}",
              short(over(*seconds, *limit)),
              if padded == length { String::new() }
              else { format!(" (rounded up to {padded} by the shapes)") },
              short(*limit), so_do_others(*count)),
        remedy(Some(Remedy::RaiseSeconds(short(rounded_up(*largest))))),
        like { index: 3, length: 90, padded: 96, seconds: 0.11, limit: 0.1, count: 2, largest: 0.12 };
    /// An impossible measured step.
    BadStep {
        index: usize = "The step.",
        what: &'static str = "What of it: batch size, batch length or seconds.",
        given: String = "The value as it was given.",
    } is Cost at index,
        says("measured step {index} has {what} {given}"),
        advises("batch sizes and batch lengths are whole numbers from 1 to {MOST}, and times are seconds \
                 from 1e-12 to 1e9"),
        like { index: 1, what: "batch size", given: text("0") };
    /// Measured steps that do not determine a cost model.
    TooFewSteps {
        what: String = "What is wrong with them.",
    } is Cost,
        says("{what}"),
        advises("measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths"),
        like { what: text("there are 3 measured steps") };
    /// Measured steps that no cost model describes.
    PoorFit {
        mean_relative_error: f64 = "The mean relative error of the best one.",
        r2: f64 = "How much better it is than the best constant time, from 0 to 1.",
    } is Cost,
        says("the best cost model is wrong by {:.0} % on average, and explains {:.0} % of the \
              differences between the measured times (r2 {r2:.4})",
              100.0 * mean_relative_error, 100.0 * r2),
        advises("check that each time belongs to its batch size and batch length; measure after a \
                 warm-up of each shape, take the median of several steps, and measure more shapes"),
        like { mean_relative_error: 0.7, r2: 0.2 };
    /// A name that is not in the list of its kind.
    UnknownName {
        kind: &'static str = "What was looked for: a strategy, a budget, …",
        given: String = "The name as it was given.",
        nearest: Option<&'static str> = "The nearest known name, if one is near.",
        known: Vec<&'static str> = "All known names.",
    } is Setting,
        says("unknown {kind} `{}`", shortened(given)),
        remedy(Some(match nearest {
            Some(nearest) => Remedy::DidYouMean(nearest),
            None => Remedy::Advice(format!("one of {}", listed(known))),
        })),
        like { kind: "strategy", given: text("sortd"), nearest, known: vec!["shuffled", "sorted"] }
            for nearest in [Some("sorted"), None];
    /// A key that the setting does not have.
    UnknownKey {
        of: String = "The setting, as in \"strategy `alternated`\".",
        given: String = "The key as it was given.",
        known: Vec<&'static str> = "The keys it has.",
    } is Setting,
        says("unknown parameter `{}` of {of}", shortened(given)),
        advises("{}", match &known[..] {
            [] => text("it takes no parameters"),
            known => format!("its parameters are {}", listed(known)),
        }),
        like { of: text("budget `padded`"), given: text("x"), known: vec![] }
            { of: text("strategy"), given: text("x"), known: vec!["bins"] };
    /// A value that the setting does not accept.
    BadValue {
        of: String = "The setting, as in \"`bins` of strategy `alternated`\".",
        given: String = "The value as it was given.",
        expected: String = "What it must be.",
    } is Setting,
        says("{of} cannot be `{}`", shortened(given)),
        advises("it must be {expected}"),
        like { of: text("`bins`"), given: text("0"), expected: text("from 1") };
    /// A ladder whose top rung is below the longest sequence.
    LadderTooShort {
        top: u32 = "The top rung.",
        index: usize = "The longest sequence.",
        length: u32 = "Its length.",
    } is Setting at index,
        says("sequence {index} of length {length} is longer than the top rung {top}"),
        advises("add a rung of at least {length}, or let `ladder:8` choose the rungs"),
        like { top: 60, index: 3, length: 90 };
    /// Rounding the longest sequence up leaves the range of `u32`.
    LengthOverflow {
        length: u32 = "The longest length.",
        multiple: u32 = "What it would be rounded to a multiple of.",
    } is Setting,
        says("length {length} rounded up to a multiple of {multiple} is more than {MOST}"),
        advises("use a smaller multiple, or shapes `exact`"),
        like { length: MOST, multiple: 8 };
    /// A world size of zero.
    NoRanks
        is Rank,
        says("there are no ranks"),
        advises("give at least one rank"),
        like {};
    /// An invalid rank.
    BadRank {
        rank: u32 = "The rank.",
        world_size: u32 = "The number of ranks.",
    } is Rank,
        says("there is no rank {rank} {}", match world_size {
            1 => text("where there is only one rank"),
            ranks => format!("among {ranks} ranks"),
        }),
        advises("ranks are numbered from 0; the last one is {}", world_size.saturating_sub(1)),
        like { rank: 4, world_size: 4 };
    /// Too many batches in a step.
    TooManyRanks {
        world_size: u32 = "The number of ranks.",
        accumulate: u32 = "Gradient-accumulation steps per rank.",
    } is Rank,
        says("{world_size} ranks with {accumulate} batches each are more than {MOST} batches per step"),
        advises("use fewer ranks, or fewer gradient-accumulation steps"),
        like { world_size: 1 << 31, accumulate: 4 };
    /// Fewer sequences than there are batches in a step.
    TooFewForRanks {
        sequences: usize = "How many sequences there are.",
        places: u32 = "How many batches a step has.",
        world_size: u32 = "The number of ranks.",
    } is Rank,
        says("{sequences} {} cannot fill a step of {places} batches, {}",
              if *sequences == 1 { "sequence" } else { "sequences" },
              match (places / world_size, world_size) {
                  (each, 1) => format!("{each} for one rank"),
                  (1, _) => format!("one for each of {world_size} ranks"),
                  (each, _) => format!("{each} for each of {world_size} ranks"),
              }),
        advises("{}", match (sequences / (places / world_size).max(1) as usize, places / world_size) {
            (0, _) => text("use fewer gradient-accumulation steps, or fewer canonical ranks"),
            (most, 1) => format!("use {most} ranks or fewer"),
            (most, _) => format!(
                "use {most} ranks or fewer, fewer gradient-accumulation steps, or fewer canonical ranks"
            ),
        }),
        like { sequences: 5, places: 8, world_size } for world_size in [8, 2];
    /// Too few batches for one step, if the tail is dropped.
    NoFullStep {
        batches: usize = "How many batches there are.",
        places: u32 = "How many batches a step has.",
    } is Rank,
        says("{batches} {} not fill one step of {places}, and the tail is dropped: nothing is left",
              if *batches == 1 { "batch does" } else { "batches do" }),
        remedy(Some(Remedy::KeepTail)),
        like { batches: 3, places: 4 };
    /// More batches than the fixed number.
    TooManyBatches {
        batches: usize = "How many the epoch has at least.",
        fixed: u32 = "The fixed number.",
    } is Setting,
        says("the epoch needs {batches} batches, but their number is fixed at {fixed}"),
        remedy(Some(Remedy::RaiseBatches(*batches))),
        like { batches: 9, fixed: 8 };
    /// A cursor of another run than the plan.
    OtherRun {
        what: String = "What differs.",
        cursor: String = "What the cursor says about it.",
        plan: String = "What the plan says about it.",
    } is State,
        says("{}", differ("the cursor was made with", what, cursor, "the plan with", plan)),
        advises("{}", match what.as_str() {
            "lengths" => "resume with the lengths that the epoch began with, in the same order",
            "plan" => "this release makes another plan: resume with the release of lengthwise that \
                       the epoch began with, or start a new epoch",
            _ => "resume with the settings that the epoch began with, or start a new epoch",
        }),
        like { what: text(what), cursor: text("sorted"), plan: text("shuffled") }
            for what in ["lengths", "plan", "strategy"];
    /// A cursor that counts more steps than the epoch has.
    CursorBeyondEnd {
        ranks: u32 = "The batches of a step.",
        counted: u32 = "The steps that the cursor counts.",
        steps: usize = "The steps that there are.",
    } is State,
        says("the cursor counts {counted} steps of {ranks} {}, but there are {steps}",
              if *ranks == 1 { "batch" } else { "batches" }),
        advises("use another checkpoint: the cursor is damaged, or does not count steps of all ranks"),
        like { ranks: 4, counted: 9, steps: 8 };
    /// More steps than are left of the epoch.
    TooManySteps {
        asked: usize = "How many were asked for.",
        steps: usize = "How many there are.",
    } is State,
        says("{asked} steps were asked for, but there {} {steps}",
              if *steps == 1 { "is" } else { "are" }),
        advises("take at most {steps}"),
        like { asked: 9, steps: 8 };
    /// Cursors of ranks that stopped at different steps.
    RanksApart {
        rank: usize = "The first cursor that differs from that of rank 0, by its position in the list.",
        steps: [u64; 2] = "How many steps rank 0 and this one have taken.",
    } is State,
        says("{}", match steps {
            [first, other] if first == other => format!(
                "rank 0 and rank {rank} both stopped after {first} steps, but with different numbers of \
                 batches"
            ),
            [first, other] => {
                format!("rank 0 stopped after {first} steps, but rank {rank} after {other}")
            }
        }),
        advises("save cursors of the same step on all ranks; resume from the last common checkpoint"),
        like { rank: 1, steps: [8, 9] };
    /// Cursors of ranks that are not of one run.
    RanksOfOtherRuns {
        rank: usize = "The first cursor that differs from that of rank 0, by its position in the list.",
        what: String = "What differs.",
        values: [String; 2] = "What the two say about it.",
    } is State,
        says("{}", differ("the cursor of rank 0 was made with", what, &values[0],
              &format!("that of rank {rank} with"), &values[1])),
        advises("give the cursors of all ranks of one run, saved at the same step"),
        like { rank: 1, what: text(what), values: ["sorted", "shuffled"].map(text) }
            for what in ["lengths", "plan", "strategy"];
    /// An impossible cursor.
    BadCursor {
        what: String = "What it counts.",
    } is State,
        says("the cursor counts {}, which is impossible", shortened(what)),
        advises("use another checkpoint: the cursor is damaged"),
        like { what: text("a step of 0 batches") };
    /// A state of another stream.
    OtherStream {
        what: String = "What differs.",
        state: String = "What the state says about it.",
        now: String = "What this stream says about it.",
    } is State,
        says("{}", differ("the state was made with", what, state, "this stream has", now)),
        advises("{}", if what == "lengths" {
            "read the same stream again, in the same order, from the position in the state"
        } else {
            "resume with the settings that the stream began with, or start it again"
        }),
        like { what: text(what), state: text("sorted"), now: text("shuffled") }
            for what in ["lengths", "plan", "strategy"];
    /// An impossible state of a stream.
    BadState {
        what: String = "What it has.",
    } is State,
        says("the state has {}, which is impossible", shortened(what)),
        advises("use another checkpoint: the state is damaged"),
        like { what: text("rungs that do not rise") };
    /// A stream that ends before the position where it is to resume.
    StreamTooShort {
        at: u64 = "Where it ended.",
        read: u64 = "How many sequences had been read.",
    } is State,
        says("the stream ended at position {at}, but {read} sequences of it had been read before"),
        advises("read the same stream again, from the position in the state"),
        like { at: 5, read: 9 };
    /// An invalid plan.
    BadPlan {
        what: String = "What is wrong.",
    } is Setting,
        says("the plan is not valid: {what}"),
        advises("make the plan again: it is damaged"),
        like { what: text("batch 3 is empty") };
    /// A restored plan without the lengths that it was made for: of packed rows, of groups or of kinds.
    NoPlanLengths
        is Setting,
        says("the plan was restored without its lengths, and its steps depend on them"),
        advises("give it the lengths that it was made for"),
        like {};
    /// The work was stopped before its end, as its caller asked
    /// ([`Workspace::stopped_by`](crate::Workspace::stopped_by)).
    Stopped
        is Setting,
        says("stopped before the end"),
        remedy(None),
        like {};
    /// More memory than the [bound](crate::Workspace::memory) allows.
    OverMemory {
        what: String = "What takes it.",
        needed: u64 = "About how many bytes the plan takes in all.",
        bound: u64 = "The bound.",
    } is Setting,
        says("{what} takes about {} of memory, over the bound of {}",
              bytes(*needed, f64::ceil), bytes(*bound, f64::floor)),
        remedy(Some(Remedy::RaiseMemory(bytes(*needed, f64::ceil)))),
        like { what: text("planning"), needed: 2_100_000_000, bound: 1000 };
    /// A sequence that is longer than the longest in the statistics.
    BeyondStatistics {
        index: usize = "The sequence.",
        length: u32 = "Its length.",
        longest: u32 = "The longest length in the statistics.",
    } is Lengths at index,
        says("sequence {index} of length {length} is longer than the longest in the statistics, which \
              has length {longest}"),
        advises("compute the statistics again, with the lengths of every shard"),
        like { index: 3, length: 90, longest: 60 };
    /// Sequences of other shards that exceed a limit alone.
    OverLongElsewhere {
        longest: u32 = "The longest length in the statistics.",
        what: String = "The limit.",
    } is Budget,
        says("the statistics have a sequence of length {longest}, but {what}"),
        remedy(Some(Remedy::RaiseBudget(None))),
        like { longest: 90, what: text("the top rung is 60") };
    /// A sequence that was pushed into a full or ended stream.
    NotNeeded {
        position: u64 = "The position that it would have.",
        ended: bool = "Whether the stream had ended.",
    } is State,
        says("{} the sequence at position {position}", match ended {
            true => "the stream has ended before",
            false => "the window is full and cannot hold",
        }),
        advises("{}", match ended {
            true => "resume the stream from its state to add more sequences",
            false => "make a step whenever no sequence is needed",
        }),
        like { position: 9, ended } for ended in [false, true];
    /// Statistics that are invalid, or cannot be used here.
    BadStatistics {
        what: String = "What is wrong.",
    } is Setting,
        says("the statistics cannot be used: {what}"),
        remedy(Some(Remedy::GatherStatistics)),
        like { what: text("they are empty") };
    /// An invalid shard number.
    BadShard {
        shard: u32 = "The shard.",
        of: u32 = "How many there are.",
    } is Rank,
        says("there is no shard {shard} among {of} shards"),
        advises("shards are numbered from 0; the last one is {}", of.saturating_sub(1)),
        like { shard: 4, of: 4 };
    /// A shard without the statistics of all shards.
    NoStatistics
        is Setting,
        says("a shard cannot be planned without the statistics of all shards"),
        remedy(Some(Remedy::GiveStatistics)),
        like {};
    /// Needs were to be counted, but no shard was given.
    NoShard
        is Setting,
        says("the needs of a shard cannot be counted without a shard"),
        remedy(Some(Remedy::NameShard)),
        like {};
    /// Statistics without the needs of all shards.
    NotCounted {
        counted: u32 = "How many shards were counted.",
        first: u32 = "The first that was not.",
        of: u32 = "How many there are.",
    } is Setting,
        says("the statistics {}", match counted {
            0 => text("do not have how many batches the shards need"),
            _ => format!(
                "have the needs of {counted} of {of} shards; shard {first} is the first one missing"
            ),
        }),
        remedy(Some(Remedy::CountNeeds)),
        like { counted: 0, first: 0, of: 4 } { counted: 2, first: 1, of: 4 };
    /// The needs of one shard, twice.
    CountedTwice {
        shard: u32 = "The shard.",
    } is Setting,
        says("the needs of shard {shard} are there twice"),
        advises("merge the needs of each shard once"),
        like { shard: 1 };
    /// Needs that were counted with other settings or statistics.
    OtherNeeds {
        what: String = "What differs.",
        counted: String = "The value that they were counted with.",
        given: String = "The value now.",
    } is Setting,
        says("{}", differ("the needs of the shards were counted with", what, counted, "now it is",
              given)),
        advises("plan all shards with the settings and the statistics that their needs were counted \
                 with, or count the needs again"),
        like { what: text("shards"), counted: text("4"), given: text("5") };
    /// A shard with fewer sequences than every shard has batches.
    SmallShard {
        shard: u32 = "The shard.",
        sequences: usize = "How many sequences it has.",
        batches: u32 = "How many batches every shard has.",
    } is Rank,
        says("shard {shard} has {sequences} sequences, but every shard takes {batches} batches"),
        advises("make shards of about the same total length: join small ones, or split large ones"),
        like { shard: 1, sequences: 5, batches: 8 };
    /// A strategy's own grouping does not hold every sequence exactly once.
    BadGroups {
        what: String = "What is wrong, naming the sequence.",
    } is Setting,
        says("the strategy's grouping is not valid: {what}"),
        advises("return an order that is a permutation of all sequences, and ends that rise to their \
                 number"),
        like { what: text("sequence 3 is in it twice") };
}
}
