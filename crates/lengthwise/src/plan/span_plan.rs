//! All batches of one epoch, where they were built.

use std::{fmt, sync::OnceLock};

use crate::base::digest::Digest;
use crate::base::threads;
use crate::base::workspace::Workspace;
use crate::cut::batches::Spans;
use crate::data::lengths::Lengths;
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::plan::epoch::Plan;
use crate::plan::measure::{Counts, Measures};
use crate::plan::settings::Provenance;

/// A plan whose batches are not one after another in memory: each lies where its sequences were
/// sorted to. It says the same as a [`Plan`], and takes half the memory while it is made. Its batches
/// come one by one, in the order of the epoch.
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
    batches: Spans,
    over_long: Vec<u32>,
    made: Provenance,
    digest: OnceLock<u64>,
}

/// What a batch takes while batches are arranged, and afterwards while they are measured and written.
pub(crate) const OF_BATCH: u64 = 128;

impl SpanPlan {
    pub(crate) fn new(batches: Spans, over_long: Vec<u32>, made: Provenance) -> Self {
        Self { batches, over_long, made, digest: OnceLock::new() }
    }

    /// The same plan with its batches one after another.
    pub fn gathered(self, workspace: &Workspace) -> Result<Plan, Error> {
        let Self { batches, over_long, made, digest: _ } = self;
        let sequences = batches.sequences();
        if let Some(bound) = workspace.bound()
            && !batches.is_gathered(sequences as u32)
        {
            let needed = 8 * sequences as u64 + OF_BATCH * batches.len() as u64;
            let what = || format!("a plan of {sequences} sequences in one piece");
            Error::check_memory(needed, bound, what)?;
        }
        let batches = workspace.stage("gather", || batches.gathered(workspace));
        Ok(Plan::new(batches, over_long, made))
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

    /// How many positions of each batch are not padding, of both lengths if there are two, counted on
    /// the threads of a workspace.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn positions(&self, workspace: &Workspace, lengths: &Lengths) -> Vec<u64> {
        let threads = workspace.threads_for(lengths.len());
        let parts = if threads > 1 { 8 * threads } else { 1 };
        let positions = |batch| Counts::of(batch, lengths).all_positions();
        let counted = threads::each(threads, threads::ranges(self.len(), parts, 1), |range| {
            self.batches.some(range).map(positions).collect::<Vec<u64>>()
        });
        counted.concat()
    }

    /// What the plan costs, by its [`positions`](SpanPlan::positions). Of two lengths, each side by
    /// itself is measured of [gathered](SpanPlan::gathered) plans alone.
    pub fn measure(&self, positions: &[u64]) -> Measures {
        let sizes = self.batches.pads().map(|(size, _)| u64::from(size));
        let packed = self.made.packed;
        let rows = self.batches.pads().map(|(size, pad)| (if packed { 1 } else { size }, pad));
        Measures::of_batches(sizes.zip(positions.iter().copied()), rows)
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
        f.debug_struct("SpanPlan")
            .field("batches", &self.len())
            .field("sequences", &self.sequences())
            .field("digest", &format_args!("{:016x}", self.digest()))
            .finish_non_exhaustive()
    }
}
