//! All stages, one after another: admit → resolve → group and cut → arrange.

use crate::base::rng::Rng;
use crate::cut::batches::{Spans, weighed};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::GroupKind;
use crate::pipeline::job::Job;
use crate::pipeline::resolve::Resolved;
use crate::plan::arrange::{Arrange, items};
use crate::plan::in_step::in_step;
use crate::plan::settings::{Corpus, Found, Provenance, Settings};
use crate::plan::span_plan::SpanPlan;
use crate::plan::steps::{Steps, Time};

impl Job<'_> {
    /// The plan of one epoch.
    pub(crate) fn run(&self, epoch: u64) -> Result<SpanPlan, Error> {
        self.settings.check()?;
        self.workspace.check_stop()?;
        let rng = self.rng(epoch);
        let mut memory = self.memory()?;
        let fixed = self.fixed_batches()?;
        let admitted = self.admit()?;
        let mut resolved = self.workspace.stage("resolve", || self.resolve(&admitted, memory))?;
        if let (Some(bound), Some(resolved)) = (self.workspace.bound(), &mut resolved)
            && self.strategy.in_passes()
        {
            memory = Some(self.check_footprint(&admitted, resolved, &rng, bound)?);
            resolved.limit = resolved.limit.clone().with_memory(memory);
        }
        let resolved = resolved.as_ref();
        let grouped = match fixed {
            None => self.group(self.strategy, &admitted, resolved, &rng),
            Some(fixed) => self.group_fixed(fixed, &admitted, resolved, &rng),
        };
        let grouped = grouped.map_err(|error| match (self.workspace.bound(), memory) {
            (Some(bound), Some(left)) => error.with_memory(bound - left),
            _ => error,
        })?;
        let cost_model = self.settings.cost_model.or(self.settings.budget.model());
        let settings = Settings { batches: fixed, cost_model, ..self.settings.clone() };
        let found = Found {
            together: grouped.kind == GroupKind::Batch,
            packed: grouped.kind == GroupKind::Row,
            steps: self.steps(&admitted.lengths, resolved, cost_model),
            corpus: self.lengths.statistics().map(|statistics| Corpus {
                statistics: statistics.digest(),
                longest: statistics.max(),
            }),
            epoch,
            lengths: self.workspace.stage("digest", || self.lengths.digest()),
        };
        let made = Provenance::new(settings, found);
        self.check_batches(grouped.batches.len())?;
        let batches = self.workspace.stage("arrange", || arranged(grouped.batches, &made, &rng));
        Ok(SpanPlan::new(batches, admitted.over, made))
    }
}

/// The last stage: the batches in the order of the epoch.
fn arranged(batches: Spans, made: &Provenance, rng: &Rng) -> Spans {
    let Some(shard) = made.shard else {
        return made.arrange.apply(batches, made.packed, rng);
    };
    let items = items(&batches, made.packed);
    let shapes = batches.shapes().map(|shape| weighed(shape, made.packed));
    let work: Vec<f64> = shapes.map(|(size, length)| made.time().of(size, length)).collect();
    let rng = Rng::new(made.seed, made.epoch);
    let order = in_step(&items, &work, (made.arrange, made.steps), shard, &rng);
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
