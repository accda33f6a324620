//! What a file is written from: the batches of a plan, wherever they are, and what goes with them.

use lengthwise::{Chunks, OverLong, Plan, Provenance, SpanPlan};

use crate::ids::Ids;
use crate::plan::file::{PlanFile, Ranks};
use crate::plan::seal::Version;

/// A plan, in one piece or not.
pub(super) trait Batches {
    fn provenance(&self) -> &Provenance;
    fn digest(&self) -> u64;
    /// The number of batches.
    fn len(&self) -> usize;
    /// The number of sequences in all of them.
    fn sequences(&self) -> usize;
    /// The sequences of a batch, and what it is padded to.
    fn batch(&self, batch: usize) -> (&[u32], u32);
    fn over_long(&self) -> (OverLong, &[u32]);

    /// All batches in order.
    fn all(&self) -> impl ExactSizeIterator<Item = (&[u32], u32)> + Clone {
        (0..self.len()).map(|batch| self.batch(batch))
    }

    /// Where each batch ends.
    fn ends(&self) -> impl Iterator<Item = u32> {
        self.all().scan(0, |end, (batch, _)| {
            *end += batch.len() as u32;
            Some(*end)
        })
    }
}

impl Batches for Plan {
    fn provenance(&self) -> &Provenance {
        self.provenance()
    }

    fn digest(&self) -> u64 {
        self.digest()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn sequences(&self) -> usize {
        self.indices().len()
    }

    fn batch(&self, batch: usize) -> (&[u32], u32) {
        (self.get(batch).unwrap_or_default(), self.batch_lengths()[batch])
    }

    fn over_long(&self) -> (OverLong, &[u32]) {
        self.over_long()
    }
}

impl Batches for SpanPlan {
    fn provenance(&self) -> &Provenance {
        self.provenance()
    }

    fn digest(&self) -> u64 {
        self.digest()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn sequences(&self) -> usize {
        self.sequences()
    }

    fn batch(&self, batch: usize) -> (&[u32], u32) {
        self.get(batch).unwrap_or_default()
    }

    fn over_long(&self) -> (OverLong, &[u32]) {
        self.over_long()
    }
}

/// What batches of two lengths have besides.
#[derive(Clone, Copy)]
pub(super) struct Seconds<'a> {
    pub(super) batch_lengths: &'a [u32],
    pub(super) positions: &'a [u64],
}

/// All that a file says.
pub(super) struct Sheet<'a, P> {
    pub(super) plan: &'a P,
    pub(super) positions: &'a [u64],
    pub(super) seconds: Option<Seconds<'a>>,
    pub(super) ids: Option<&'a Ids>,
    pub(super) chunks: Option<&'a Chunks>,
    pub(super) ranks: Option<&'a Ranks>,
}

impl<P> Sheet<'_, P> {
    pub(super) fn version(&self) -> Version {
        Version { has_pairs: self.seconds.is_some(), has_ids: self.ids.is_some() }
    }
}

impl PlanFile {
    pub(super) fn sheet(&self) -> Sheet<'_, Plan> {
        let Self { plan, positions, second_positions, ids, chunks, ranks } = self;
        let (ids, chunks, ranks) = (ids.as_ref(), chunks.as_ref(), ranks.as_ref());
        let seconds = plan.second_batch_lengths();
        let seconds =
            seconds.map(|batch_lengths| Seconds { batch_lengths, positions: second_positions });
        Sheet { plan, positions, seconds, ids, chunks, ranks }
    }
}
