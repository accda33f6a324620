//! The other stages: sequences are grouped, groups are cut into batches, and batches are arranged.

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::Spans;
use crate::cut::in_order::{cut, rows};
use crate::data::lengths::{Lengths, Pad};
use crate::data::over_long::OverLong;
use crate::data::units::Together;
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::limit::resolved::ResolvedBudget;
use crate::limit::too_long::Admitted;
use crate::order::groups::{Drawn as Order, GroupKind, Groups};
use crate::pipeline::job::{Job, Resolved};
use crate::plan::arrange::{Arrange, Steps, Time, by_kind, in_step, items, shuffle};
use crate::plan::epoch::{Known, SpanPlan};
use crate::plan::settings::{Corpus, Found, Provenance, Settings};
use crate::shape::rounding::Rounding;
use crate::strategy::group::Group;

impl Job<'_> {
    /// The plan of one epoch.
    pub(crate) fn run(&self, epoch: u64) -> Result<SpanPlan, Error> {
        self.settings.check()?;
        self.workspace.check_stop()?;
        let fixed = self.fixed_batches()?;
        let drawn = match self.lengths.units() {
            None => self.draw(fixed, epoch)?,
            Some(units) => self.draw_units(units, fixed, epoch)?,
        };
        let Drawn { batches, kind, per_step, by_step, steps, over } = drawn;
        let cost_model = self.settings.cost_model.or(self.settings.budget.model());
        let arrange = if by_step { Arrange::AsBuilt } else { self.settings.arrange };
        let settings = Settings { batches: fixed, cost_model, arrange, ..self.settings.clone() };
        let found = Found {
            together: kind == GroupKind::Batch,
            packed: kind == GroupKind::Row,
            steps: if by_step { Steps::InOrder } else { steps },
            batches_per_step: per_step,
            grouped: self.lengths.units().is_some(),
            corpus: self.lengths.statistics().map(|statistics| Corpus {
                statistics: statistics.digest(),
                longest: statistics.max(),
            }),
            epoch,
            lengths: self.workspace.stage("digest", || self.lengths.digest()),
        };
        let made = Provenance::new(settings, found);
        self.check_batches(batches.len())?;
        let known = Known::of(self.lengths, made.packed);
        let rng = self.rng(epoch);
        let batches = self.workspace.stage("arrange", || arranged(batches, &made, &known, &rng));
        Ok(SpanPlan::new(batches, over, made, known))
    }

    /// The batches of one epoch, of single sequences that may all share a batch.
    fn draw(&self, fixed: Option<u32>, epoch: u64) -> Result<Drawn, Error> {
        let rng = self.rng(epoch);
        let mut memory = self.memory()?;
        let admitted = self.admit()?;
        let mut resolved = self.workspace.stage("resolve", || self.resolve(&admitted, memory))?;
        if let (Some(bound), Some(resolved)) = (self.workspace.memory, &mut resolved)
            && self.strategy.in_passes()
        {
            memory = Some(self.check_footprint(&admitted, resolved, &rng, bound)?);
            resolved.limit.memory = memory;
        }
        let resolved = resolved.as_ref();
        let draw = |strategy: &dyn Group, rng: &Rng| self.group(strategy, &admitted, resolved, rng);
        let sum = |row: &[u32]| row.iter().map(|&sequence| self.lengths.of(sequence)).sum();
        let dropped = self.settings.over_long == OverLong::Drop;
        let places = Places {
            count: self.lengths.len() - if dropped { admitted.over.len() } else { 0 },
            rounding: resolved.map(|resolved| &*resolved.rounding),
            sum: &sum,
        };
        let grouped = match fixed {
            None => draw(self.strategy, &rng),
            Some(fixed) => self.group_fixed(fixed, &places, draw, &rng),
        };
        let grouped =
            grouped.and_then(|grouped| self.in_steps(grouped, fixed, &admitted, resolved, &places));
        let Grouped { batches, kind, per_step, by_step } =
            grouped.map_err(|error| match (error, self.workspace.memory.zip(memory)) {
                // What is held beside grouping is a part of both.
                (Error::OverMemory { what, needed, bound }, Some((all, left))) => {
                    let beside = all - left;
                    Error::OverMemory { what, needed: needed + beside, bound: bound + beside }
                }
                (error, _) => error,
            })?;
        let cost_model = self.settings.cost_model.or(self.settings.budget.model());
        let steps = self.steps(&admitted.lengths, resolved, cost_model);
        Ok(Drawn { batches, kind, per_step, by_step, steps, over: admitted.over })
    }
}

/// The batches of an epoch before they are arranged, and what was found out about them.
pub(crate) struct Drawn {
    pub(crate) batches: Spans,
    pub(crate) kind: GroupKind,
    pub(crate) per_step: Option<u32>,
    pub(crate) by_step: bool,
    pub(crate) steps: Steps,
    /// The over-long sequences.
    pub(crate) over: Vec<u32>,
}

/// What batches are made of: sequences, or groups that stay whole.
pub(crate) struct Places<'a> {
    pub(crate) count: usize,
    pub(crate) rounding: Option<&'a Rounding>,
    /// How many positions they take in one row.
    pub(crate) sum: &'a dyn Fn(&[u32]) -> u32,
}

/// The last stage: the batches in the order of the epoch.
fn arranged(batches: Spans, made: &Provenance, known: &Known, rng: &Rng) -> Spans {
    if made.arrange == Arrange::AsBuilt {
        return batches;
    }
    let clock = known.clock(made.time());
    let mut items = items(&batches, made.packed);
    if let Some(units) = known.units.as_ref().filter(|units| units.kind_count > 1) {
        by_kind(&mut items, batches.iter().map(|(batch, _)| units.kind_of(batch[0])), made.arrange);
    }
    let order = if let Some(shard) = made.shard {
        let work: Vec<f64> = batches.iter().map(|(batch, pad)| clock.of(batch, pad)).collect();
        let rng = Rng::new(made.seed, made.epoch);
        in_step(&items, &work, (made.arrange, made.steps), shard, &rng)
    } else {
        made.arrange.order(&items, rng)
    };
    batches.reordered(&order)
}

/// Batches are even enough for stratified steps if ranks would work at least so much of the time.
const EVEN: f64 = 0.8;

impl Job<'_> {
    /// How steps are made: as asked for, or as suits the lengths and the settings, whatever the epoch.
    pub(crate) fn steps(
        &self,
        lengths: &Lengths,
        resolved: Option<&Resolved>,
        cost_model: Option<CostModel>,
    ) -> Steps {
        let Some(Resolved { rounding, limit }) = resolved else {
            return self.settings.steps.unwrap_or(Steps::Aligned);
        };
        match (self.settings.steps, self.settings.arrange) {
            (Some(steps), _) => return steps,
            (None, Arrange::AsBuilt) => return Steps::InOrder,
            (None, Arrange::ShortFirst) => return Steps::Aligned,
            // All rows are about as long as the capacity.
            _ if self.strategy.row().is_some() => return Steps::Stratified,
            // No rank waits for another, and a step should look like the data.
            _ if self.settings.update.is_some() && limit.ranks() == 1 => return Steps::Stratified,
            _ => {}
        }
        let time = cost_model.map_or(Time::Cells, Time::Seconds);
        if limit.pair_rounding().is_some() {
            return suitable(of_pairs(lengths, limit), time);
        }
        let (histogram, count) = (lengths.population(), lengths.population_count() as u32);
        // The longest, and about a thousand others.
        let some = histogram.iter().rev().step_by(1 + histogram.len() / 1000);
        let full = some.map(|&(length, of_length)| {
            let length = rounding.of(length);
            let size = limit.full(length).min(count);
            (f64::from(of_length) / f64::from(size), size, length)
        });
        suitable(full, time)
    }
}

/// Full batches of two lengths, by about a thousand sequences.
fn of_pairs(lengths: &Lengths, limit: &ResolvedBudget) -> impl Iterator<Item = (f64, u32, u32)> {
    (0..lengths.count()).step_by(1 + lengths.len() / 1000).map(|sequence| {
        let pad = limit.pad_of(sequence);
        let size = limit.full_of(pad).min(lengths.count());
        (1.0 / f64::from(size), size, pad.joint())
    })
}

/// What suits full batches: how many there are of each size and length.
fn suitable(full: impl Iterator<Item = (f64, u32, u32)>, time: Time) -> Steps {
    let (mut batches, mut work, mut slowest) = (0.0, 0.0, 0.0_f64);
    for (count, size, length) in full {
        let seconds = time.of(size, length);
        batches += count;
        work += count * seconds;
        slowest = slowest.max(seconds);
    }
    if work >= EVEN * batches * slowest { Steps::Stratified } else { Steps::Aligned }
}

/// Turns of the randomness for epochs that need more batches than there are to be.
const REDRAWS: std::ops::Range<u32> = 2000..2016;

/// Batches in the order they were made, and what the groups were that they are cut from.
pub(crate) struct Grouped {
    pub(crate) batches: Spans,
    pub(crate) kind: GroupKind,
    /// How many of them make an optimizer step, if that is known.
    pub(crate) per_step: Option<u32>,
    /// Whether they come step by step already.
    pub(crate) by_step: bool,
}

impl Job<'_> {
    /// The batches of an epoch by the given strategy, as they were made.
    pub(crate) fn group(
        &self,
        strategy: &dyn Group,
        admitted: &Admitted,
        resolved: Option<&Resolved>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        self.workspace.check_stop()?;
        let mut grouped = if let Some(resolved) = resolved {
            build(strategy, &admitted.lengths, resolved, rng)?
        } else {
            // Each sequence is a batch of its own, or a row.
            let packed = self.strategy.row().is_some();
            let kind = if packed { GroupKind::Row } else { GroupKind::Loose };
            Grouped { batches: Spans::default(), kind, per_step: None, by_step: false }
        };
        if let Some(shard) = self.settings.shard.filter(|_| grouped.by_step) {
            let of = format!("the strategy of shard {shard}");
            let expected = "one that does not make optimizer steps itself";
            return Err(Error::bad_value(of, &strategy.describe(), expected));
        }
        if let Some(kept) = &admitted.kept {
            grouped.batches.rename(|sequence| kept[sequence as usize]);
        }
        if self.settings.over_long == OverLong::Alone {
            self.add_alone(&mut grouped.batches, &admitted.over);
        }
        Ok(grouped)
    }

    /// Adds each of these sequences as a batch of its own.
    fn add_alone(&self, batches: &mut Spans, over: &[u32]) {
        let shapes = self.settings.shapes.sides();
        for &sequence in over {
            let Pad { first, second } = self.lengths.both(sequence);
            let alone = |side: usize, length: u32| match length {
                0 => 0,
                _ => u32::try_from(shapes[side].alone(length)).unwrap_or(length),
            };
            batches.push(&[sequence], Pad { first: alone(0, first), second: alone(1, second) });
        }
    }

    /// The same sequences in exactly so many batches: an epoch that needs more is drawn anew, and as a
    /// last resort sorted; of one that needs fewer the largest batches are split.
    pub(crate) fn group_fixed(
        &self,
        fixed: u32,
        places: &Places,
        draw: impl Fn(&dyn Group, &Rng) -> Result<Grouped, Error>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        // Steps that were planned are not split further.
        let too_many = |grouped: &Grouped| {
            let count = grouped.batches.len();
            count > fixed as usize || grouped.by_step && count < fixed as usize
        };
        let mut grouped = draw(self.strategy, rng)?;
        let sequences = places.count;
        if let Some(shard) = self.settings.shard
            && sequences < fixed as usize
        {
            return Err(Error::SmallShard { shard: shard.number, sequences, batches: fixed });
        }
        for turn in REDRAWS {
            if !too_many(&grouped) {
                break;
            }
            grouped = draw(self.strategy, &rng.at_turn(turn))?;
        }
        if too_many(&grouped) && self.settings.share == Together::Batch {
            grouped = draw(self.last_resort(), rng)?;
        }
        if self.settings.shard.is_some() && too_many(&grouped) {
            let [counted, given] = [fixed as usize, grouped.batches.len()].map(|n| n.to_string());
            return Err(Error::OtherNeeds { what: "batches".to_owned(), counted, given });
        }
        self.split(grouped, fixed, places)
    }

    /// With the largest batches split, until there are so many.
    pub(crate) fn split(
        &self,
        grouped: Grouped,
        fixed: u32,
        places: &Places,
    ) -> Result<Grouped, Error> {
        let gathered = grouped.batches.gathered(self.workspace);
        let split = match (grouped.kind, places.rounding) {
            (GroupKind::Row, Some(rounding)) => {
                gathered.split_to(fixed, 1, Some(&|row| rounding.of((places.sum)(row))))?
            }
            _ => gathered.split_to(fixed, self.settings.budget.multiple_of, None)?,
        };
        Ok(Grouped { batches: split.into(), ..grouped })
    }

    /// With as many batches in every optimizer step, if the size of an update was given.
    fn in_steps(
        &self,
        grouped: Grouped,
        fixed: Option<u32>,
        admitted: &Admitted,
        resolved: Option<&Resolved>,
        places: &Places,
    ) -> Result<Grouped, Error> {
        let Some(Resolved { limit, .. }) = resolved.filter(|_| self.settings.update.is_some())
        else {
            return Ok(grouped);
        };
        if grouped.by_step {
            return Ok(grouped);
        }
        let Some([steps, per_step]) = self.steps_of(grouped.batches.len() as u32, admitted, limit)
        else {
            return Ok(grouped);
        };
        check_fixed(fixed, steps, steps * per_step)?;
        let grouped = self.split(grouped, steps * per_step, places)?;
        Ok(Grouped { per_step: Some(per_step), ..grouped })
    }

    /// How many optimizer steps an epoch has, and how many batches each of them, if there would be so many
    /// batches without steps: equally many for every rank, so that there may be a few batches more. Few
    /// sequences may be fewer steps, and none if they are not enough for one.
    pub(crate) fn steps_of(
        &self,
        batches: u32,
        admitted: &Admitted,
        limit: &ResolvedBudget,
    ) -> Option<[u32; 2]> {
        let sequences = admitted.lengths.count() + self.alone(admitted) as u32;
        let mut all = (1..=limit.optimizer_steps(&admitted.lengths)).rev().filter_map(|steps| {
            let each = batches.div_ceil(steps).checked_next_multiple_of(limit.ranks());
            Some([steps, each?])
        });
        all.find(|&[steps, each]| u64::from(steps) * u64::from(each) <= u64::from(sequences))
    }
}

/// Refuses a fixed number of batches that is not the one that so many optimizer steps have.
pub(crate) fn check_fixed(fixed: Option<u32>, steps: u32, batches: u32) -> Result<(), Error> {
    match fixed.filter(|&fixed| fixed != batches) {
        Some(fixed) => {
            let expected = format!("a multiple of the {steps} optimizer steps of an epoch");
            Err(Error::bad_value("the fixed number of batches", &fixed, &expected))
        }
        None => Ok(()),
    }
}

/// The batches as the strategy built them, of sequences that all fit the budget.
pub(crate) fn build(
    strategy: &dyn Group,
    lengths: &Lengths,
    resolved: &Resolved,
    rng: &Rng,
) -> Result<Grouped, Error> {
    let Resolved { rounding, limit } = resolved;
    let groups = strategy.group(lengths, limit, rng)?;
    if groups.count() != lengths.len() {
        return Err(Error::BadGroups {
            what: format!("it holds {} sequences of {}", groups.count(), lengths.len()),
        });
    }
    let Groups { drawn, kind, per_step, .. } = groups;
    let batches = limit.workspace.stage("cut", || match kind {
        GroupKind::Row => rows(groups, lengths, limit, rounding).map(Spans::from),
        _ => Ok(cut(groups, limit, rounding)),
    })?;
    let batches = match drawn {
        Order::InOrder => batches,
        Order::AtRandom => shuffle(batches, rng, Purpose::Draw),
    };
    Ok(Grouped { batches, kind, per_step, by_step: per_step.is_some() })
}
