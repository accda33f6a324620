//! How many batches there are, as far as it can be known before they are made, and bounds on memory: what
//! a plan takes at most is known before anything large is allocated.
//!
//! The number of batches of an epoch is random, unless sequences wait at the rungs of a ladder. A bound
//! on it follows from how often each length occurs: it holds for every order, and so for every epoch.

use crate::base::rng::Rng;
use crate::data::lengths::{Lengths, is_small_table};
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::resolved::{Fill, Growing};
use crate::limit::too_long::Admitted;
use crate::pipeline::job::{Job, Resolved};
use crate::plan::epoch::OF_BATCH;
use crate::shape::rounding::Rounding;
use crate::strategy::group::Group;

/// Tables of so many bytes are made under every bound: to say what is enough takes them.
const SMALL: u64 = 4_000_000;

/// How many bytes strategies that do not sort in passes take for each sequence, at most.
const OTHERS: u64 = 56;

/// Bytes that a batch takes while an order is cut: its end and its length, in lists that grow, and its
/// place among the batches.
const OF_CUT: u64 = 40;

/// Bytes that sorting takes for each sequence if all of them have the same key.
const OF_EQUALS: u64 = 72;

impl Job<'_> {
    /// The bytes that are left for grouping, if memory is bounded; refused if there are too few.
    pub(crate) fn memory(&self) -> Result<Option<u64>, Error> {
        let Some(bound) = self.workspace.memory else { return Ok(None) };
        self.lengths.only_one("a bound on memory")?;
        let (count, held) = (self.lengths.len() as u64, self.held());
        if !self.strategy.in_passes() {
            Error::check_memory(held + OTHERS * count, bound, || self.what_is_planned())?;
        } else if held > bound.max(SMALL) {
            // The tables that would say how much it takes are too large themselves.
            let most = held + (4 + OF_EQUALS + OF_BATCH) * count;
            Error::check_memory(most, bound, || self.what_is_planned())?;
        }
        Ok(Some(bound.saturating_sub(held)))
    }

    /// Refuses to go on once the work is to be stopped, and batches that are too many to be arranged and
    /// written within a bound on memory. Strategies that sort in passes were asked before they were made.
    pub(crate) fn check_batches(&self, count: usize) -> Result<(), Error> {
        self.workspace.check_stop()?;
        let Some(bound) = self.workspace.memory else { return Ok(()) };
        let needed = 4 * self.lengths.len() as u64 + OF_BATCH * count as u64 + self.held();
        Error::check_memory(needed, bound, || format!("a plan of {count} batches"))?;
        Ok(())
    }

    fn what_is_planned(&self) -> String {
        format!("planning {} sequences by `{}`", self.lengths.len(), self.strategy.describe())
    }

    /// Refuses a plan that does not keep a bound on memory, before anything large is allocated, with a
    /// number that is enough. Gives the bytes that are left for grouping.
    pub(crate) fn check_footprint(
        &self,
        admitted: &Admitted,
        resolved: &Resolved,
        rng: &Rng,
        bound: u64,
    ) -> Result<u64, Error> {
        let (held, batches) = (self.held(), self.most_of(admitted, resolved));
        let while_cut = OF_CUT * batches;
        let needed = held + 4 * self.lengths.len() as u64 + OF_BATCH * batches;
        if needed <= bound {
            return Ok(bound.saturating_sub(held + while_cut));
        }
        // Sorting itself counts what it takes: first for the order, then for making it.
        let mut sorting = 0;
        for _ in 0..2 {
            let mut limit = resolved.limit.clone();
            limit.memory = Some(sorting);
            match self.strategy.group(&admitted.lengths, &limit, rng) {
                Err(Error::OverMemory { needed, .. }) => sorting = needed,
                _ => break,
            }
        }
        let needed = needed.max(held + while_cut + sorting);
        Err(Error::OverMemory { what: self.what_is_planned(), needed, bound })
    }

    /// The most batches of any epoch.
    pub(crate) fn most_of(&self, admitted: &Admitted, resolved: &Resolved) -> u64 {
        let lengths = &*admitted.lengths;
        let groups = self.strategy.most_groups(lengths);
        let multiple = self.settings.budget.multiple_of;
        most_batches(lengths, resolved, multiple, groups) + self.alone(admitted) as u64
    }

    /// How many sequences are batches of their own.
    pub(crate) fn alone(&self, admitted: &Admitted) -> usize {
        if self.settings.over_long == OverLong::Alone { admitted.over.len() } else { 0 }
    }

    /// What is held in memory beside the order of sequences and their batches: tables by length, the
    /// lengths without those that fit no batch, and orders that are drawn again or cut further.
    fn held(&self) -> u64 {
        let (lengths, settings) = (self.lengths, self.settings);
        let count = lengths.len() as u64;
        let tables = if is_small_table(lengths.max(), lengths.len()) {
            32 * (u64::from(lengths.max()) + 1)
        } else {
            20 * count
        };
        // Without a limit, or with one above every length, all are admitted.
        let longest = settings.budget.longest_alone();
        let copies = match settings.over_long {
            OverLong::Error => 0,
            _ if lengths.max() <= settings.shapes.longest_within(longest) => 0,
            OverLong::Truncate => 8,
            _ => 16,
        };
        tables + count * (copies + if settings.batches.is_some() { 8 } else { 0 })
    }
}

/// The most batches that these lengths make in any order that is cut into `groups`: as many as if it were
/// cut from the front, wherever the short batch is.
///
/// A batch ends where one sequence more would not fit. So it has at least as many sequences as a full
/// batch of the longest length among them and that one more, and there are most batches if each of them
/// meets one of the longest sequences. A sequence is met by its own batch and, as the one that does not
/// fit, by the batch before; batches of a multiple of `multiple` sequences look ahead as far.
fn most_batches(lengths: &Lengths, resolved: &Resolved, multiple: u32, groups: u64) -> u64 {
    let Resolved { rounding, limit } = resolved;
    if let Rounding::Rungs(rungs) = &**rounding {
        let edges = &rungs.edges;
        let mut counts = vec![0_u64; edges.len()];
        for &(length, count) in lengths.histogram() {
            counts[rungs.of(length) as usize] += u64::from(count);
        }
        // What is left at a rung is one batch, or fills up one of the next.
        let full =
            counts.iter().zip(edges).map(|(count, &rung)| count / u64::from(limit.full(rung)));
        return full.sum::<u64>() + 2 * edges.len() as u64;
    }
    let (mut left, mut batches) = (lengths.len() as u64, 0);
    for &(length, count) in lengths.histogram().iter().rev() {
        let size = u64::from(limit.full(rounding.of(length)));
        let met = u64::from(count) * (1 + u64::from(multiple));
        let some = met.min(left / size);
        batches += some;
        left -= some * size;
        if some < met {
            break;
        }
    }
    batches + groups.min(lengths.len() as u64)
}

impl Job<'_> {
    /// The most batches that the first few epochs need.
    pub(crate) fn most_batches(&self) -> Result<u32, Error> {
        self.settings.check()?;
        if let Some(units) = self.lengths.units() {
            return self.most_batches_of_units(units);
        }
        let admitted = self.admit()?;
        let resolved = self.resolve(&admitted, None)?;
        let draw = |strategy: &dyn Group, epoch: u64| {
            self.group(strategy, &admitted, resolved.as_ref(), &self.rng(epoch))
        };
        let first = draw(self.strategy, 0)?;
        let mut most = first.batches.len() as u32;
        if first.by_step {
            return Ok(most); // The same in every epoch.
        }
        most = most.max(draw(self.last_resort(), 0)?.batches.len() as u32);
        for epoch in 1..4 {
            most = most.max(draw(self.strategy, epoch)?.batches.len() as u32);
        }
        let resolved = resolved.filter(|_| self.settings.update.is_some());
        let steps = resolved.and_then(|resolved| self.steps_of(most, &admitted, &resolved.limit));
        Ok(steps.map_or(most, |[steps, per_step]| steps * per_step))
    }

    /// The batch lengths that can occur, rising, if the shapes are a ladder.
    pub(crate) fn rungs(&self) -> Result<Option<Vec<u32>>, Error> {
        if let Some(units) = self.lengths.units() {
            return self.rungs_of_units(units);
        }
        let admitted = self.admit()?;
        let resolved = self.resolve(&admitted, None)?;
        Ok(resolved.and_then(|resolved| match &*resolved.rounding {
            Rounding::Rungs(rungs) => Some(rungs.edges.clone()),
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
        let most = u64::from(limit.full(lengths.min())) + u64::from(budget.multiple_of) - 1;
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
