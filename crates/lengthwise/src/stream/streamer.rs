//! The settings of a stream, and where it stands: small enough to be in every checkpoint.

use crate::base::setting::{difference, names, setters};
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::plan::steps::Tail;
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
    /// How many sequences are held if nothing is said.
    pub const WINDOW: u32 = 4096;

    /// A streamer with exact shapes, a window of 4,096 sequences, over-long sequences refused, one
    /// rank, seed 0.
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
    /// change. Over-long sequences come last: see [`StreamState`](crate::stream::StreamState).
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
            let expected = "`oldest`; with a stream of its own each rank is the only one";
            return Err(Error::bad_value(of, &self.pivot, expected));
        }
        Ok(())
    }
}

setters! {
impl Streamer {
    /// With these shapes. The rungs of a ladder that are not given are learned from the first window,
    /// and kept; a sequence that is longer adds one.
    pub fn shapes(mut self, shapes: Shapes) -> Self { self.shapes = shapes }
    /// With at most so many sequences held: the more, the less padding.
    pub fn window(mut self, sequences: u32) -> Self { self.window = sequences }
    /// With steps that grow around this sequence.
    pub fn pivot(mut self, pivot: Pivot) -> Self { self.pivot = pivot }
    /// With over-long sequences treated in this way.
    pub fn over_long(mut self, over_long: OverLong) -> Self { self.over_long = over_long }
    /// With the batches that fill no step of ranks treated in this way, at the end of the stream.
    pub fn tail(mut self, tail: Tail) -> Self { self.tail = tail }
    /// With a batch for each of so many ranks in a step, of which `rank` takes its own. All read the
    /// same stream.
    pub fn rank(mut self, rank: u32, ranks: u32) -> Self {
        (self.rank, self.ranks) = (rank, ranks)
    }
    /// With this seed.
    pub fn seed(mut self, seed: u64) -> Self { self.seed = seed }
    /// With the randomness of this epoch, for streams that come again.
    pub fn epoch(mut self, epoch: u64) -> Self { self.epoch = epoch }
}
}

/// A window with more is a plan.
const MOST_HELD: u32 = 1 << 28;

/// Around which of the sequences that are held the next step grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pivot {
    /// The one that has been held for longest: nobody waits for more steps than the window has
    /// sequences.
    #[default]
    Oldest,
    /// The oldest near a place in the order of lengths that the seed and the number of the step decide:
    /// so ranks with streams of their own have batches of like length at the same time. One that has
    /// waited for two windows of steps goes first.
    Quantile,
}

impl Pivot {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["oldest", "quantile"];

    /// Every pivot.
    pub const ALL: [Pivot; 2] = [Pivot::Oldest, Pivot::Quantile];
}

names!(Pivot, "pivot");

/// Where a stream stands: what was read, and which of it is still held.
///
/// It is the same on every rank. [`Feed::state`](crate::stream::Feed::state) gives one, and
/// [`Streamer::resume`] goes on from it, with the same number of ranks or another. The sequences that
/// are held are not in it: the source is read again from [`from`](StreamState::from) on.
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
    /// How many of them were left out because they are over-long.
    pub left_out: u64,
    /// How many of them were truncated because they are over-long.
    pub truncated: u64,
    /// The rungs of a ladder that was learned from the stream; empty if there is none.
    pub rungs: Vec<u32>,
    /// The positions of the sequences that are held, rising.
    pub held: Vec<u64>,
    /// A digest of their positions and lengths.
    pub lengths: u64,
}

impl StreamState {
    /// The version of states that this release makes and reads.
    pub const VERSION: u32 = 1;

    /// The position from which the source must be read to go on.
    pub fn from(&self) -> u64 {
        self.held.first().copied().unwrap_or(self.read)
    }

    /// Refuses a state of another stream, or one that no stream can have.
    pub(crate) fn check(&self, streamer: &Streamer) -> Result<(), Error> {
        // Where it is an error nothing over-long has been read: it may be treated otherwise from here on.
        let state = match self.settings.strip_suffix("over_long=error") {
            Some(others) => format!("{others}over_long={}", streamer.over_long),
            None => self.settings.clone(),
        };
        let now = streamer.settings();
        let settings = difference(&state, &now).map(|(what, both)| (what, both.map(str::to_owned)));
        let numbers =
            [("seed", [self.seed, streamer.seed]), ("epoch", [self.epoch, streamer.epoch])];
        let mut numbers = numbers.into_iter().filter(|(_, [state, now])| state != now);
        let number = || numbers.next().map(|(what, both)| (what, both.map(|n| n.to_string())));
        if let Some((what, [state, now])) = settings.or_else(number) {
            return Err(Error::OtherStream { what: what.to_owned(), state, now });
        }
        let Self { read, held, rungs, .. } = self;
        let what = match held.last() {
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
