//! Plans the batches of a stream: takes lengths and makes steps.

use xxhash_rust::xxh3::Xxh3;

use crate::base::digest::hex;
use crate::base::rng::{Purpose, Rng, Stream};
use crate::base::setting::differ;
use crate::error::Error;
use crate::plan::arrange::Tail;
use crate::stream::step::{Around, Class, Line, Node};
use crate::stream::streamer::{Pivot, Rounds, StreamState, Streamer};

impl Streamer {
    /// Starts to plan a new stream from lengths, without an iterator of items.
    pub fn feed(&self) -> Result<Feed, Error> {
        Feed::new(self, None)
    }

    /// Resumes a stream from a state. A state of other settings is refused; the number of ranks may
    /// change. Push the lengths from [`StreamState::from`] on.
    pub fn resume(&self, state: &StreamState) -> Result<Feed, Error> {
        Feed::new(self, Some(state))
    }
}

/// Plans the batches of a stream from lengths alone: you push one length after another, and take steps.
/// [`Streamer::over`] does both for an iterator of items.
///
/// ```
/// use lengthwise::{Budget, stream::Streamer};
///
/// let mut feed = Streamer::new(Budget::sequences(2)).window(4).feed()?;
/// for length in [7, 3, 6, 2] {
///     assert!(feed.needs());
///     feed.push(length)?;
/// }
/// let step = feed.step()?.expect("the window is full");
/// assert_eq!(step.batch(0).length, 7); // around the first
/// assert!(feed.needs());
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Feed {
    streamer: Streamer,
    rng: Rng,
    rounds: Rounds,
    line: Line,
    around: Around,
    step: StreamStep,
    /// The positions that were left out since the last step, the first of them.
    passed: Vec<u64>,
    /// The state whose sequences are read again.
    again: Option<StreamState>,
    read: u64,
    steps: u64,
    left_out: u64,
    truncated: u64,
    ended: bool,
}

/// What comes next in a stream: a sequence, or several that stay together. A plain length is one sequence.
///
/// ```
/// use lengthwise::{Budget, stream::{Arrival, Streamer}};
///
/// let pairs = [[31, 7], [12, 90], [25, 26]];
/// let arrival = |pair: &[u32; 2]| Arrival { sequences: 2, ..Arrival::from(pair[0].max(pair[1])) };
/// for batch in Streamer::new(Budget::padded(200)).over(pairs, arrival)? {
///     let batch = batch?;
///     assert!(2 * batch.items.len() as u32 * batch.length <= 200);
/// }
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The length of the longest.
    pub length: u32,
    /// How many sequences there are: what arrives at once stays in one batch.
    pub sequences: u32,
    /// The kind: no batch has two.
    pub kind: u64,
}

impl From<u32> for Arrival {
    fn from(length: u32) -> Self {
        Self { length, sequences: 1, kind: 0 }
    }
}

/// The batches of a step, one for each rank.
#[derive(Clone, Debug, Default)]
pub struct StreamStep {
    positions: Vec<u64>,
    slots: Vec<u32>,
    lengths: Vec<u32>,
    classes: Vec<Class>,
    /// For each rank, the range of its batch, and its length.
    batches: Vec<(usize, usize, u32)>,
    left_out: Vec<u64>,
    number: u64,
}

/// A batch of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked<'a> {
    /// The positions of its sequences in the stream, from 0.
    pub positions: &'a [u64],
    /// The slots that [`Feed::push`] gave them, which are free again.
    pub slots: &'a [u32],
    /// Their lengths, as planned.
    pub lengths: &'a [u32],
    /// What they are padded to.
    pub length: u32,
}

impl StreamStep {
    /// The batch of a rank.
    ///
    /// # Panics
    ///
    /// When there is no such rank.
    pub fn batch(&self, rank: u32) -> Picked<'_> {
        let (start, end, length) = self.batches[rank as usize];
        Picked {
            positions: &self.positions[start..end],
            slots: &self.slots[start..end],
            lengths: &self.lengths[start..end],
            length,
        }
    }

    /// The batches of all ranks.
    pub fn batches(&self) -> impl ExactSizeIterator<Item = Picked<'_>> {
        (0..self.batches.len() as u32).map(|rank| self.batch(rank))
    }

    /// Its number, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The positions of sequences that were left out since the step before: the first of them, as many as
    /// the window has places.
    pub fn left_out(&self) -> &[u64] {
        &self.left_out
    }
}

/// Under [`Pivot::Quantile`], a sequence is taken first when it has waited for this many windows of
/// steps.
const PATIENCE: u128 = 2;

/// The pivot is the oldest sequence near a quantile: within one in this many of all held sequences on
/// either side. So no sequence waits long, and the pivots of different streams are still similar.
const NEAR: u32 = 256;

impl Feed {
    pub(crate) fn new(streamer: &Streamer, state: Option<&StreamState>) -> Result<Self, Error> {
        streamer.check()?;
        // A key of its own for each seed and epoch: the counter is for positions and steps.
        let mut key = Rng::new(streamer.seed, streamer.epoch).stream(Purpose::Stream);
        let key = u64::from(key.next_u32()) << 32 | u64::from(key.next_u32());
        let rounds = Rounds::new(streamer, state.map_or(&[], |state| &state.rungs[..]))?;
        let mut feed = Self {
            streamer: streamer.clone(),
            rng: Rng::new(key, 0),
            rounds,
            line: Line::default(),
            around: Around::default(),
            step: StreamStep::default(),
            passed: Vec::new(),
            again: None,
            read: 0,
            steps: 0,
            left_out: 0,
            truncated: 0,
            ended: false,
        };
        if let Some(state) = state {
            state.check(streamer)?;
            (feed.read, feed.steps) = (state.from(), state.steps);
            (feed.left_out, feed.truncated) = (state.left_out, state.truncated);
            feed.again = Some(state.clone());
            feed.stop_reading_again()?;
        }
        Ok(feed)
    }

    /// The position of the sequence to be pushed next: how many were read, and after a resume where
    /// the source must be read from.
    pub fn position(&self) -> u64 {
        self.read
    }

    /// How many sequences are held.
    pub fn held(&self) -> u32 {
        self.line.len()
    }

    /// How many sequences were left out, and how many over-long ones truncated.
    pub fn over_long(&self) -> (u64, u64) {
        (self.left_out, self.truncated)
    }

    /// The batch lengths of the ladder, rising, if it was learned from the stream.
    pub fn rungs(&self) -> &[u32] {
        self.rounds.learned()
    }

    /// Whether the next step needs another sequence, or the end of the stream.
    pub fn needs(&self) -> bool {
        !self.ended && (self.again.is_some() || self.line.len() < self.streamer.window)
    }

    /// Adds the length of the next sequence. Returns the slot that holds it until it is in a step: a
    /// number below the window, under which you can keep its item. Returns `None` if it is not held,
    /// because it is over-long and left out, or was in a batch before the stream was resumed.
    ///
    /// It is an error to push while no sequence is [needed](Feed::needs).
    ///
    /// What comes can also be several sequences that stay together, or have a kind: see [`Arrival`].
    pub fn push(&mut self, arrival: impl Into<Arrival>) -> Result<Option<u32>, Error> {
        let Arrival { length, sequences, kind } = arrival.into();
        let position = self.next_position()?;
        if self.was_taken(position) {
            self.read += 1;
            self.stop_reading_again()?;
            return Ok(None);
        }
        self.rounds.meet(position, sequences)?;
        let admitted = self.rounds.admit(position, length, sequences)?;
        self.read += 1;
        let Some(planned) = admitted else {
            self.note_left_out(position);
            return Ok(None);
        };
        self.truncated += u64::from(planned < length && self.again.is_none());
        self.rounds.extend(planned);
        let class = Class { kind, sequences };
        let tie = self.rng.at_epoch(position >> 32).word(Purpose::Arrival, position as u32);
        // Those that come before rungs are learned are sorted again then.
        let (padded, full) = self.rounds.padded_and_full(planned, sequences);
        let slot = self.line.hold(Node { position, length: planned, padded, full, tie, class });
        self.stop_reading_again()?;
        Ok(Some(slot))
    }

    /// Leaves the next sequence out: it is in no batch, and its length is not needed.
    ///
    /// As with [`push`](Feed::push), it is an error while no sequence is needed.
    pub fn leave_out(&mut self) -> Result<(), Error> {
        let position = self.next_position()?;
        if !self.was_taken(position) {
            self.note_left_out(position);
        }
        self.read += 1;
        self.stop_reading_again()
    }

    /// Whether the sequence at this position was in a batch, or left out, before the stream was resumed: its length is
    /// not asked for again.
    pub fn was_taken(&self, position: u64) -> bool {
        let state = self.again.as_ref().filter(|state| position < state.read);
        state.is_some_and(|state| state.held.binary_search(&position).is_err())
    }

    /// Ends the stream: there are no more sequences.
    pub fn end(&mut self) -> Result<(), Error> {
        if let Some(state) = &self.again {
            return Err(Error::StreamTooShort { at: self.read, read: state.read });
        }
        self.ended = true;
        Ok(())
    }

    /// Makes the next step, with a batch for each rank. Returns `None` while another sequence is
    /// [needed](Feed::needs), and at the end.
    pub fn step(&mut self) -> Result<Option<&StreamStep>, Error> {
        if self.needs() {
            return Ok(None);
        }
        if self.rounds.must_learn() {
            let Self { line, rounds, .. } = self;
            rounds.learn(line.by_arrival().map(|slot| line.node(slot).length))?;
            line.sort_by(|length, sequences| rounds.padded_and_full(length, sequences));
        }
        let Some(oldest) = self.line.by_arrival().next() else { return Ok(None) };
        let ranks = self.streamer.ranks as usize;
        let mut random = self.rng.at_epoch(self.steps).stream(Purpose::Offset);
        if self.ended {
            let ending = self.around.ending(&self.line);
            let count = ending.len();
            match self.streamer.tail {
                // All fill steps, if there are enough sequences.
                Tail::Split => {
                    ending.halve(count.next_multiple_of(ranks), self.streamer.budget.multiple_of);
                }
                Tail::Drop if count < ranks => return Ok(None),
                Tail::Repeat | Tail::Drop => {}
            }
            let count = ending.len();
            let step = match self.pivot(oldest) {
                None => scaled(self.quantile(), count.div_ceil(ranks) as u32) as usize,
                Some(pivot) => self.around.ending(&self.line).batch_with(pivot) / ranks,
            };
            // Batches that do not fill a step come last.
            self.around.take((step * ranks).min(count.saturating_sub(ranks)), ranks);
        } else {
            let near = || self.oldest_near(scaled(self.quantile(), self.line.len()));
            let pivot = self.pivot(oldest).unwrap_or_else(near);
            self.around.cut_around(&self.line, pivot, self.streamer.ranks, &mut random);
        }
        self.assign(&mut random);
        Ok(Some(&self.step))
    }

    /// The position of the sequence that comes next, if one is needed.
    fn next_position(&self) -> Result<u64, Error> {
        if self.needs() {
            Ok(self.read)
        } else {
            Err(Error::NotNeeded { position: self.read, ended: self.ended })
        }
    }

    fn note_left_out(&mut self, position: u64) {
        self.left_out += 1;
        if self.passed.len() < self.streamer.window as usize {
            self.passed.push(position);
        }
    }

    /// Returns the state of the stream between two steps.
    pub fn state(&self) -> StreamState {
        let now = || self.state_of(self.held_lengths().collect(), self.steps);
        self.again.clone().unwrap_or_else(now)
    }

    /// Returns the state before the last step, if nothing was pushed since: for a caller that could not
    /// use the step.
    pub fn state_before_step(&self) -> StreamState {
        let StreamStep { positions, lengths, classes, slots, number, .. } = &self.step;
        if self.again.is_some() || self.steps != number + 1 || slots.is_empty() {
            return self.state();
        }
        let taken = positions.iter().zip(lengths).zip(classes);
        let taken = taken.map(|((&position, &length), &class)| (position, length, class));
        let mut held: Vec<(u64, u32, Class)> = self.held_lengths().chain(taken).collect();
        held.sort_unstable();
        self.state_of(held, *number)
    }

    /// The positions, lengths and classes of the sequences that are held, in the order of arrival.
    fn held_lengths(&self) -> impl Iterator<Item = (u64, u32, Class)> {
        let nodes = self.line.by_arrival().map(|slot| self.line.node(slot));
        nodes.map(|node| (node.position, node.length, node.class))
    }

    fn state_of(&self, held: Vec<(u64, u32, Class)>, steps: u64) -> StreamState {
        // A ladder of a stream that ended before a window was full is not for what may come yet.
        let few = held.is_empty() && self.read < self.streamer.window.into();
        let rungs = if few { &[] } else { self.rounds.learned() };
        StreamState {
            settings: self.streamer.settings(),
            seed: self.streamer.seed,
            epoch: self.streamer.epoch,
            steps,
            read: self.read,
            left_out: self.left_out,
            truncated: self.truncated,
            rungs: rungs.to_vec(),
            lengths: digest(held.iter().copied()),
            held: held.into_iter().map(|(position, ..)| position).collect(),
        }
    }

    /// Continues with new sequences, once all that a state holds were read again.
    fn stop_reading_again(&mut self) -> Result<(), Error> {
        let Some(state) = self.again.as_ref().filter(|state| self.read >= state.read) else {
            return Ok(());
        };
        let both = [state.lengths, digest(self.held_lengths())].map(hex);
        if let Some((what, [state, now])) = differ("lengths", both) {
            return Err(Error::OtherStream { what, state, now });
        }
        self.again = None;
        Ok(())
    }

    /// The sequence that the next step must have, if any: under [`Pivot::Quantile`], the oldest one if
    /// it has waited for too many steps, counted in mean steps of the stream so far. Counting windows
    /// of sequences would not work: a sequence that fills a batch alone waits until its exact position
    /// is drawn, and the smaller its batch, the more sequences arrive meanwhile.
    fn pivot(&self, oldest: u32) -> Option<u32> {
        let [read, steps, window] =
            [self.read, self.steps, self.streamer.window.into()].map(u128::from);
        let waits = read - u128::from(self.line.node(oldest).position);
        let overdue = waits * steps > PATIENCE * window * read;
        (self.streamer.pivot == Pivot::Oldest || overdue).then_some(oldest)
    }

    /// The oldest sequence around a place in the order of lengths.
    fn oldest_near(&self, place: u32) -> u32 {
        let around = self.line.len() / NEAR;
        let first = self.line.at(place.saturating_sub(around));
        let above = place.min(around) + around;
        let near = self.line.and_longer(first).take(above as usize + 1);
        near.min_by_key(|&slot| self.line.node(slot).position).unwrap_or(first)
    }

    /// A number that the seed and the number of the step decide, of 32 bits: steps of the golden ratio,
    /// under which every stretch of steps has all quantiles in nearly equal parts.
    fn quantile(&self) -> u32 {
        let first = self.rng.word(Purpose::Quantile, 0);
        let steps = self.steps.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        first.wrapping_add(steps as u32)
    }

    /// Assigns the batches to the ranks, in a random order, and releases their sequences.
    fn assign(&mut self, random: &mut Stream) {
        let Self { step, around, line, .. } = self;
        std::mem::swap(&mut step.left_out, &mut self.passed);
        self.passed.clear();
        step.number = self.steps;
        step.positions.clear();
        step.slots.clear();
        step.lengths.clear();
        step.classes.clear();
        step.batches.clear();
        // At the end of the stream there may be gaps between them, which earlier steps took.
        for batch in &around.batches {
            let (start, first) = (step.slots.len(), batch.start as usize);
            // Half of a batch may be padded to less.
            let length = line.node(around.order[first]).padded;
            for &slot in &around.order[first..][..batch.size as usize] {
                step.positions.push(line.node(slot).position);
                step.slots.push(slot);
                step.lengths.push(line.node(slot).length);
                step.classes.push(line.node(slot).class);
            }
            step.batches.push((start, step.slots.len(), length));
        }
        for rank in around.batches.len()..self.streamer.ranks as usize {
            // With fewer sequences than ranks, the first ones are repeated.
            step.batches.push(step.batches[rank % around.batches.len()]);
        }
        for last in (1..step.batches.len()).rev() {
            step.batches.swap(last, random.below(last as u32 + 1) as usize);
        }
        if let (Some(&longest), Some(&shortest)) = (step.slots.first(), step.slots.last()) {
            line.let_go(shortest, longest);
        }
        self.steps += 1;
    }
}

/// XXH3 of positions and lengths, each as a little-endian `u64`; and of numbers of sequences and kinds where there is
/// more than one sequence or a kind.
fn digest(held: impl Iterator<Item = (u64, u32, Class)>) -> u64 {
    let mut hash = Xxh3::new();
    for (position, length, Class { kind, sequences }) in held {
        hash.update(&position.to_le_bytes());
        hash.update(&u64::from(length).to_le_bytes());
        if sequences > 1 || kind != 0 {
            hash.update(&u64::from(sequences).to_le_bytes());
            hash.update(&kind.to_le_bytes());
        }
    }
    hash.digest()
}

/// A number of 32 bits as one below `count`.
fn scaled(word: u32, count: u32) -> u32 {
    ((u64::from(word) * u64::from(count)) >> 32) as u32
}
