//! All batches of one epoch.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::base::digest::{Digest, digest, hex};
use crate::base::workspace::Workspace;
use crate::cut::batches::{Batches, Spans};
use crate::data::lengths::{Lengths, Values};
use crate::data::over_long::OverLong;
use crate::data::units::{Together, Units};
use crate::error::Error;
use crate::plan::arrange::{Clock, Time};
use crate::plan::settings::Provenance;

/// All batches of one epoch, in order. A plan is immutable, and copies share their memory.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, strategy::Sorted};
///
/// let lengths = Lengths::new([31, 7, 12, 90])?;
/// let plan = Planner::new(Sorted, Budget::padded(100)).seed(42).plan(&lengths, 0)?;
/// for batch in &plan {
///     println!("{batch:?}"); // the indices of its sequences
/// }
/// assert_eq!(plan.len(), 2);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    pub(crate) batches: Arc<Batches>,
    over_long: Arc<[u32]>,
    made: Arc<Provenance>,
    digest: OnceLock<u64>,
    known: Known,
}

/// What a plan knows of its lengths, because its steps depend on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The lengths of all sequences, if batches are rows: the time of a row depends on those in it.
    pub(crate) rows: Option<Values>,
    /// Which sequences stay together, and which do not mix.
    pub(crate) units: Option<Arc<Units>>,
}

impl Known {
    pub(crate) fn of(lengths: &Lengths, packed: bool) -> Self {
        Self { rows: packed.then(|| lengths.values()), units: lengths.units().cloned() }
    }

    /// How long batches take.
    pub(crate) fn clock(&self, time: Time) -> Clock<'_> {
        Clock { time, rows: self.rows.as_ref().map(Values::as_slice), units: None }
    }
}

impl Plan {
    pub(crate) fn new(
        batches: Batches,
        over_long: Vec<u32>,
        made: Provenance,
        known: Known,
    ) -> Self {
        let (batches, made) = (Arc::new(batches), Arc::new(made));
        Self { batches, over_long: over_long.into(), made, digest: OnceLock::new(), known }
    }

    /// Restores a plan that was made earlier or elsewhere, from the sequences of all batches, where
    /// each batch ends, what each is padded to, and the over-long sequences. A plan of packed rows, of groups
    /// or of kinds needs [its lengths](Plan::with_lengths) as well before it can be assigned to ranks.
    pub fn restore(
        made: Provenance,
        indices: Vec<u32>,
        ends: Vec<u32>,
        batch_lengths: Vec<u32>,
        over_long: Vec<u32>,
    ) -> Result<Self, Error> {
        let starts = std::iter::once(&0).chain(&ends);
        let mut all = starts.zip(&ends).zip(&batch_lengths);
        let last = ends.last().copied().unwrap_or(0);
        let what = match all.position(|((start, end), &length)| end <= start || length == 0) {
            _ if ends.len() != batch_lengths.len() => {
                format!("{} batches and {} batch lengths", ends.len(), batch_lengths.len())
            }
            Some(batch) => format!("batch {batch} is empty"),
            None if last as usize != indices.len() => {
                format!("the last batch ends at {last} of {} sequences", indices.len())
            }
            None => {
                let (lengths, seconds) = (batch_lengths, Vec::new());
                let batches = Batches { indices, ends, lengths, seconds };
                return Ok(Self::new(batches, over_long, made, Known::default()));
            }
        };
        Err(Error::BadPlan { what })
    }

    /// Returns the same plan for sequences with two lengths, given what the second lengths of each
    /// batch are padded to.
    pub fn with_second_batch_lengths(&self, seconds: Vec<u32>) -> Result<Self, Error> {
        let what = match seconds.iter().position(|&second| second == 0) {
            _ if seconds.len() != self.len() => {
                format!("{} batches and {} second batch lengths", self.len(), seconds.len())
            }
            Some(batch) => format!("the second lengths of batch {batch} are padded to 0"),
            None => return Ok(self.with_batches(Batches { seconds, ..(*self.batches).clone() })),
        };
        Err(Error::BadPlan { what })
    }

    /// Returns the same plan with the lengths it was made for. Only a restored plan needs them, if it has packed
    /// rows, because how long a row takes depends on the lengths in it, or if sequences stay together or have kinds.
    pub fn with_lengths(&self, lengths: &Lengths) -> Result<Self, Error> {
        let [planned, given] = [self.made.lengths, lengths.digest()];
        if planned != given {
            let [planned, given] = [planned, given].map(hex);
            let what =
                format!("it was made for lengths with digest {planned}, and these have {given}");
            return Err(Error::BadPlan { what });
        }
        Ok(Self { known: Known::of(lengths, self.is_packed()), ..self.clone() })
    }

    /// How long its batches take; an error if that, or what a step may have, depends on lengths that are not known.
    pub(crate) fn clock(&self, time: Time) -> Result<Clock<'_>, Error> {
        let Known { rows, units } = &self.known;
        if self.is_packed() && rows.is_none() || self.made.grouped && units.is_none() {
            return Err(Error::NoPlanLengths);
        }
        Ok(self.known.clock(time))
    }

    /// Which sequences stay together, and which do not mix, if that was given.
    pub(crate) fn units(&self) -> Option<&Arc<Units>> {
        self.known.units.as_ref()
    }

    /// The batches of what stays whole: groups that share a batch are one number each.
    pub(crate) fn places(&self) -> Arc<Batches> {
        match self.units().filter(|_| self.made.share == Together::Batch) {
            Some(units) => Arc::new(self.batches.collapsed(units)),
            None => Arc::clone(&self.batches),
        }
    }

    /// Other batches made in the same way.
    pub(crate) fn with_batches(&self, batches: impl Into<Arc<Batches>>) -> Self {
        Self { batches: batches.into(), digest: OnceLock::new(), ..self.clone() }
    }

    /// How it was made.
    pub fn provenance(&self) -> &Provenance {
        &self.made
    }

    /// The number of batches.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there are no batches. This happens only for a rank that has taken all its steps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a batch is one row that holds its sequences one after another, instead of one row per
    /// sequence. Its batch length is then the length of the row, and so is its number of cells.
    pub fn is_packed(&self) -> bool {
        self.made.packed
    }

    /// How many rows each batch has, and what they are padded to: one row if it is packed, and
    /// otherwise one per sequence. For two batch lengths it is the sum of both.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + Clone {
        let packed = self.is_packed();
        self.batches.shapes().map(move |(size, length)| (if packed { 1 } else { size }, length))
    }

    /// The sequences of one batch.
    pub fn get(&self, batch: usize) -> Option<&[u32]> {
        (batch < self.len()).then(|| self.batches.get(batch))
    }

    /// What one batch is padded to.
    pub fn batch_length(&self, batch: usize) -> Option<u32> {
        self.batches.lengths.get(batch).copied()
    }

    /// What every batch is padded to.
    pub fn batch_lengths(&self) -> &[u32] {
        &self.batches.lengths
    }

    /// What the second lengths of every batch are padded to, if sequences have two lengths.
    pub fn second_batch_lengths(&self) -> Option<&[u32]> {
        Some(&self.batches.seconds[..]).filter(|seconds| !seconds.is_empty())
    }

    /// The batches, in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { plan: self, batches: 0..self.len() }
    }

    /// The sequences of all batches, one batch after another.
    pub fn indices(&self) -> &[u32] {
        &self.batches.indices
    }

    /// Where each batch ends in [`indices`](Plan::indices).
    pub fn ends(&self) -> &[u32] {
        &self.batches.ends
    }

    /// The sequences that exceed the budget even alone, and how they were treated: in batches of
    /// their own, left out, or to be truncated to their batch length.
    pub fn over_long(&self) -> (OverLong, &[u32]) {
        (self.made.over_long, &self.over_long)
    }

    /// The over-long sequences that are in no batch.
    pub fn left_out(&self) -> &[u32] {
        if self.made.over_long == OverLong::Drop { &self.over_long } else { &[] }
    }

    /// The over-long sequences that are to be cut to their batch length.
    pub fn truncated(&self) -> &[u32] {
        if self.made.over_long == OverLong::Truncate { &self.over_long } else { &[] }
    }

    /// A fingerprint of the batches, their order and their lengths: XXH3 (64 bits) of the number of
    /// batches, the ends, the batch lengths, the second ones if there are some, then the indices, each
    /// as a little-endian `u32`. Equal plans have equal digests on every machine.
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let Batches { indices, ends, lengths, seconds } = &*self.batches;
            digest(&[&[self.len() as u32], ends, lengths, seconds, indices])
        })
    }
}

/// Two plans are equal if their batches are equal, and if over-long sequences were treated the same.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.batches == other.batches && self.over_long() == other.over_long()
    }
}

impl Eq for Plan {}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("Plan", [self.len(), self.indices().len()], self.digest(), f)
    }
}

impl<'a> IntoIterator for &'a Plan {
    type Item = &'a [u32];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The batches of a [`Plan`], in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    plan: &'a Plan,
    batches: Range<usize>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<&'a [u32]> {
        self.plan.get(self.batches.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.plan.get(self.batches.next_back()?)
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl Workspace {
    /// Takes back the memory of a plan that is no longer needed, for the next one; does nothing if
    /// others share the plan.
    pub fn reclaim(&self, plan: Plan) {
        if let Some(batches) = Arc::into_inner(plan.batches) {
            self.keep_indices(batches.indices);
        }
    }
}

/// A plan whose batches are not one after another in memory: each stays where its sequences were sorted
/// to. It has the same content as a [`Plan`], and takes half the memory while it is made. You read its
/// batches one by one, in the order of the epoch.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, Workspace, strategy::Shuffled};
///
/// let lengths = Lengths::new((1..=1000).collect::<Vec<u32>>())?;
/// let planner = Planner::new(Shuffled, Budget::padded(20_000));
/// let spans = planner.spans_in(&Workspace::new().memory(1_000_000), &lengths, 0)?;
/// let plan = planner.plan(&lengths, 0)?;
/// assert!(spans.iter().map(|(batch, _)| batch).eq(&plan));
/// assert_eq!(spans.digest(), plan.digest());
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone)]
pub struct SpanPlan {
    pub(crate) batches: Spans,
    over_long: Vec<u32>,
    made: Provenance,
    digest: OnceLock<u64>,
    known: Known,
}

/// The memory per batch while batches are arranged, and later while they are measured and written.
pub(crate) const OF_BATCH: u64 = 128;

impl SpanPlan {
    pub(crate) fn new(batches: Spans, over_long: Vec<u32>, made: Provenance, known: Known) -> Self {
        Self { batches, over_long, made, digest: OnceLock::new(), known }
    }

    /// The same plan with its batches one after another.
    pub fn gathered(self, workspace: &Workspace) -> Result<Plan, Error> {
        let Self { batches, over_long, made, digest: _, known } = self;
        let sequences = batches.sequences();
        if let Some(bound) = workspace.memory
            && !batches.is_gathered(sequences as u32)
        {
            let needed = 8 * sequences as u64 + OF_BATCH * batches.len() as u64;
            let what = || format!("a plan of {sequences} sequences in one piece");
            Error::check_memory(needed, bound, what)?;
        }
        let batches = workspace.stage("gather", || batches.gathered(workspace));
        Ok(Plan::new(batches, over_long, made, known))
    }

    /// How it was made.
    pub fn provenance(&self) -> &Provenance {
        &self.made
    }

    /// The number of batches.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there are no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of sequences in all batches.
    pub fn sequences(&self) -> usize {
        self.batches.sequences()
    }

    /// The batches in order, each with what it is padded to; of two lengths, the first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u32], u32)> + Clone {
        self.batches.iter().map(|(batch, pad)| (batch, pad.first))
    }

    /// Whether its sequences have two lengths.
    pub fn is_paired(&self) -> bool {
        self.batches.pads().any(|(_, pad)| pad.second > 0)
    }

    /// One batch, and what it is padded to; of two lengths, the first.
    pub fn get(&self, batch: usize) -> Option<(&[u32], u32)> {
        self.batches.some(batch..batch + 1).next().map(|(batch, pad)| (batch, pad.first))
    }

    /// How many rows each batch has, and what they are padded to, as in [`Plan::shapes`].
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + Clone {
        let packed = self.made.packed;
        self.batches.shapes().map(move |(size, length)| (if packed { 1 } else { size }, length))
    }

    /// The sequences that exceed the budget even alone, and how they were treated, as in
    /// [`Plan::over_long`].
    pub fn over_long(&self) -> (OverLong, &[u32]) {
        (self.made.over_long, &self.over_long)
    }

    /// The fingerprint of the plan: that of [`Plan::digest`].
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut digest = Digest::default();
            digest.update(&[self.len() as u32]);
            let mut end = 0;
            for (size, _) in self.batches.shapes() {
                end += size;
                digest.update(&[end]);
            }
            self.batches.pads().for_each(|(_, pad)| digest.update(&[pad.first]));
            let seconds = self.batches.pads().map(|(_, pad)| pad.second);
            seconds.filter(|&second| second > 0).for_each(|second| digest.update(&[second]));
            self.iter().for_each(|(batch, _)| digest.update(batch));
            digest.finish()
        })
    }
}

impl fmt::Debug for SpanPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("SpanPlan", [self.len(), self.sequences()], self.digest(), f)
    }
}

/// A plan in a few words.
fn show(name: &str, counts: [usize; 2], digest: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct(name)
        .field("batches", &counts[0])
        .field("sequences", &counts[1])
        .field("digest", &format_args!("{digest:016x}"))
        .finish_non_exhaustive()
}
