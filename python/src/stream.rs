//! Streams: lengths in, steps out. The items stay in Python.

use lengthwise::{
    Budget,
    stream::{Arrival, Pivot},
};
use lengthwise_io::{stream_from_json, stream_to_json};
use pyo3::{prelude::*, types::PyDict};

use crate::error::{Failure, Result};
use crate::pickle::{Reduced, damaged, reduced};
use crate::settings::{Given, at_least_one, plain, text};

/// Plans the batches of a stream from the lengths alone: you push one length after another, and take
/// steps. `lengthwise.stream_batches` does both for an iterable of items.
///
/// Args:
///     `budget`: The hard limit of a batch: a number of sequences, or a string such as "padded:20000"
///         (cells, padding included), "sequences:16" or "cost:encoder,limit=0.05" (seconds).
///     `shapes`: Which batch lengths may occur: "exact" (the longest sequence of the batch), "multiple:8"
///         (rounded up), "ladder:16" (16 lengths, learned from the first window) or "ladder:100/200/400"
///         (these lengths). The default is "exact".
///     `window`: How many sequences are held at most. A larger window pads less. The default is 4096.
///     `pivot`: Which sequence a step is built around: "oldest" (the one that was held longest) or
///         "quantile" (for ranks that each read a stream of their own: all choose the same quantile of
///         the lengths). The default is "oldest".
///     `over_long`: What happens to a sequence that exceeds the budget alone: "error", "alone" (a batch of
///         its own), "drop" or "truncate" (you cut it to the batch length). The default is "error".
///     `tail`: What happens at the end of the stream if the last batches do not fill a step: "split"
///         (divided among the ranks), "repeat" or "drop". The default is "split".
///     `world_size`: The number of ranks that read the stream. The default is 1.
///     `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
///     `epoch`: The epoch, from 0: each has other random choices. The default is 0.
///     `state`: What `state()` of an earlier feed returned, to go on from there. By default, the stream
///         begins.
#[pyclass(module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Feed {
    feed: lengthwise::stream::Feed,
    settings: Settings,
    /// The position of what each slot holds, and what came there.
    held: Vec<Option<(u64, Arrival)>>,
    /// What slots are called, those that are not called by their own number: a feed that was pickled
    /// holds its sequences in other slots, and the code that keeps the items knows them by these.
    names: Vec<u32>,
    ended: bool,
}

/// The settings in their string forms, which make the same feed again.
#[derive(Clone, Debug, IntoPyObject)]
struct Settings {
    budget: String,
    shapes: String,
    window: u32,
    pivot: String,
    over_long: String,
    tail: String,
    world_size: u32,
    seed: u64,
    epoch: u64,
}

/// What is held: the name of its slot, its position, its length, its number of sequences, and its kind.
type Held = (u32, u64, u32, u32, u64);

/// A feed as it is pickled: settings, state, position, what is held, and whether the stream has ended.
type Pickled<'py> = (Bound<'py, PyDict>, String, u64, Vec<Held>, bool);

/// A batch: the slots that its sequences were held in, their positions, and the batch length.
type Batch = (Vec<u32>, Vec<u64>, u32);

#[pymethods]
impl Feed {
    #[new]
    #[pyo3(signature = (
        budget,
        *,
        shapes: "str" = "exact",
        window: "SupportsIndex" = 4096,
        pivot: "str" = "oldest",
        over_long: "str" = "error",
        tail: "str" = "split",
        world_size: "SupportsIndex" = 1,
        seed: "SupportsIndex" = 0,
        epoch: "SupportsIndex" = 0,
        state = None,
    ))]
    fn new(
        budget: Given<Budget>,
        #[pyo3(from_py_with = text)] shapes: &str,
        #[pyo3(from_py_with = plain)] window: u32,
        #[pyo3(from_py_with = text)] pivot: &str,
        #[pyo3(from_py_with = text)] over_long: &str,
        #[pyo3(from_py_with = text)] tail: &str,
        #[pyo3(from_py_with = plain)] world_size: u32,
        #[pyo3(from_py_with = plain)] seed: u64,
        #[pyo3(from_py_with = plain)] epoch: u64,
        state: Option<Given<String>>,
    ) -> Result<Self> {
        at_least_one("world_size", world_size)?;
        let streamer = lengthwise::stream::Streamer::new(budget.0)
            .shapes(shapes.parse()?)
            .window(window)
            .pivot(pivot.parse::<Pivot>()?)
            .over_long(over_long.parse()?)
            .tail(tail.parse()?)
            .rank(0, world_size)
            .seed(seed)
            .epoch(epoch);
        let feed = match state {
            Some(text) => streamer.resume(&stream_from_json(&text.0).map_err(Failure::state)?)?,
            None => streamer.feed()?,
        };
        let settings = Settings {
            budget: budget.0.to_string(),
            shapes: shapes.to_owned(),
            window,
            pivot: pivot.to_owned(),
            over_long: over_long.to_owned(),
            tail: tail.to_owned(),
            world_size,
            seed,
            epoch,
        };
        Ok(Self { feed, settings, held: Vec::new(), names: Vec::new(), ended: false })
    }

    /// Whether the next step needs another `push`, or `end` if there are no more sequences.
    fn needs(&self) -> bool {
        self.feed.needs()
    }

    /// Adds the next sequence, of this `length`. Returns the slot that holds it, a number below the window,
    /// or `None` if the sequence is left out or was in a batch before the stream was resumed. If several
    /// `sequences` stay together, `length` is that of the longest, and a slot holds all of them. No batch has two
    /// values of `kind`, a number from 0 to 2⁶⁴ − 1.
    #[pyo3(signature = (length, sequences: "SupportsIndex" = 1, kind: "SupportsIndex" = 0))]
    fn push(
        &mut self,
        length: Given<u32>,
        #[pyo3(from_py_with = plain)] sequences: u32,
        #[pyo3(from_py_with = plain)] kind: u64,
    ) -> Result<Option<u32>> {
        let arrival = Arrival { length: length.0, sequences, kind };
        Ok(self.hold(arrival)?.map(|slot| self.name(slot)))
    }

    /// Leaves the next sequence out: it is in no batch, and its length is not needed.
    fn leave_out(&mut self) -> Result<()> {
        Ok(self.feed.leave_out()?)
    }

    /// Whether the sequence at this `position` was in a batch, or left out, before the stream was resumed: its length
    /// is not asked for again.
    fn was_taken(&self, position: u64) -> bool {
        self.feed.was_taken(position)
    }

    /// Says that the stream has no more sequences.
    fn end(&mut self) -> Result<()> {
        self.feed.end()?;
        self.ended = true;
        Ok(())
    }

    /// Returns the next step: for each rank, the slots and the positions of its batch, and the batch
    /// length. Returns `None` while another sequence is needed, and at the end.
    fn step(&mut self) -> Result<Option<Vec<Batch>>> {
        let Self { feed, held, names, .. } = self;
        let Some(step) = feed.step()? else { return Ok(None) };
        let mut named = |&slot: &u32| {
            held[slot as usize] = None;
            names.get(slot as usize).copied().unwrap_or(slot)
        };
        let batches = step.batches().map(|batch| {
            let slots = batch.slots.iter().map(&mut named).collect();
            (slots, batch.positions.to_vec(), batch.length)
        });
        Ok(Some(batches.collect()))
    }

    /// Returns the state of the stream as one line of JSON, for `Feed(…, state=…)`.
    fn state(&self) -> String {
        stream_to_json(&self.feed.state())
    }

    /// The position of the next sequence in the stream. After a resume, read the source from there.
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
        self.settings.world_size
    }

    /// How many sequences were left out.
    #[getter]
    fn left_out(&self) -> u64 {
        self.feed.over_long().0
    }

    /// How many over-long sequences were truncated.
    #[getter]
    fn truncated(&self) -> u64 {
        self.feed.over_long().1
    }

    /// The batch lengths of the ladder that was learned from the stream, in ascending order; empty if
    /// there is none.
    #[getter]
    fn rungs(&self) -> Vec<u32> {
        self.feed.rungs().to_vec()
    }

    #[staticmethod]
    fn _restore<'py>(
        py: Python<'py>,
        settings: &Bound<'py, PyDict>,
        state: &str,
        position: u64,
        held: Vec<Held>,
        ended: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let settings = settings.copy()?;
        settings.set_item("state", state)?;
        let feed = py.get_type::<Self>().call((), Some(&settings))?.cast_into::<Self>()?;
        feed.borrow_mut().read_again(position, held, ended)?;
        Ok(feed)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Pickled<'py>>> {
        let held = self.held.iter().enumerate().filter_map(|(slot, held)| {
            held.map(|(position, Arrival { length, sequences, kind })| {
                (self.name(slot as u32), position, length, sequences, kind)
            })
        });
        let mut held: Vec<Held> = held.collect();
        held.sort_unstable_by_key(|&(_, position, ..)| position);
        let settings = self.settings.clone().into_pyobject(py)?;
        reduced::<Self, _>(py, (settings, self.state(), self.feed.position(), held, self.ended))
    }

    fn __repr__(&self) -> String {
        format!("Feed({} read, {} held)", self.feed.position(), self.feed.held())
    }
}

impl Feed {
    /// What a slot is called.
    fn name(&self, slot: u32) -> u32 {
        self.names.get(slot as usize).copied().unwrap_or(slot)
    }

    /// Takes what comes next. Gives the slot by its own number.
    fn hold(&mut self, arrival: Arrival) -> Result<Option<u32>> {
        let position = self.feed.position();
        let slot = self.feed.push(arrival)?;
        if let Some(slot) = slot {
            let place = slot as usize;
            if self.held.len() <= place {
                self.held.resize(place + 1, None);
            }
            self.held[place] = Some((position, arrival));
        }
        Ok(slot)
    }

    /// Reads again what a pickled feed held, up to where it stood.
    fn read_again(&mut self, position: u64, held: Vec<Held>, ended: bool) -> Result<()> {
        let size = held.iter().map(|&(name, ..)| name as usize + 1).max().unwrap_or(0);
        let mut names = vec![None; size];
        let mut taken = vec![false; size];
        let mut held = held.into_iter().peekable();
        while self.feed.position() < position {
            let here = self.feed.position();
            let next = held.next_if(|&(_, at, ..)| at == here);
            let Some((name, _, length, sequences, kind)) = next else {
                // It was in a batch before.
                self.feed.leave_out()?;
                continue;
            };
            match self
                .hold(Arrival { length, sequences, kind })?
                .and_then(|slot| names.get_mut(slot as usize))
            {
                Some(called) if !taken[name as usize] => *called = Some(name),
                _ => return Err(damaged("Feed", "it holds what cannot be held")),
            }
            taken[name as usize] = true;
        }
        if held.next().is_some() || self.feed.position() != position {
            return Err(damaged("Feed", "it holds what was not read"));
        }
        // Slots that hold nothing have the names that are left.
        let mut free = (0..size as u32).filter(|&name| !taken[name as usize]);
        self.names = names.into_iter().filter_map(|name| name.or_else(|| free.next())).collect();
        if ended {
            self.feed.end()?;
            self.ended = true;
        }
        Ok(())
    }
}
