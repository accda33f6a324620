//! Batches of the items of an iterator.

use crate::error::Error;
use crate::stream::feed::{Arrival, Feed};
use crate::stream::streamer::{StreamState, Streamer};

impl Streamer {
    /// Returns the batches of this rank over the items of an iterator; `length` returns the length of
    /// an item, or the [`Arrival`] that it is.
    ///
    /// ```
    /// use lengthwise::{Budget, stream::Streamer};
    ///
    /// let words = "the quick brown fox jumps over the lazy dog".split(' ');
    /// let streamer = Streamer::new(Budget::padded(12)).window(6);
    /// for batch in streamer.over(words, |word| word.len() as u32)? {
    ///     let batch = batch?;
    ///     assert!(batch.items.len() as u32 * batch.length <= 12);
    /// }
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn over<I, F, A>(&self, source: I, length: F) -> Result<Batched<I::IntoIter, F>, Error>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> A,
        A: Into<Arrival>,
    {
        Ok(Batched::new(self.feed()?, self.rank, source.into_iter(), length))
    }

    /// Resumes from a state. The source must begin at [`StreamState::from`].
    ///
    /// ```
    /// use lengthwise::{Budget, stream::Streamer};
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
    pub fn resume_over<I, F, A>(
        &self,
        state: &StreamState,
        source: I,
        length: F,
    ) -> Result<Batched<I::IntoIter, F>, Error>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> A,
        A: Into<Arrival>,
    {
        Ok(Batched::new(self.resume(state)?, self.rank, source.into_iter(), length))
    }
}

/// The batches of one rank over a stream of items: see [`Streamer::over`](Streamer::over).
#[derive(Clone, Debug)]
pub struct Batched<I: Iterator, F> {
    source: I,
    length: F,
    feed: Feed,
    rank: u32,
    /// The items that are held, by their slots.
    items: Vec<Option<I::Item>>,
    failed: bool,
}

/// A batch of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamBatch<T> {
    /// The items, longest first.
    pub items: Vec<T>,
    /// Their positions in the stream, from 0.
    pub positions: Vec<u64>,
    /// The batch length: what they are padded to.
    pub length: u32,
    /// The number of the step, from 0.
    pub step: u64,
    /// The positions of sequences that were left out since the step before, at most as many
    /// as the window holds.
    pub left_out: Vec<u64>,
}

impl<I: Iterator, F> Batched<I, F> {
    pub(crate) fn new(feed: Feed, rank: u32, source: I, length: F) -> Self {
        Self { source, length, feed, rank, items: Vec::new(), failed: false }
    }

    /// Returns the state of the stream after the batches that were returned.
    pub fn state(&self) -> StreamState {
        self.feed.state()
    }

    /// The planner of the stream.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    fn advance<A: Into<Arrival>>(&mut self) -> Result<Option<StreamBatch<I::Item>>, Error>
    where
        F: FnMut(&I::Item) -> A,
    {
        while self.feed.needs() {
            let Some(item) = self.source.next() else {
                self.feed.end()?;
                break;
            };
            if let Some(slot) = self.feed.push((self.length)(&item))? {
                let count = self.items.len().max(slot as usize + 1);
                self.items.resize_with(count, || None);
                self.items[slot as usize] = Some(item);
            }
        }
        let Some(step) = self.feed.step()? else { return Ok(None) };
        let batch = step.batch(self.rank);
        let items = &mut self.items;
        let own = batch.slots.iter().filter_map(|&slot| items[slot as usize].take()).collect();
        let batch = StreamBatch {
            items: own,
            positions: batch.positions.to_vec(),
            length: batch.length,
            step: step.number(),
            left_out: step.left_out().to_vec(),
        };
        // Those of other ranks are not needed any more.
        for &slot in step.batches().flat_map(|other| other.slots) {
            items[slot as usize] = None;
        }
        Ok(Some(batch))
    }
}

impl<I: Iterator, F: FnMut(&I::Item) -> A, A: Into<Arrival>> Iterator for Batched<I, F> {
    type Item = Result<StreamBatch<I::Item>, Error>;

    /// Returns the next batch, or an error; nothing comes after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance().transpose();
        self.failed = next.as_ref().is_some_and(Result::is_err);
        next
    }
}
