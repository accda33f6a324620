//! What a plan is made of, and the first stages: lengths are admitted, and shapes and budget made definite
//! for them.

use std::sync::Arc;

use crate::base::rng::{Purpose, Rng};
use crate::base::workspace::Workspace;
use crate::cut::rungs;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Row;
use crate::limit::resolved::ResolvedBudget;
use crate::limit::too_long::Admitted;
use crate::order::pack::pack;
use crate::order::sort;
use crate::plan::settings::{Settings, brief};
use crate::shape::ladder::ladder;
use crate::shape::rounding::{Rounding, Staircase};
use crate::shape::shapes::Shapes;
use crate::strategy::group::Group;
use crate::strategy::packed::Packed;
use crate::strategy::paired::Paired;
use crate::strategy::sorted::Sorted;

/// One strategy, its settings and the lengths: what every stage of a plan knows.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) strategy: &'a dyn Group,
    pub(crate) settings: &'a Settings,
    pub(crate) lengths: &'a Lengths,
    pub(crate) workspace: &'a Workspace,
}

impl<'a> Job<'a> {
    /// The randomness of what one shard draws.
    pub(crate) fn rng(&self, epoch: u64) -> Rng {
        let rng = Rng::new(self.settings.seed, epoch);
        self.settings.shard.map_or(rng, |shard| rng.at_shard(shard.number))
    }

    /// The first stage: the lengths without those that fit no batch, or no row.
    pub(crate) fn admit(&self) -> Result<Admitted<'a>, Error> {
        let Settings { budget, shapes, over_long, mix, .. } = self.settings;
        if let Some(mix) = mix.as_ref().filter(|_| self.lengths.units().is_none()) {
            let expected = "left out where sequences have no kinds";
            return Err(Error::bad_value("the mix of kinds", mix, expected));
        }
        match self.lengths.second() {
            None if budget.is_of_sides() => {
                return Err(Error::NoSecond { what: format!("budget `{budget}`") });
            }
            None if matches!(shapes, Shapes::Each(..)) => {
                return Err(Error::NoSecond { what: format!("shapes `{shapes}`") });
            }
            Some(_) if self.strategy.row().is_some() => {
                let what = format!("strategy `{}`", self.strategy.describe());
                return Err(Error::SecondLengths { what });
            }
            _ => {}
        }
        over_long.admit(self.lengths, budget, shapes, self.strategy.row())
    }

    /// The settings that decide how many batches a shard needs.
    pub(crate) fn counted_settings(&self) -> String {
        let Settings { budget, shapes, over_long, .. } = self.settings;
        let settings = [
            ("strategy", self.strategy.describe()),
            ("budget", budget.to_string()),
            ("shapes", shapes.to_string()),
            ("over-long", over_long.to_string()),
        ];
        let groups = self.lengths.units().map(|_| {
            let Settings { share, one_kind, mix, .. } = self.settings;
            let mix = mix.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
            [("share", share.to_string()), ("one-kind", one_kind.to_string()), ("mix", mix)]
        });
        let all = settings.into_iter().chain(groups.into_iter().flatten());
        let all = all.map(|(name, value)| format!("{name}={}", brief(value)));
        all.collect::<Vec<_>>().join(" ")
    }

    /// Refuses shards of sequences with two lengths, which statistics do not know.
    pub(crate) fn check_shard(&self) -> Result<(), Error> {
        let shard = self.settings.shard;
        shard.map_or(Ok(()), |shard| self.lengths.only_one(&format!("shard {shard}")))
    }

    /// How many batches every epoch has, if that is fixed.
    pub(crate) fn fixed_batches(&self) -> Result<Option<u32>, Error> {
        self.check_shard()?;
        match (self.settings.shard, self.settings.batches, self.lengths.statistics()) {
            (Some(_), _, None) => Err(Error::NoStatistics),
            (Some(shard), None, Some(statistics)) => {
                statistics.batches(&self.counted_settings(), shard.of).map(Some)
            }
            (_, batches, _) => Ok(batches),
        }
    }

    /// What makes few batches, where the strategy makes too many.
    pub(crate) fn last_resort(&self) -> &'static dyn Group {
        match self.lengths.second() {
            Some(_) => &Paired { blur: 0.0, stripes: None },
            None if self.strategy.row().is_some() => &Packed::LONGEST_FIRST,
            None => &Sorted,
        }
    }
}

/// Shapes and budget made definite for given lengths.
pub(crate) struct Resolved<'a> {
    pub(crate) rounding: Arc<Rounding>,
    pub(crate) limit: ResolvedBudget<'a>,
}

impl<'a> Job<'a> {
    /// Shapes and budget made definite; nothing where every sequence stands alone.
    pub(crate) fn resolve<'b>(
        &self,
        admitted: &'b Admitted<'_>,
        memory: Option<u64>,
    ) -> Result<Option<Resolved<'b>>, Error>
    where
        'a: 'b,
    {
        if admitted.kept.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let lengths = &*admitted.lengths;
        let mut resolved = match (self.strategy.row(), lengths.second()) {
            (Some(row), _) => self.resolve_rows(lengths, row)?,
            (None, Some(second)) => self.resolve_pairs(lengths, second)?,
            (None, None) => self.resolve_lengths(lengths)?,
        };
        (resolved.limit.workspace, resolved.limit.memory) = (self.workspace, memory);
        resolved.limit.cost_model = self.settings.cost_model.or(self.settings.budget.model());
        let Settings { update, canonical_ranks, .. } = *self.settings;
        resolved.limit = resolved.limit.with_update(update, canonical_ranks.unwrap_or(1));
        Ok(Some(resolved))
    }

    fn resolve_lengths<'b>(&self, lengths: &'b Lengths) -> Result<Resolved<'b>, Error> {
        let budget = &self.settings.budget;
        let rounding = Arc::new(rungs::rounding(&self.settings.shapes, lengths, budget)?);
        // Rounding keeps the order of lengths, so the longest decides.
        let limit = budget.resolve(rounding.of(lengths.longest()))?;
        let limit = limit.rounded(lengths, Arc::clone(&rounding));
        Ok(Resolved { rounding, limit })
    }

    /// The same for two lengths. On ladders a sequence can exceed the budget that would not by itself.
    fn resolve_pairs<'b>(
        &self,
        lengths: &'b Lengths,
        second: &'b Lengths,
    ) -> Result<Resolved<'b>, Error> {
        let budget = &self.settings.budget;
        let pair_rounding = self.settings.shapes.pair_rounding(lengths, second)?;
        let limit = budget.resolve(pair_rounding.top(lengths, second).joint())?;
        let limit = limit.paired([lengths, second], pair_rounding);
        let over = |&sequence: &u32| !limit.holds_one(limit.pad_of(sequence));
        let mut over = (0..lengths.count()).filter(over);
        let Some(index) = over.next() else {
            return Ok(Resolved { rounding: Arc::new(Rounding::Exact), limit });
        };
        let pad = limit.pad_of(index);
        Err(Error::OverBudgetShape {
            index: index as usize,
            lengths: [lengths.of(index), second.of(index)],
            padded: [pad.first, pad.second],
            budget: budget.to_string(),
            count: 1 + over.count(),
        })
    }

    /// The same where several sequences share a row.
    fn resolve_rows<'b>(&self, lengths: &'b Lengths, row: Row) -> Result<Resolved<'b>, Error> {
        let (shapes, budget) = (&self.settings.shapes, &self.settings.budget);
        let Shapes::Ladder(rungs @ 1..) = *shapes else {
            let Resolved { rounding, limit } = self.resolve_lengths(lengths)?;
            return Ok(Resolved {
                rounding,
                limit: limit.with_row_within(row, shapes, lengths.longest()),
            });
        };
        let limit = budget.resolve(lengths.longest())?;
        let limit = limit.rounded(lengths, Arc::new(Rounding::Exact));
        let limit = limit.with_row_within(row, shapes, lengths.longest());
        let edges = row_rungs(lengths, &limit, rungs)?;
        let rounding = Arc::new(Rounding::Rungs(Staircase::new(edges, lengths)));
        Ok(Resolved { rounding, limit })
    }
}

/// The rungs that pad the rows of an epoch of their own least, and the longest possible row.
pub(crate) fn row_rungs(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    rungs: u32,
) -> Result<Vec<u32>, Error> {
    let row = limit.row();
    let sample = lengths.part().map(|all| Lengths::new(all.sample(SAMPLE))).transpose()?;
    let all = sample.as_ref().unwrap_or(lengths);
    let order = sort::shuffled(all.count(), &Rng::new(0, 0), Purpose::Shuffle);
    let (order, ends) = pack(&order, all, limit);
    let starts = std::iter::once(&0).chain(&ends);
    let sums = starts.zip(&ends).map(|(&start, &end)| {
        order[start as usize..end as usize].iter().map(|&sequence| all.of(sequence)).sum()
    });
    let sums = Lengths::new(sums.collect::<Vec<u32>>())?;
    let count = lengths.part().map_or(lengths.count(), |all| all.count() as u32);
    let most = u64::from(lengths.longest()) * u64::from(row.at_most.min(count));
    let top = u64::from(row.capacity).min(most) as u32;
    let mut edges = match rungs - u32::from(sums.max() < top) {
        0 => Vec::new(),
        rungs => ladder(&sums, rungs),
    };
    if sums.max() < top {
        edges.push(top);
    }
    Ok(edges)
}

/// So many sequences decide the rungs of rows, where they are a part of more.
const SAMPLE: usize = 1 << 16;
