//! Streams: lengths in, steps out. The items stay in Python.

use lengthwise::{OverLong, Pivot, Shapes, Tail};
use lengthwise_files::{stream_from_json, stream_to_json};
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    settings::{BudgetArgument, Parsed, Text, Whole, at_least_one},
};

/// Plans the batches of a stream from lengths: they are pushed one after another, and steps are taken.
/// `lengthwise.stream_batches` does both for an iterable of items.
#[pyclass(module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Feed {
    feed: lengthwise::Feed,
    ranks: u32,
}

/// A batch: the slots that its sequences were held in, their positions, and the batch length.
type Batch = (Vec<u32>, Vec<u64>, u32);

#[pymethods]
impl Feed {
    #[new]
    #[pyo3(signature = (
        budget,
        *,
        shapes = Parsed(Shapes::Exact),
        window = Whole(lengthwise::Streamer::WINDOW),
        pivot = Parsed(Pivot::Oldest),
        over_long = Parsed(OverLong::Error),
        tail = Parsed(Tail::Split),
        world_size = Whole(1),
        seed = Whole(0),
        epoch = Whole(0),
        state = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
    fn new(
        budget: BudgetArgument,
        shapes: Parsed<Shapes>,
        window: Whole<u32>,
        pivot: Parsed<Pivot>,
        over_long: Parsed<OverLong>,
        tail: Parsed<Tail>,
        world_size: Whole<u32>,
        seed: Whole<u64>,
        epoch: Whole<u64>,
        state: Option<Text>,
    ) -> PyResult<Self> {
        let make = || -> Result<Self> {
            at_least_one("world_size", world_size.0)?;
            let streamer = lengthwise::Streamer::new(budget.0)
                .shapes(shapes.0)
                .window(window.0)
                .pivot(pivot.0)
                .over_long(over_long.0)
                .tail(tail.0)
                .rank(0, world_size.0)
                .seed(seed.0)
                .epoch(epoch.0);
            let feed = match state {
                Some(text) => {
                    let state = stream_from_json(&text.0).map_err(|error| {
                        let hint = error.hint().unwrap_or_default();
                        Failure::Own("StateError", error.to_string(), hint)
                    })?;
                    streamer.resume(&state)?
                }
                None => streamer.feed()?,
            };
            Ok(Self { feed, ranks: world_size.0 })
        };
        Ok(make()?)
    }

    /// Whether the next step needs another sequence, or the word that there is none.
    fn needs(&self) -> bool {
        self.feed.needs()
    }

    /// Takes the length of the next sequence. Gives the slot in which it is held, a number below the
    /// window; `None` if it is left out, or was in a batch before the stream was resumed.
    fn push(&mut self, length: Whole<u32>) -> PyResult<Option<u32>> {
        Ok(self.feed.push(length.0).map_err(Failure::from)?)
    }

    /// The stream has no more sequences.
    fn end(&mut self) -> PyResult<()> {
        Ok(self.feed.end().map_err(Failure::from)?)
    }

    /// The next step: for each rank the slots and the positions of its batch, and the batch length.
    /// `None` while another sequence is needed, and at the end.
    fn step(&mut self) -> PyResult<Option<Vec<Batch>>> {
        let step = self.feed.step().map_err(Failure::from)?;
        Ok(step.map(|step| {
            let batches = step.batches();
            batches.map(|b| (b.slots.to_vec(), b.positions.to_vec(), b.length)).collect()
        }))
    }

    /// Where the stream stands, as one line of JSON.
    fn state(&self) -> String {
        stream_to_json(&self.feed.state())
    }

    /// The position of the sequence to be pushed next: how many were read, and after a resume where
    /// the source must be read from.
    #[getter]
    fn position(&self) -> u64 {
        self.feed.position()
    }

    /// How many sequences are held.
    #[getter]
    fn held(&self) -> u32 {
        self.feed.held()
    }

    /// The number of ranks.
    #[getter]
    fn world_size(&self) -> u32 {
        self.ranks
    }

    /// How many over-long sequences were left out.
    #[getter]
    fn left_out(&self) -> u64 {
        self.feed.over_long().0
    }

    /// How many over-long sequences were truncated.
    #[getter]
    fn truncated(&self) -> u64 {
        self.feed.over_long().1
    }

    /// The batch lengths of a ladder that was learned from the stream, rising; empty if there is none.
    #[getter]
    fn rungs(&self) -> Vec<u32> {
        self.feed.rungs().to_vec()
    }

    fn __repr__(&self) -> String {
        format!("Feed({} read, {} held)", self.feed.position(), self.feed.held())
    }
}
