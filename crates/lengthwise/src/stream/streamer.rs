//! The settings of a stream, resolved for lengths that are not known; and the state of a stream, small
//! enough for every checkpoint.

use std::collections::BTreeMap;

use crate::base::setting::{differ, difference, names, setters};
use crate::cut::rungs;
use crate::data::lengths::{Lengths, Pad};
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::resolved::ResolvedBudget;
use crate::plan::arrange::Tail;
use crate::shape::rounding::Rounding;
use crate::shape::shapes::Shapes;

#[doc = include_str!("stream.md")]
#[derive(Clone, Debug, PartialEq)]
pub struct Streamer {
    pub(crate) budget: Budget,
    pub(crate) shapes: Shapes,
    pub(crate) window: u32,
    pub(crate) pivot: Pivot,
    pub(crate) over_long: OverLong,
    pub(crate) tail: Tail,
    pub(crate) ranks: u32,
    pub(crate) rank: u32,
    pub(crate) seed: u64,
    pub(crate) epoch: u64,
}

impl Streamer {
    /// The default number of sequences held.
    pub const WINDOW: u32 = 4096;

    /// Returns a streamer with exact shapes, a window of 4,096 sequences, an error for over-long
    /// sequences, one rank, and seed 0.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            shapes: Shapes::default(),
            window: Self::WINDOW,
            pivot: Pivot::default(),
            over_long: OverLong::default(),
            tail: Tail::default(),
            ranks: 1,
            rank: 0,
            seed: 0,
            epoch: 0,
        }
    }

    /// The manual page of streams, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("stream.md")
    }

    /// What a state remembers: all that batches depend on, but for ranks and the tail, which may
    /// change. Over-long sequences come last: see [`StreamState`].
    pub(crate) fn settings(&self) -> String {
        let Self { budget, shapes, window, pivot, over_long, .. } = self;
        format!(
            "budget={budget} shapes={shapes} window={window} pivot={pivot} over_long={over_long}"
        )
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.ranks == 0 {
            return Err(Error::NoRanks);
        }
        if self.rank >= self.ranks {
            return Err(Error::BadRank { rank: self.rank, world_size: self.ranks });
        }
        if self.window < self.ranks || self.window > MOST_HELD {
            let least = match self.ranks {
                1 => "1".to_owned(),
                ranks => format!("{ranks}, one for each rank,"),
            };
            let expected = format!("a number of sequences from {least} to {MOST_HELD}");
            return Err(Error::bad_value("the window", &self.window, expected));
        }
        if self.pivot == Pivot::Quantile && self.ranks > 1 {
            let of = "the pivot of several ranks that read one stream";
            let expected = "`oldest`; if each rank has a stream of its own, each is the only rank";
            return Err(Error::bad_value(of, &self.pivot, expected));
        }
        Ok(())
    }
}

setters! {
impl Streamer {
    /// Sets the shapes. Rungs of a ladder that are not given are learned from the first window, and
    /// kept; a longer sequence adds one.
    pub fn shapes(mut self, shapes: Shapes) -> Self { self.shapes = shapes }
    /// Sets how many sequences are held at most. More sequences give less padding.
    pub fn window(mut self, sequences: u32) -> Self { self.window = sequences }
    /// Sets which sequence a step is built around.
    pub fn pivot(mut self, pivot: Pivot) -> Self { self.pivot = pivot }
    /// Sets what happens to over-long sequences.
    pub fn over_long(mut self, over_long: OverLong) -> Self { self.over_long = over_long }
    /// Sets what happens at the end of the stream to batches that do not fill a step of all ranks.
    pub fn tail(mut self, tail: Tail) -> Self { self.tail = tail }
    /// Sets the rank and the number of ranks. A step has a batch for each rank, of which `rank` takes
    /// its own. All ranks read the same stream.
    pub fn rank(mut self, rank: u32, ranks: u32) -> Self {
        (self.rank, self.ranks) = (rank, ranks)
    }
    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self { self.seed = seed }
    /// Sets the epoch, for streams that are read several times. Each epoch has other random choices.
    pub fn epoch(mut self, epoch: u64) -> Self { self.epoch = epoch }
}
}

/// No stream gets so far, and from here no count overflows.
const MOST_COUNTED: u64 = u64::MAX / 2;

/// A window with more is a plan.
const MOST_HELD: u32 = 1 << 28;

/// Which of the held sequences the next step is built around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pivot {
    /// The sequence that has been held longest. No sequence waits for more steps than the window has
    /// sequences.
    #[default]
    Oldest,
    /// The oldest sequence near a position in the order of lengths, which follows from the seed and the
    /// number of the step. So ranks with streams of their own have batches of similar length at the
    /// same time. A sequence that has waited for two windows of steps is taken first.
    Quantile,
}

impl Pivot {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["oldest", "quantile"];

    /// Every pivot.
    pub const ALL: [Pivot; 2] = [Pivot::Oldest, Pivot::Quantile];
}

names!(Pivot, "pivot");

/// The state of a stream: how much was read, and which sequences are still held.
///
/// It is the same on every rank. [`Feed::state`](crate::stream::Feed::state) returns one, and
/// [`Streamer::resume`] resumes from it, with the same number of ranks or another. It does not contain
/// the held sequences: the source is read again from [`from`](StreamState::from) on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The settings that batches depend on, as `name=value` with spaces between.
    pub settings: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// How many steps were made.
    pub steps: u64,
    /// How many sequences were read.
    pub read: u64,
    /// How many of them were left out.
    pub left_out: u64,
    /// How many of them were truncated because they are over-long.
    pub truncated: u64,
    /// The rungs of a ladder that was learned from the stream; empty if there is none.
    pub rungs: Vec<u32>,
    /// The positions of the held sequences, in ascending order.
    pub held: Vec<u64>,
    /// A digest of their positions and lengths.
    pub lengths: u64,
}

impl StreamState {
    /// The version of states that this release makes and reads.
    pub const VERSION: u32 = 1;

    /// The position from which the source must be read to resume.
    pub fn from(&self) -> u64 {
        self.held.first().copied().unwrap_or(self.read)
    }

    /// Refuses a state of another stream, or one that no stream can have.
    pub(crate) fn check(&self, streamer: &Streamer) -> Result<(), Error> {
        // If over-long sequences are an error, none has been read yet: the setting may change from here
        // on.
        let state = match self.settings.strip_suffix("over_long=error") {
            Some(others) => format!("{others}over_long={}", streamer.over_long),
            None => self.settings.clone(),
        };
        let found = difference(&state, &streamer.settings())
            .or_else(|| differ("seed", [self.seed, streamer.seed]))
            .or_else(|| differ("epoch", [self.epoch, streamer.epoch]));
        if let Some((what, [state, now])) = found {
            return Err(Error::OtherStream { what, state, now });
        }
        let Self { read, held, rungs, .. } = self;
        let counts = [self.steps, *read, self.left_out, self.truncated];
        let what = match held.last() {
            _ if counts.iter().any(|&count| count > MOST_COUNTED) => {
                format!("a count of {}", counts.into_iter().max().unwrap_or_default())
            }
            _ if held.len() > streamer.window as usize => {
                format!("{} sequences held in a window of {}", held.len(), streamer.window)
            }
            _ if !held.is_sorted_by(|one, other| one < other) => {
                "positions that do not rise".to_owned()
            }
            Some(last) if last >= read => format!("position {last} held of {read} that were read"),
            _ if rungs.first() == Some(&0) || !rungs.is_sorted_by(|one, other| one < other) => {
                "rungs that do not rise".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::BadState { what })
    }
}

/// Shapes, budget and over-long sequences, resolved for a stream whose lengths are not known.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    shapes: Shapes,
    budget: Budget,
    over_long: OverLong,
    limit: ResolvedBudget<'static>,
    /// The longest length that fits a batch alone.
    longest: u32,
    /// The rungs of a ladder, given or learned; empty before they are.
    rungs: Vec<u32>,
    /// By the number of sequences that stay together.
    groups: BTreeMap<u32, OfGroups>,
}

/// What groups of a size may be.
#[derive(Clone, Debug)]
struct OfGroups {
    /// The longest length that fits alone.
    longest: u32,
    limit: ResolvedBudget<'static>,
}

impl Rounds {
    /// With the rungs that were learned before, if some were.
    pub(crate) fn new(streamer: &Streamer, learned: &[u32]) -> Result<Self, Error> {
        let Streamer { budget, ref shapes, over_long, .. } = *streamer;
        budget.check()?;
        if budget.is_of_sides() {
            return Err(Error::NoSecond { what: format!("budget `{budget}`") });
        }
        // Refuses what makes no sense; the lengths do not matter.
        shapes.rounding(&Lengths::new([1])?)?;
        let rungs = match shapes {
            Shapes::Rungs(rungs) => rungs.clone(),
            _ if budget.depends_on_longest() => {
                let expected = "`sequences`, `padded` or `cost`: the longest length is not known in a \
                                stream, unless shapes are rungs that are given";
                return Err(Error::bad_value("the budget of a stream", &budget, expected));
            }
            Shapes::Ladder(_) => learned.to_vec(),
            _ => Vec::new(),
        };
        let limit = budget.resolve(rungs.last().copied().unwrap_or(1))?;
        let longest = shapes.longest_within(budget.longest_alone());
        let (shapes, groups) = (shapes.clone(), BTreeMap::new());
        Ok(Self { shapes, budget, over_long, limit, longest, rungs, groups })
    }

    /// The length with which the sequence at this position is planned; none if it is left out.
    pub(crate) fn admit(
        &self,
        position: u64,
        length: u32,
        sequences: u32,
    ) -> Result<Option<u32>, Error> {
        let index = usize::try_from(position).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(Error::BadLength { index, given: "0".to_owned() });
        }
        let whole = || match self.shapes {
            Shapes::Multiple(multiple) if length.checked_next_multiple_of(multiple).is_none() => {
                Err(Error::LengthOverflow { length, multiple })
            }
            _ => Ok(Some(length)),
        };
        let longest = self.of_groups(sequences).map_or(self.longest, |groups| groups.longest);
        match self.over_long {
            _ if length <= longest => whole(),
            OverLong::Alone => whole(),
            OverLong::Drop => Ok(None),
            OverLong::Truncate if longest > 0 => Ok(Some(longest)),
            _ if sequences > 1 => Err(self.over_budget_group(index, length, sequences)),
            _ => Err(self.over_budget(index, length)),
        }
    }

    /// Finds out what groups of so many sequences may be, before one of them is admitted.
    pub(crate) fn meet(&mut self, position: u64, sequences: u32) -> Result<(), Error> {
        if sequences == 0 {
            let of = format!("the number of sequences at position {position}");
            return Err(Error::bad_value(of, &sequences, "a whole number from 1"));
        }
        if sequences > 1 && self.of_groups(sequences).is_none() {
            let limit = self.limit.clone();
            let mut longest = 0;
            if limit.holds_group(sequences, Pad::one(1)) {
                longest = self.shapes.longest_within(limit.longest_of_group(sequences));
            }
            self.groups.insert(sequences, OfGroups { longest, limit: limit.of_groups(sequences) });
        }
        Ok(())
    }

    fn of_groups(&self, sequences: u32) -> Option<&OfGroups> {
        self.groups.get(&sequences)
    }

    fn over_budget_group(&self, index: usize, length: u32, sequences: u32) -> Error {
        let cells = self.shapes.alone(length) * u64::from(sequences);
        let (takes, budget) = (format!("{cells} cells"), format!("the budget `{}`", self.budget));
        let (count, treatment) = (1, self.over_long.name());
        Error::OverBudgetGroup { index, sequences, takes, budget, count, treatment }
    }

    fn over_budget(&self, index: usize, length: u32) -> Error {
        let padded = self.shapes.alone(length);
        match self.budget.limit_of_one() {
            Some(limit) if length > limit.longest_alone() || self.rungs.is_empty() => {
                limit.exceeded((index, length), [padded, padded], (1, "error"))
            }
            _ => {
                let top = self.rungs.last().copied().unwrap_or_default();
                Error::LadderTooShort { top, index, length }
            }
        }
    }

    /// Whether rungs are learned from the stream.
    fn learns(&self) -> bool {
        matches!(self.shapes, Shapes::Ladder(_))
    }

    pub(crate) fn must_learn(&self) -> bool {
        self.learns() && self.rungs.is_empty()
    }

    /// Learns rungs from the lengths of the first window.
    pub(crate) fn learn(&mut self, lengths: impl Iterator<Item = u32>) -> Result<(), Error> {
        let lengths: Vec<u32> = lengths.filter(|&length| length <= self.longest).collect();
        if !lengths.is_empty()
            && let Rounding::Rungs(rungs) =
                rungs::rounding(&self.shapes, &Lengths::new(lengths)?, &self.budget)?
        {
            self.rungs = rungs.edges;
        }
        Ok(())
    }

    pub(crate) fn learned(&self) -> &[u32] {
        if self.learns() { &self.rungs } else { &[] }
    }

    /// Adds a rung for a sequence that is longer than all that the ladder was learned from: an eighth
    /// above it, so that there are few of them however long they become.
    pub(crate) fn extend(&mut self, length: u32) {
        if length <= self.longest
            && self.learns()
            && self.rungs.last().is_some_and(|&top| top < length)
        {
            self.rungs.push(length.saturating_add(length / 8).min(self.longest));
        }
    }

    /// What the longest of a batch is padded to, and how many sequences such a batch has.
    pub(crate) fn padded_and_full(&self, length: u32, sequences: u32) -> (u32, u32) {
        let padded = match self.shapes {
            // Those of two lengths were refused.
            Shapes::Exact | Shapes::Each(..) => length,
            Shapes::Multiple(multiple) => length.next_multiple_of(multiple),
            Shapes::Ladder(_) | Shapes::Rungs(_) => {
                let rung = self.rungs.partition_point(|&rung| rung < length);
                self.rungs.get(rung).copied().unwrap_or(length)
            }
        };
        let Some(OfGroups { longest, limit }) = self.of_groups(sequences) else {
            return (padded, self.limit.full(padded));
        };
        // The next rung may be too long for so many sequences.
        let padded = if padded > *longest { length } else { padded };
        (padded, limit.full(padded))
    }
}
