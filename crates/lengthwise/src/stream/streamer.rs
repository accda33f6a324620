//! The settings of a stream.

use crate::base::setting::{names, setters};
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
