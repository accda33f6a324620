//! What a file is written from: the batches of a plan, wherever they are, and what goes with them.

use std::ops::Range;

use lengthwise::{Chunks, OverLong, Provenance, SpanPlan};

use crate::ids::Ids;
use crate::plan::file::{PlanFile, Ranks};
use crate::plan::seal::Version;

/// All that a file says.
pub(super) struct Sheet<'a> {
    pub(super) made: &'a Provenance,
    pub(super) digest: u64,
    /// The number of batches, and of the sequences in all of them.
    pub(super) len: usize,
    pub(super) sequences: usize,
    /// The sequences of a batch, and what it is padded to.
    pub(super) batch: Box<dyn Fn(usize) -> (&'a [u32], u32) + 'a>,
    pub(super) over_long: (OverLong, &'a [u32]),
    pub(super) positions: &'a [u64],
    pub(super) seconds: Option<Seconds<'a>>,
    pub(super) ids: Option<&'a Ids>,
    pub(super) chunks: Option<&'a Chunks>,
    pub(super) ranks: Option<&'a Ranks>,
}

/// What batches of two lengths have besides.
#[derive(Clone, Copy)]
pub(super) struct Seconds<'a> {
    pub(super) batch_lengths: &'a [u32],
    pub(super) positions: &'a [u64],
}

impl<'a> Sheet<'a> {
    pub(super) fn of_file(file: &'a PlanFile) -> Self {
        let PlanFile { plan, positions, second_positions, ids, chunks, ranks } = file;
        let seconds = plan.second_batch_lengths();
        Self {
            made: plan.provenance(),
            digest: plan.digest(),
            len: plan.len(),
            sequences: plan.indices().len(),
            batch: Box::new(|at| (plan.get(at).unwrap_or_default(), plan.batch_lengths()[at])),
            over_long: plan.over_long(),
            positions,
            seconds: seconds
                .map(|batch_lengths| Seconds { batch_lengths, positions: second_positions }),
            ids: ids.as_ref(),
            chunks: chunks.as_ref(),
            ranks: ranks.as_ref(),
        }
    }

    pub(super) fn of_spans(plan: &'a SpanPlan, positions: &'a [u64]) -> Self {
        Self {
            made: plan.provenance(),
            digest: plan.digest(),
            len: plan.len(),
            sequences: plan.sequences(),
            batch: Box::new(|at| plan.get(at).unwrap_or_default()),
            over_long: plan.over_long(),
            positions,
            seconds: None,
            ids: None,
            chunks: None,
            ranks: None,
        }
    }

    pub(super) fn version(&self) -> Version {
        Version { has_pairs: self.seconds.is_some(), has_ids: self.ids.is_some() }
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&'a [u32], u32)> {
        (0..self.len).map(|batch| (self.batch)(batch))
    }

    /// Where each batch is among the sequences of all.
    pub(super) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.all().scan(0, |end, (batch, _)| {
            let start = *end;
            *end += batch.len();
            Some(start..*end)
        })
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = u32> {
        self.places().map(|places| places.end as u32)
    }
}
