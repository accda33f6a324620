#![doc = include_str!("stream.md")]

mod feed;
mod line;
mod over;
mod pivot;
mod rounds;
mod state;
mod step;

use std::fmt::Write as _;

pub use feed::{Feed, Picked, StreamStep};
pub use over::{Batched, StreamBatch};
pub use pivot::Pivot;
pub use state::StreamState;

use crate::{Budget, Error, OverLong, Shapes, Tail};

#[doc = include_str!("stream.md")]
#[derive(Clone, Debug, PartialEq)]
pub struct Streamer {
    budget: Budget,
    shapes: Shapes,
    window: u32,
    pivot: Pivot,
    over_long: OverLong,
    tail: Tail,
    ranks: u32,
    rank: u32,
    seed: u64,
    epoch: u64,
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

    /// With these shapes. The rungs of a ladder that are not given are learned from the first window,
    /// and kept; a sequence that is longer adds one.
    #[must_use]
    pub fn shapes(mut self, shapes: Shapes) -> Self {
        self.shapes = shapes;
        self
    }

    /// With at most so many sequences held: the more, the less padding.
    #[must_use]
    pub fn window(mut self, sequences: u32) -> Self {
        self.window = sequences;
        self
    }

    /// With steps that grow around this sequence.
    #[must_use]
    pub fn pivot(mut self, pivot: Pivot) -> Self {
        self.pivot = pivot;
        self
    }

    /// With over-long sequences treated in this way.
    #[must_use]
    pub fn over_long(mut self, over_long: OverLong) -> Self {
        self.over_long = over_long;
        self
    }

    /// With the batches that fill no step of ranks treated in this way, at the end of the stream.
    #[must_use]
    pub fn tail(mut self, tail: Tail) -> Self {
        self.tail = tail;
        self
    }

    /// With a batch for each of so many ranks in a step, of which `rank` takes its own. All read the
    /// same stream.
    #[must_use]
    pub fn rank(mut self, rank: u32, ranks: u32) -> Self {
        (self.rank, self.ranks) = (rank, ranks);
        self
    }

    /// With this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With the randomness of this epoch, for streams that come again.
    #[must_use]
    pub fn epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// The manual page of streams, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("stream.md")
    }

    /// The batches of this rank over the items of an iterator, whose lengths `length` says.
    ///
    /// ```
    /// use lengthwise::{Budget, Streamer};
    ///
    /// let words = "the quick brown fox jumps over the lazy dog".split(' ');
    /// let streamer = Streamer::new(Budget::padded(12)).window(6);
    /// for batch in streamer.over(words, |word| word.len() as u32)? {
    ///     let batch = batch?;
    ///     assert!(batch.items.len() as u32 * batch.length <= 12);
    /// }
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn over<I, F>(&self, source: I, length: F) -> Result<Batched<I::IntoIter, F>, Error>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> u32,
    {
        Ok(Batched::new(self.feed()?, self.rank, source.into_iter(), length))
    }

    /// Goes on from a state. The source must begin at [`StreamState::from`].
    ///
    /// ```
    /// use lengthwise::{Budget, Streamer};
    ///
    /// let length = |item: &u32| *item;
    /// let items = || (0..1000).map(|number| 1 + number * 7 % 30);
    /// let streamer = Streamer::new(Budget::padded(100)).window(32);
    /// let mut first = streamer.over(items(), length)?;
    /// let seen = first.by_ref().take(20).count();
    /// let state = first.state();
    /// let rest = streamer.resume_over(&state, items().skip(state.from() as usize), length)?;
    /// assert!(first.eq(rest)); // what comes is the same
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn resume_over<I, F>(
        &self,
        state: &StreamState,
        source: I,
        length: F,
    ) -> Result<Batched<I::IntoIter, F>, Error>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> u32,
    {
        Ok(Batched::new(self.resume(state)?, self.rank, source.into_iter(), length))
    }

    /// The planner of a new stream, for whoever has lengths and no iterator.
    pub fn feed(&self) -> Result<Feed, Error> {
        Feed::new(self, None)
    }

    /// The planner of a stream that goes on from a state. A state of other settings is refused; the
    /// number of ranks may be another. Lengths are to be pushed from [`StreamState::from`] on.
    pub fn resume(&self, state: &StreamState) -> Result<Feed, Error> {
        Feed::new(self, Some(state))
    }

    /// What a state remembers: all that batches depend on, but for ranks and the tail, which may
    /// change. Over-long sequences come last: see [`StreamState::check`].
    fn settings(&self) -> String {
        let Self { budget, shapes, window, pivot, over_long, .. } = self;
        let mut settings = String::new();
        _ = write!(
            settings,
            "budget={budget} shapes={shapes} window={window} pivot={pivot} over_long={over_long}"
        );
        settings
    }

    /// Refuses numbers that make no sense.
    fn check(&self) -> Result<(), Error> {
        if self.ranks == 0 {
            return Err(Error::NoRanks);
        }
        if self.rank >= self.ranks {
            return Err(Error::BadRank { rank: self.rank, world_size: self.ranks });
        }
        let bad = |given: u32, expected: String| {
            let (of, given) = ("the window".to_owned(), given.to_string());
            Err(Error::BadValue { of, given, expected })
        };
        if self.window < self.ranks || self.window > MOST_HELD {
            let least = match self.ranks {
                1 => "1".to_owned(),
                ranks => format!("{ranks}, one for each rank,"),
            };
            return bad(self.window, format!("a number of sequences from {least} to {MOST_HELD}"));
        }
        if self.pivot == Pivot::Quantile && self.ranks > 1 {
            return Err(Error::BadValue {
                of: "the pivot of several ranks that read one stream".to_owned(),
                given: self.pivot.to_string(),
                expected: "`oldest`; with a stream of its own each rank is the only one".to_owned(),
            });
        }
        Ok(())
    }
}

/// A window with more is a plan.
const MOST_HELD: u32 = 1 << 28;
