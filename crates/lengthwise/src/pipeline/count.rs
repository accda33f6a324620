//! How many batches there are, as far as it can be known before they are made.

use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::fill::{Fill, Growing};
use crate::pipeline::job::Job;
use crate::pipeline::resolve::Resolved;
use crate::shape::rounding::Rounding;
use crate::strategy::group::Group;

impl Job<'_> {
    /// The most batches that the first few epochs need.
    pub(crate) fn most_batches(&self) -> Result<u32, Error> {
        self.settings.check()?;
        let admitted = self.admit()?;
        let resolved = self.resolve(&admitted, None)?;
        let count = |strategy: &dyn Group, epoch: u64| {
            let grouped = self.group(strategy, &admitted, resolved.as_ref(), &self.rng(epoch))?;
            Ok(grouped.batches.len() as u32)
        };
        let mut most = count(self.last_resort(), 0)?;
        for epoch in 0..4 {
            most = most.max(count(self.strategy, epoch)?);
        }
        Ok(most)
    }

    /// The batch lengths that can occur, rising, if the shapes are a ladder.
    pub(crate) fn rungs(&self) -> Result<Option<Vec<u32>>, Error> {
        let admitted = self.admit()?;
        let resolved = self.resolve(&admitted, None)?;
        Ok(resolved.and_then(|resolved| match &*resolved.rounding {
            Rounding::Rungs(rungs) => Some(rungs.edges().to_vec()),
            _ => None,
        }))
    }

    /// The least batches of any epoch, seen at once: as if all sequences were as short as the shortest.
    pub(crate) fn least_batches(&self) -> Result<u64, Error> {
        let (lengths, budget) = (self.lengths, &self.settings.budget);
        self.settings.check()?;
        budget.check()?;
        if lengths.max() > budget.longest_alone() {
            return Ok(1);
        }
        let limit = budget.resolve(lengths.longest())?;
        // The last batch need not be a multiple.
        let most = u64::from(limit.full(lengths.min())) + u64::from(budget.multiple()) - 1;
        Ok((lengths.len() as u64).div_ceil(most.max(1)))
    }

    /// How many batches there are if sequences are sorted, at most `most`. None is made: how often each
    /// length occurs decides, so this takes no memory for each sequence.
    pub(crate) fn sorted_batches(&self, most: usize) -> Result<usize, Error> {
        self.settings.check()?;
        self.memory()?;
        let admitted = self.admit()?;
        let mut batches = self.alone(&admitted).min(most);
        let Some(Resolved { rounding, limit }) = self.resolve(&admitted, None)? else {
            return Ok(batches);
        };
        // Where the sequences of each length end, and what they are padded to.
        let mut count = 0;
        let ends = admitted.lengths.histogram().iter().map(|&(length, of_length)| {
            count += of_length as usize;
            (count, rounding.of(length))
        });
        let ends: Vec<(usize, u32)> = ends.collect();
        let padded = |place: usize| ends[ends.partition_point(|&(end, _)| end <= place)].1;
        let grow = |open: Open, place: usize| Some(open.with(padded(place)));
        let (fill, mut start) = (Growing { limit: &limit, grow }, 0);
        while start < count && batches < most {
            start += fill.first(start..count).size as usize;
            batches += 1;
        }
        Ok(batches)
    }
}
