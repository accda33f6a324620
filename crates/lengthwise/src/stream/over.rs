//! Batches of the items of an iterator.

use super::{Feed, StreamState};
use crate::Error;

/// The batches of one rank over a stream of items: see [`Streamer::over`](crate::Streamer::over).
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
    /// What they are padded to.
    pub length: u32,
    /// The number of the step, from 0.
    pub step: u64,
    /// The positions of over-long sequences that were left out since the step before: the first of
    /// them, as many as the window has places.
    pub left_out: Vec<u64>,
}

impl<I: Iterator, F: FnMut(&I::Item) -> u32> Batched<I, F> {
    pub(super) fn new(feed: Feed, rank: u32, source: I, length: F) -> Self {
        Self { source, length, feed, rank, items: Vec::new(), failed: false }
    }

    /// Where the stream stands: after the batches that were given out.
    pub fn state(&self) -> StreamState {
        self.feed.state()
    }

    /// What it is planned by.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.feed.needs() {
            let Some(item) = self.source.next() else {
                self.feed.end()?;
                break;
            };
            if let Some(slot) = self.feed.push((self.length)(&item))? {
                let slot = slot as usize;
                if slot >= self.items.len() {
                    self.items.resize_with(slot + 1, || None);
                }
                self.items[slot] = Some(item);
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<StreamBatch<I::Item>>, Error> {
        self.fill()?;
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
        for other in step.batches() {
            for &slot in other.slots {
                items[slot as usize] = None;
            }
        }
        Ok(Some(batch))
    }
}

impl<I: Iterator, F: FnMut(&I::Item) -> u32> Iterator for Batched<I, F> {
    type Item = Result<StreamBatch<I::Item>, Error>;

    /// The next batch, or what is wrong with the stream; nothing comes after that.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance().transpose();
        self.failed = next.as_ref().is_some_and(Result::is_err);
        next
    }
}
