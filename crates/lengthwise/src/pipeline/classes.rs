//! Plans of sequences that stay together, and of kinds that do not mix.
//!
//! What is planned are groups: each is one place in a batch or in a row. Groups that cannot share a batch are planned
//! apart, by the same strategy: those of different kinds, and in padded batches also those of different sizes, because
//! a budget of sequences is one of groups if all groups have the same size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::rng::Rng;
use crate::cut::batches::{Batches, Span, split_costliest};
use crate::cut::rungs;
use crate::data::lengths::{Lengths, Pad};
use crate::data::over_long::OverLong;
use crate::data::units::{Together, Units};
use crate::error::Error;
use crate::limit::members::Members;
use crate::limit::resolved::ResolvedBudget;
use crate::pipeline::admit_units::AdmittedUnits;
use crate::pipeline::job::{Job, Resolved, row_rungs};
use crate::pipeline::run::Places;
use crate::plan::arrange::Steps;
use crate::plan::settings::Settings;
use crate::shape::rounding::{PairRounding, Rounding, Staircase};
use crate::shape::shapes::Shapes;

/// Groups that are planned by themselves.
pub(super) struct Class {
    pub(super) kind: u32,
    /// How many sequences each has, in padded batches.
    size: u32,
    pub(super) groups: Vec<u32>,
    /// Their lengths: that of the longest sequence, or in rows the sum.
    pub(super) lengths: Lengths,
    members: Members,
    /// The positions that are not padding.
    pub(super) tokens: u64,
}

/// All groups of an epoch.
pub(super) struct Classes<'a> {
    pub(super) job: Job<'a>,
    pub(super) units: &'a Arc<Units>,
    pub(super) admitted: AdmittedUnits,
    pub(super) all: Vec<Class>,
    /// Whether groups share a rank instead of a batch.
    pub(super) by_rank: bool,
    /// What a batch of the longest sequence is padded to.
    longest: u32,
    pub(super) rounding: Arc<Rounding>,
    pair_rounding: Option<PairRounding>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(job: &Job<'a>, units: &'a Arc<Units>, rng: &Rng) -> Result<Self, Error> {
        if job.workspace.memory.is_some() {
            return Err(Error::GroupsUnsupported { what: "a bound on memory".to_owned() });
        }
        // What exceeds the budget alone exceeds it in any group, and has the simpler error.
        let population = job.admit()?.lengths.part().cloned();
        let Settings { budget, shapes, .. } = job.settings;
        let (lengths, of) = (job.lengths, shapes.sides());
        let second = lengths.second().map_or(0, |second| of[1].alone(second.max()));
        let longest = of[0].alone(lengths.longest()) + second;
        let longest = u32::try_from(longest).unwrap_or(u32::MAX);
        let mut limit = budget.resolve(longest)?;
        if let Some(row) = job.strategy.row() {
            limit = limit.with_row_within(row, shapes, lengths.longest());
        }
        let admitted = job.admit_units(units, &limit, rng)?;
        let mut by_class: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for &unit in &admitted.kept {
            let size = match job.settings.share {
                Together::Batch if job.strategy.row().is_none() => units.size(unit),
                _ => 1,
            };
            by_class.entry((units.kind(unit), size)).or_default().push(unit);
        }
        let by_rank = job.settings.share == Together::Rank;
        // Rows of single sequences have no groups.
        let of_row = job.strategy.row().is_some() && !by_rank;
        let class =
            |((kind, size), groups)| Class::new((kind, size), groups, units, &admitted, of_row);
        let classes = by_class.into_iter().map(class).collect::<Result<Vec<Class>, Error>>()?;
        let mut all = Self {
            job: *job,
            units,
            admitted,
            all: classes,
            by_rank,
            longest,
            rounding: Arc::new(Rounding::Exact),
            pair_rounding: None,
        };
        if let Some(whole) = all.whole()? {
            all.round(&whole.within(population), &limit)?;
        }
        Ok(all)
    }

    /// The lengths of all groups: in padded batches each as often as it has sequences.
    fn whole(&self) -> Result<Option<Lengths>, Error> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        if self.by_rank {
            let kept = self.units.expanded(&self.admitted.kept);
            for sequence in kept.filter(|&sequence| !self.is_alone(sequence)) {
                let pad = self.admitted.lengths[sequence as usize];
                first.push(pad.first);
                second.push(pad.second);
            }
        }
        for class in self.all.iter().filter(|_| !self.by_rank) {
            for at in 0..class.lengths.count() {
                let pad = class.lengths.both(at);
                first.extend(std::iter::repeat_n(pad.first, class.size as usize));
                second.extend(std::iter::repeat_n(pad.second, class.size as usize));
            }
        }
        if first.is_empty() {
            return Ok(None);
        }
        let first = Lengths::new(first)?;
        if self.job.lengths.second().is_none() {
            return Ok(Some(first));
        }
        Ok(Some(first.with_second(Lengths::new(second)?)))
    }

    /// Makes the shapes definite, the same for all classes.
    fn round(&mut self, whole: &Lengths, limit: &ResolvedBudget) -> Result<(), Error> {
        let Settings { budget, shapes, .. } = self.job.settings;
        if let Some(second) = whole.second() {
            let rounding = shapes.pair_rounding(whole, second)?;
            self.check_shapes(&rounding, limit)?;
            self.pair_rounding = Some(rounding);
            return Ok(());
        }
        let is_row = self.job.strategy.row().is_some();
        self.rounding = Arc::new(match *shapes {
            Shapes::Ladder(rungs @ 1..) if is_row => {
                let limit = limit.clone().rounded(whole, Arc::new(Rounding::Exact));
                Rounding::Rungs(Staircase::new(row_rungs(whole, &limit, rungs)?, whole))
            }
            _ => match rungs::rounding(shapes, whole, budget)? {
                Rounding::Rungs(rungs) if !is_row => {
                    Rounding::Rungs(Staircase::new(self.with_tops(&rungs, limit), whole))
                }
                rounding => rounding,
            },
        });
        Ok(())
    }

    /// The rungs of a ladder, and those that groups need to keep the budget: the longest of its class, if the next
    /// rung is too long for so many sequences.
    fn with_tops(&self, rungs: &Staircase, limit: &ResolvedBudget) -> Vec<u32> {
        let too_long = |class: &&Class| {
            let padded = rungs.edge(class.lengths.max()).unwrap_or(class.lengths.max());
            !limit.holds_group(class.size, Pad::one(padded))
        };
        let classes = self.all.iter().filter(|_| !self.by_rank);
        let tops = classes.filter(too_long).map(|class| class.lengths.max());
        let mut edges: Vec<u32> = rungs.edges.iter().copied().chain(tops).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Refuses groups of two lengths that exceed the budget when padded to their shape.
    fn check_shapes(&self, to: &PairRounding, limit: &ResolvedBudget) -> Result<(), Error> {
        if self.by_rank {
            return Ok(());
        }
        let over = |class: &Class, at: u32| {
            let own = class.lengths.both(at);
            let padded = to.of(own).unwrap_or(own);
            (!limit.holds_group(class.size, padded)).then_some((
                class.groups[at as usize],
                own,
                padded,
            ))
        };
        let classes = self.all.iter();
        let mut all = classes
            .flat_map(|class| (0..class.lengths.count()).filter_map(move |at| over(class, at)));
        let Some((unit, own, padded)) = all.next() else { return Ok(()) };
        Err(Error::OverBudgetShape {
            index: self.units.get(unit)[0] as usize,
            lengths: [own.first, own.second],
            padded: [padded.first, padded.second],
            budget: self.job.settings.budget.to_string(),
            count: 1 + all.count(),
        })
    }

    /// What a batch of a class may hold.
    pub(super) fn limit<'b>(&'b self, class: &'b Class) -> Result<ResolvedBudget<'b>, Error> {
        let limit = self.limit_of(&class.lengths)?;
        let Some(row) = self.job.strategy.row() else { return Ok(limit.of_groups(class.size)) };
        let limit = limit.with_row_within(row, &self.job.settings.shapes, class.members.longest());
        Ok(if self.units.has_groups() { limit.with_members(&class.members) } else { limit })
    }

    /// What a batch of single sequences may hold.
    fn limit_of<'b>(&'b self, lengths: &'b Lengths) -> Result<ResolvedBudget<'b>, Error> {
        let Settings { budget, cost_model, update, canonical_ranks, ref shapes, .. } =
            *self.job.settings;
        let limit = budget.resolve(self.longest)?;
        let of_rows = self.job.strategy.row().is_some() && matches!(shapes, Shapes::Ladder(_));
        let mut limit = match (&self.pair_rounding, lengths.second()) {
            (Some(rounding), Some(second)) => limit.paired([lengths, second], rounding.clone()),
            _ if of_rows => limit.rounded(lengths, Arc::new(Rounding::Exact)),
            _ => limit.rounded(lengths, Arc::clone(&self.rounding)),
        };
        limit.workspace = self.job.workspace;
        limit.cost_model = cost_model.or(budget.model());
        Ok(limit.with_update(update, canonical_ranks.unwrap_or(1)))
    }

    pub(super) fn resolved<'b>(
        &'b self,
        class: &'b Class,
        steps: Option<(u32, f64)>,
    ) -> Result<Resolved<'b>, Error> {
        let limit = self.limit(class)?;
        let limit = match steps {
            Some((steps, part)) => limit.with_steps(steps, part),
            None => limit,
        };
        Ok(Resolved { rounding: Arc::clone(&self.rounding), limit })
    }

    /// How steps are made if that is not given.
    pub(super) fn steps(&self) -> Result<Steps, Error> {
        let cost_model = self.job.settings.cost_model.or(self.job.settings.budget.model());
        let Some(whole) = self.whole()? else {
            return Ok(self.job.steps(self.job.lengths, None, cost_model));
        };
        let limit = self.limit_of(&whole)?;
        let resolved = Resolved { rounding: Arc::clone(&self.rounding), limit };
        Ok(self.job.steps(&whole, Some(&resolved), cost_model))
    }

    /// The positions of some groups in one row; no row is counted as longer than the longest sequence may be.
    pub(super) fn sum(&self, groups: &[u32]) -> u32 {
        let lengths = &self.admitted.lengths;
        let each = self.units.expanded(groups).map(|sequence| lengths[sequence as usize].first);
        each.fold(0, u32::saturating_add)
    }

    pub(super) fn places<'b>(&'b self, sum: &'b dyn Fn(&[u32]) -> u32) -> Places<'b> {
        let count = self.admitted.kept.len() + self.admitted.alone.len();
        Places { count, rounding: Some(&*self.rounding), sum }
    }
}

/// What groups that share a rank are planned with.
impl Classes<'_> {
    /// What these sequences are padded to in a padded batch of their own, or one of them in a row.
    pub(super) fn pad_of(&self, sequences: impl Iterator<Item = u32>) -> Pad {
        let of = self.job.settings.shapes.sides();
        let alone = |side: usize, length: u32| match length {
            0 => 0,
            _ => u32::try_from(of[side].alone(length)).unwrap_or(length),
        };
        let held = sequences.map(|at| self.admitted.lengths[at as usize]);
        let Pad { first, second } = held.fold(Pad::default(), Pad::over);
        Pad { first: alone(0, first), second: alone(1, second) }
    }

    /// How many optimizer steps these classes have: with a mix, as many in every epoch, whichever groups it has.
    pub(super) fn optimizer_steps(&self, classes: &[usize]) -> Result<u32, Error> {
        let mut steps = 0.0;
        let kinds: BTreeSet<u32> = classes.iter().map(|&at| self.all[at].kind).collect();
        for &kind in &kinds {
            let own = self.admitted.whole.iter().filter(|&&unit| self.units.kind(unit) == kind);
            let lengths = own.clone().flat_map(|&unit| self.units.get(unit));
            let lengths = lengths.map(|&at| self.admitted.lengths[at as usize].joint());
            let lengths = Lengths::new(lengths.collect::<Vec<u32>>())?;
            let here = classes.iter().filter(|&&at| self.all[at].kind == kind);
            let drawn: usize = here.map(|&at| self.all[at].groups.len()).sum();
            steps +=
                self.limit_of(&lengths)?.steps_of(&lengths) * drawn as f64 / own.count() as f64;
        }
        let groups: usize = classes.iter().map(|&at| self.all[at].groups.len()).sum();
        Ok((steps.round() as u32).clamp(1, (groups as u32 / self.ranks()).max(1)))
    }

    pub(super) fn ranks(&self) -> u32 {
        self.job.settings.canonical_ranks.unwrap_or(1)
    }

    /// Whether a sequence exceeds the budget and has a batch of its own.
    pub(super) fn is_alone(&self, sequence: u32) -> bool {
        self.job.settings.over_long == OverLong::Alone
            && self.admitted.over.binary_search(&sequence).is_ok()
    }

    /// The groups of some classes.
    pub(super) fn groups_of(&self, classes: &[usize]) -> impl Iterator<Item = u32> {
        classes.iter().flat_map(|&at| &self.all[at].groups).copied()
    }

    /// The positions of a group that are not padding.
    pub(super) fn tokens(&self, group: u32) -> u64 {
        let lengths = self.units.get(group).iter().map(|&at| self.admitted.lengths[at as usize]);
        lengths.map(|pad| u64::from(pad.first) + u64::from(pad.second)).sum()
    }

    /// What a batch, or a row, of single sequences may hold.
    pub(super) fn limit_of_sequences<'b>(
        &'b self,
        lengths: &'b Lengths,
    ) -> Result<ResolvedBudget<'b>, Error> {
        let limit = self.limit_of(lengths)?;
        Ok(match self.job.strategy.row() {
            Some(row) => limit.with_row_within(row, &self.job.settings.shapes, lengths.max()),
            None => limit,
        })
    }
}

impl Class {
    fn new(
        (kind, size): (u32, u32),
        groups: Vec<u32>,
        units: &Units,
        admitted: &AdmittedUnits,
        of_row: bool,
    ) -> Result<Self, Error> {
        let (mut members, mut tokens) = (Members::default(), 0);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for &group in &groups {
            let held = units.get(group).iter().map(|&at| admitted.lengths[at as usize]);
            let sum: u64 =
                held.clone().map(|pad| u64::from(pad.first) + u64::from(pad.second)).sum();
            let longest = held.clone().fold(Pad::default(), Pad::over);
            tokens += sum;
            first.push(if of_row { u32::try_from(sum).unwrap_or(u32::MAX) } else { longest.first });
            second.push(longest.second);
            members.push(held.map(|pad| pad.first));
        }
        let mut lengths = Lengths::new(first)?;
        if second[0] > 0 {
            lengths = lengths.with_second(Lengths::new(second)?);
        }
        Ok(Self { kind, size, groups, lengths, members, tokens })
    }
}

/// A batch of groups, or of sequences if groups share a rank.
#[derive(Clone)]
pub(super) struct Batch {
    pub(super) groups: Vec<u32>,
    pub(super) pad: Pad,
}

/// The batches of every rank in every step, and those that are in none.
pub(super) type Shares = (Vec<Vec<Batch>>, Vec<Batch>);

/// Halves the largest batches of a share until there are so many, if it has enough groups.
pub(super) fn raise(share: &mut Vec<Batch>, count: usize) -> bool {
    if share.len() == count {
        return true;
    }
    let mut all = Batches::default();
    for batch in &*share {
        all.push(&batch.groups, batch.pad);
    }
    let cells = |span: Span| f64::from(span.size) * f64::from(span.pad.joint());
    let halves = split_costliest(all.spans().collect(), count, 1, &cells);
    let halves = halves.into_iter();
    *share =
        halves.map(|span| Batch { groups: all.sequences(span).to_vec(), pad: span.pad }).collect();
    share.len() == count
}
