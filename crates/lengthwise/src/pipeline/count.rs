//! How many batches there are, as far as it can be known before they are made.

use crate::{
    error::Error,
    pipeline::{footprint, job::Job},
    shape::rounding::Rounding,
    strategy::group::Group,
};

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

    /// How many batches there are in every epoch at least, as far as that is seen at once: as if all
    /// sequences were as short as the shortest.
    pub(crate) fn least_batches(&self) -> Result<u64, Error> {
        let (lengths, budget) = (self.lengths, &self.settings.budget);
        self.settings.check()?;
        budget.check()?;
        let longest = budget.limit_of_one().map_or(u32::MAX, |limit| limit.longest_alone());
        if lengths.max() > longest {
            return Ok(1);
        }
        let limit = budget.resolve(lengths, vec![lengths.max()].into())?;
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
        let alone = self.alone(&admitted);
        let Some(resolved) = self.resolve(&admitted, None)? else {
            return Ok(alone.min(most));
        };
        let mut end = 0;
        let ends = admitted.lengths.histogram().iter().map(|&(length, count)| {
            end += count as usize;
            (end, resolved.rounding.of(length))
        });
        let ends: Vec<(usize, u32)> = ends.collect();
        let sorted = footprint::sorted_batches(&ends, &resolved.limit, most.saturating_sub(alone));
        Ok(sorted + alone.min(most))
    }
}
