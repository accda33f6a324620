//! All batches of one epoch.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::base::digest::digest;
use crate::base::workspace::Workspace;
use crate::cut::batches::Batches;
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::plan::settings::Provenance;

/// All batches of one epoch, in order; it never changes once made, and copies share their memory.
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
    batches: Arc<Batches>,
    over_long: Arc<[u32]>,
    made: Arc<Provenance>,
    digest: OnceLock<u64>,
}

impl Plan {
    pub(crate) fn new(batches: Batches, over_long: Vec<u32>, made: Provenance) -> Self {
        let (batches, made) = (Arc::new(batches), Arc::new(made));
        Self { batches, over_long: over_long.into(), made, digest: OnceLock::new() }
    }

    /// A plan that was made elsewhere, or before: the sequences of all batches, where each batch
    /// ends, what each is padded to, and the over-long sequences.
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
                return Ok(Self::new(Batches { indices, ends, lengths, seconds }, over_long, made));
            }
        };
        Err(Error::BadPlan { what })
    }

    /// The same plan of sequences with two lengths: what the second ones are padded to in each batch.
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

    /// Other batches made in the same way.
    pub(crate) fn with_batches(&self, batches: Batches) -> Self {
        Self { batches: Arc::new(batches), digest: OnceLock::new(), ..self.clone() }
    }

    pub(crate) fn shared_batches(&self) -> Arc<Batches> {
        Arc::clone(&self.batches)
    }

    /// How it was made.
    pub fn provenance(&self) -> &Provenance {
        &self.made
    }

    /// The number of batches.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there are no batches: only of a rank that has taken all its steps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a batch is one row that its sequences share, one after another, and not a row for
    /// each of them. Its batch length is then what they have together, and so are its cells.
    pub fn is_packed(&self) -> bool {
        self.made.packed
    }

    /// How many rows each batch has, and what they are padded to: one row if it is packed, and
    /// otherwise one for each sequence. Of two batch lengths it gives both together.
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

/// Two plans are equal when their batches are, and what happened to over-long sequences.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.batches == other.batches && self.over_long() == other.over_long()
    }
}

impl Eq for Plan {}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("batches", &self.len())
            .field("sequences", &self.indices().len())
            .field("digest", &format_args!("{:016x}", self.digest()))
            .finish_non_exhaustive()
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
    /// Takes the memory of a plan that is no longer needed, for the next one; nothing if others share
    /// the plan.
    pub fn reclaim(&self, plan: Plan) {
        if let Some(batches) = Arc::into_inner(plan.batches) {
            self.keep_indices(batches.indices);
        }
    }
}
