//! Batches and optimizer steps of groups and kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::Batches;
use crate::data::lengths::Pad;
use crate::data::units::{OneKind, Together, Units};
use crate::error::Error;
use crate::math::ln;
use crate::order::groups::GroupKind;
use crate::order::sort;
use crate::pipeline::by_rank::check_by_rank;
use crate::pipeline::classes::{Batch, Classes, Shares, raise};
use crate::pipeline::job::Job;
use crate::pipeline::run::{Drawn, Grouped, Places, build, check_fixed};
use crate::plan::arrange::{Arrange, Item};
use crate::shape::rounding::Rounding;
use crate::strategy::Strategy;
use crate::strategy::blurred::Blurred;
use crate::strategy::group::Group;
use crate::strategy::proportional::Proportional;

impl Job<'_> {
    /// The batches of one epoch of groups.
    pub(crate) fn draw_units(
        &self,
        units: &Arc<Units>,
        fixed: Option<u32>,
        epoch: u64,
    ) -> Result<Drawn, Error> {
        let rng = self.rng(epoch);
        let classes = Classes::new(self, units, &rng)?;
        let draw = |strategy: &dyn Group, rng: &Rng| classes.group(strategy, fixed, rng);
        let sum = |row: &[u32]| classes.sum(row);
        let places = classes.places(&sum);
        let grouped = match fixed {
            None => draw(self.strategy, &rng)?,
            Some(fixed) => self.group_fixed(fixed, &places, draw, &rng)?,
        };
        let grouped = classes.in_steps(grouped, fixed, &places)?;
        let Grouped { batches, kind, per_step, by_step } = grouped;
        let mut batches = batches.gathered(self.workspace);
        if !classes.by_rank {
            batches = batches.expanded(units);
        }
        let steps = classes.steps()?;
        let over = classes.admitted.over;
        Ok(Drawn { batches: batches.into(), kind, per_step, by_step, steps, over })
    }
}

/// A class is in every optimizer step if it has at least this part of all positions. Others are in some.
const LEAST: f64 = 1.0 / 24.0;

/// Batches of groups.
impl Classes<'_> {
    /// The batches of an epoch by the given strategy, as they were made.
    pub(crate) fn group(
        &self,
        strategy: &dyn Group,
        fixed: Option<u32>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        self.job.workspace.check_stop()?;
        let named = strategy.describe().parse::<Strategy>();
        let mut grouped = match named {
            _ if self.by_rank => {
                check_by_rank(strategy)?;
                self.in_shares(None, fixed, rng)?.ok_or_else(|| {
                    let expected =
                        "fewer: each needs whole groups, and a sequence for each of its batches";
                    Error::bad_value(
                        "the number of ranks that share groups",
                        &self.ranks(),
                        expected,
                    )
                })?
            }
            Ok(Strategy::Proportional(Proportional { batches })) => {
                match self.in_shares(batches, fixed, rng)? {
                    Some(grouped) => grouped,
                    None => self.apart(&Blurred::default(), rng)?,
                }
            }
            _ => self.apart(strategy, rng)?,
        };
        if let Some(shard) = self.job.settings.shard.filter(|_| grouped.by_step) {
            let of = format!("the strategy of shard {shard}");
            let expected = "one that does not make optimizer steps itself";
            return Err(Error::bad_value(of, &strategy.describe(), expected));
        }
        for &unit in &self.admitted.alone {
            grouped.batches.push(&[unit], self.pad_alone(unit));
        }
        Ok(grouped)
    }

    /// What a group is padded to that exceeds the budget, in a batch of its own.
    fn pad_alone(&self, unit: u32) -> Pad {
        if self.job.strategy.row().is_some() {
            let (of, sum) = (&self.job.settings.shapes, self.sum(&[unit]));
            return Pad::one(u32::try_from(of.alone(sum)).unwrap_or(sum));
        }
        self.pad_of(self.units.get(unit).iter().copied())
    }

    /// The batches of one class, of groups.
    fn of_class(
        &self,
        at: usize,
        strategy: &dyn Group,
        steps: Option<(u32, f64)>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        let class = &self.all[at];
        let resolved = self.resolved(class, steps)?;
        let mut grouped = build(strategy, &class.lengths, &resolved, &rng.at_class(at as u32))?;
        grouped.batches.rename(|group| class.groups[group as usize]);
        Ok(grouped)
    }

    /// Every class by itself.
    fn apart(&self, strategy: &dyn Group, rng: &Rng) -> Result<Grouped, Error> {
        let (mut all, mut kind) = (Batches::default(), kind_of(strategy));
        for at in 0..self.all.len() {
            let grouped = self.of_class(at, strategy, None, rng)?;
            kind = grouped.kind;
            for (batch, pad) in grouped.batches.iter() {
                all.push(batch, pad);
            }
        }
        Ok(Grouped { batches: all.into(), kind, per_step: None, by_step: false })
    }

    /// The classes whose steps are planned together: of all kinds, or of each by itself.
    fn divisions(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut divisions: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, class) in self.all.iter().enumerate() {
            divisions.entry(self.division(class.kind)).or_default().push(at);
        }
        divisions
    }

    /// Which of them has a kind.
    fn division(&self, kind: u32) -> u32 {
        match self.job.settings.one_kind {
            OneKind::Batch => 0,
            OneKind::Step => kind,
        }
    }
}

/// Optimizer steps of groups.
impl Classes<'_> {
    /// With as many batches in every optimizer step, if the size of an update was given.
    fn in_steps(
        &self,
        grouped: Grouped,
        fixed: Option<u32>,
        places: &Places,
    ) -> Result<Grouped, Error> {
        if self.job.settings.update.is_none() || grouped.by_step || self.all.is_empty() {
            return Ok(grouped);
        }
        let ranks = self.ranks();
        let mut kinds: BTreeMap<u32, (Batches, u32)> = BTreeMap::new();
        for (batch, pad) in grouped.batches.iter() {
            let division = self.division(self.units.kind(batch[0]));
            let (batches, groups) = kinds.entry(division).or_default();
            batches.push(batch, pad);
            *groups += batch.len() as u32;
        }
        let mut per_step = ranks;
        let mut wanted = BTreeMap::new();
        for (division, classes) in self.divisions() {
            wanted.insert(division, self.optimizer_steps(&classes)?);
        }
        for (kind, (batches, groups)) in &kinds {
            let wanted = wanted.get(kind).copied().unwrap_or(1);
            let least = (1..=wanted).rev().find_map(|steps| {
                let each =
                    (batches.len() as u32).div_ceil(steps).checked_next_multiple_of(ranks)?;
                (u64::from(steps) * u64::from(each) <= u64::from(*groups)).then_some(each)
            });
            let Some(least) = least else { return Ok(grouped) };
            per_step = per_step.max(least);
        }
        let (mut all, mut in_all) = (Batches::default(), 0);
        for (kind, (batches, groups)) in kinds {
            let least = (batches.len() as u32).div_ceil(per_step);
            let most = groups / per_step;
            if least > most {
                return Ok(grouped);
            }
            let steps = wanted.get(&kind).copied().unwrap_or(1).clamp(least, most);
            in_all += steps;
            let own = Grouped { batches: batches.into(), ..grouped };
            let own = self.job.split(own, steps * per_step, places)?;
            for (batch, pad) in own.batches.iter() {
                all.push(batch, pad);
            }
        }
        check_fixed(fixed, in_all, in_all * per_step)?;
        Ok(Grouped { batches: all.into(), per_step: Some(per_step), ..grouped })
    }

    /// Optimizer steps that each take their share of every class, and in it of every stratum of lengths. Classes that
    /// are too small for that are in some steps. Nothing if there are too few groups for steps.
    fn in_shares(
        &self,
        batches: Option<u32>,
        fixed: Option<u32>,
        rng: &Rng,
    ) -> Result<Option<Grouped>, Error> {
        let ranks = self.ranks();
        let (mut steps, mut rest) = (Vec::new(), Vec::new());
        for division in self.divisions().into_values() {
            let shares = if self.by_rank {
                self.shares_by_rank(&division, rng)?
            } else {
                self.shares(&division, batches, rng)?
            };
            let Some((shares, left)) = shares else { return Ok(None) };
            steps.extend(shares.chunks(ranks as usize).map(<[Vec<Batch>]>::to_vec));
            rest.extend(left);
        }
        let each = steps.iter().flatten().map(Vec::len).max().filter(|&each| each > 0);
        let Some(mut each) = each else { return Ok(None) };
        // As many as every epoch has, if that is fixed. If these need more, others are drawn.
        let places = steps.len() * ranks as usize;
        if let Some(fixed) = fixed.filter(|&fixed| each * places <= fixed as usize) {
            each = fixed as usize / places;
        }
        for share in steps.iter_mut().flatten() {
            if !raise(share, each) {
                return Ok(None);
            }
        }
        if self.job.settings.one_kind == OneKind::Step {
            // Steps of all kinds in every part of the epoch.
            let places: Vec<Item> = (0..steps.len() as u32).map(Item::place).collect();
            let order = Arrange::Spread.order(&places, rng);
            steps = order.iter().map(|&step| std::mem::take(&mut steps[step as usize])).collect();
        }
        let mut all = Batches::default();
        for mut step in steps {
            for share in &mut step {
                share.sort_by_key(|batch| std::cmp::Reverse(batch.pad.joint()));
            }
            for at in 0..each {
                for share in &step {
                    all.push(&share[at].groups, share[at].pad);
                }
            }
        }
        for batch in &rest {
            all.push(&batch.groups, batch.pad);
        }
        let (per_step, kind) = (Some(each as u32 * ranks), kind_of(self.job.strategy));
        Ok(Some(Grouped { batches: all.into(), kind, per_step, by_step: true }))
    }

    /// The batches of every rank in every step, and those that are in none, for classes whose steps are planned
    /// together.
    fn shares(
        &self,
        division: &[usize],
        asked: Option<u32>,
        rng: &Rng,
    ) -> Result<Option<Shares>, Error> {
        let ranks = self.ranks();
        let of = |at: &usize| &self.all[*at];
        let count = |at: &usize| of(at).groups.len() as u32;
        let tokens: u64 = division.iter().map(|at| of(at).tokens).sum();
        let steps = self.optimizer_steps(division)?;
        let takers = (steps * ranks) as usize;
        if takers > self.groups_of(division).count() {
            return Ok(None);
        }
        let is_everywhere = |at: &usize| {
            let share = of(at).tokens as f64 >= LEAST * tokens as f64;
            share && count(at) as usize >= takers
        };
        let (everywhere, somewhere): (Vec<usize>, Vec<usize>) =
            division.iter().copied().partition(is_everywhere);
        let (mut shares, mut rest) = (vec![Vec::new(); takers], Vec::new());
        for at in everywhere {
            let part = of(&at).tokens as f64 / tokens as f64;
            let is_one = division.len() == 1;
            let own = asked.map(|asked| ((f64::from(asked) * part).round() as u32).max(1));
            let own = Proportional { batches: own };
            let of_steps = Some((steps, part));
            let grouped = match self.of_class(at, &own, of_steps, rng) {
                // A part of the batches that were asked for may be too few for its class.
                Err(Error::BadValue { .. }) if !is_one => {
                    self.of_class(at, &Proportional::default(), of_steps, rng)?
                }
                grouped => grouped?,
            };
            let per_step = grouped.per_step.unwrap_or(ranks) as usize;
            for (place, (groups, pad)) in grouped.batches.iter().enumerate() {
                let (step, rank) = (place / per_step, place % per_step % ranks as usize);
                let batch = Batch { groups: groups.to_vec(), pad };
                match shares.get_mut(step * ranks as usize + rank) {
                    Some(share) if step < steps as usize => share.push(batch),
                    _ => rest.push(batch),
                }
            }
        }
        let mut scattered = Vec::new();
        for at in somewhere {
            let grouped = self.of_class(at, &Blurred::default(), None, rng)?;
            let batches = grouped.batches.iter();
            scattered.extend(batches.map(|(groups, pad)| Batch { groups: groups.to_vec(), pad }));
        }
        if !scattered.is_empty() {
            // Each share has some of several lengths.
            raise(&mut scattered, SOME * takers);
        }
        if !scatter(&mut shares, &mut scattered, rng) {
            return Ok(None);
        }
        Ok(Some((shares, rest)))
    }
}

fn kind_of(strategy: &dyn Group) -> GroupKind {
    if strategy.row().is_some() { GroupKind::Row } else { GroupKind::Loose }
}

/// Deals batches to shares, and makes the numbers of batches of all shares equal; false if that cannot be. As many as
/// there are shares are dealt at a time, by length. Those that take a share farthest above the mean length go to the
/// shares that are farthest below it, so that all shares become alike.
fn scatter(shares: &mut [Vec<Batch>], batches: &mut [Batch], rng: &Rng) -> bool {
    if batches.is_empty() {
        return true;
    }
    batches.sort_by_key(|batch| batch.pad.joint());
    let log = |batch: &Batch| ln(f64::from(batch.pad.joint()));
    let size = |batch: &Batch| batch.groups.len() as f64;
    let sizes: f64 = batches.iter().map(size).sum();
    let mean = batches.iter().map(|batch| size(batch) * log(batch)).sum::<f64>() / sizes;
    let drift = |batch: &Batch| size(batch) * (log(batch) - mean);
    let mut drifts: Vec<(f64, u32)> = sort::shuffled(shares.len() as u32, rng, Purpose::Draw)
        .into_iter()
        .map(|at| (0.0, at))
        .collect();
    // The longest first, which drift most. What does not go round are the longest, because others can be split.
    for dealt in batches.chunks(shares.len()).rev() {
        let mut dealt: Vec<&Batch> = dealt.iter().collect();
        dealt.sort_by(|a, b| drift(b).total_cmp(&drift(a)));
        drifts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (batch, (sum, share)) in dealt.into_iter().zip(&mut drifts) {
            *sum += drift(batch);
            shares[*share as usize].push(batch.clone());
        }
    }
    let most = shares.iter().map(Vec::len).max().unwrap_or(0);
    shares.iter_mut().all(|share| raise(share, most))
}

/// How many batches of classes that are in some steps a share has at least, if they have enough groups.
const SOME: usize = 4;

/// So many epochs show how many batches the others need.
const EPOCHS: u64 = 8;

/// What the planner asks of groups before it plans an epoch.
impl Job<'_> {
    /// The most batches that the first few epochs of groups need.
    pub(crate) fn most_batches_of_units(&self, units: &Arc<Units>) -> Result<u32, Error> {
        let drawn = |strategy: &dyn Group, epoch: u64| -> Result<(Grouped, u32), Error> {
            let rng = self.rng(epoch);
            let classes = Classes::new(self, units, &rng)?;
            let grouped = classes.group(strategy, None, &rng)?;
            let sum = |row: &[u32]| classes.sum(row);
            let places = classes.places(&sum);
            Ok((classes.in_steps(grouped, None, &places)?, places.count as u32))
        };
        let (first, groups) = drawn(self.strategy, 0)?;
        let (by_step, mut most) = (first.by_step, first.batches.len() as u32);
        for epoch in 1..EPOCHS {
            most = most.max(drawn(self.strategy, epoch)?.0.batches.len() as u32);
        }
        if self.settings.share == Together::Batch {
            // As many for every rank in every step.
            let ranks = self.settings.canonical_ranks.unwrap_or(1);
            let steps = first.per_step.filter(|_| by_step).map(|per_step| most / per_step);
            let places = steps.map_or(1, |steps| steps * ranks);
            let last = drawn(self.last_resort(), 0)?.0.batches.len() as u32;
            let for_all = last.next_multiple_of(places.max(1));
            most = most.max(if for_all <= groups { for_all } else { last });
        }
        if self.settings.mix.is_some() && !by_step && self.settings.update.is_none() {
            // Every epoch has other groups, and some need a few batches more.
            most += most / 32 + 2;
        }
        Ok(most)
    }

    /// The batch lengths that can occur for groups, if the shapes are a ladder.
    pub(crate) fn rungs_of_units(&self, units: &Arc<Units>) -> Result<Option<Vec<u32>>, Error> {
        let classes = Classes::new(self, units, &self.rng(0))?;
        Ok(match &*classes.rounding {
            Rounding::Rungs(rungs) => Some(rungs.edges.clone()),
            _ => None,
        })
    }

    /// For how many epochs the strategy avoids repeating batch-mates of groups.
    pub(crate) fn cycle_of_units(&self, units: &Arc<Units>) -> Result<u64, Error> {
        let classes = Classes::new(self, units, &self.rng(0))?;
        let mut cycle = 1;
        for class in &classes.all {
            cycle = cycle.max(self.strategy.cycle(&class.lengths, &classes.limit(class)?));
        }
        Ok(cycle)
    }
}
