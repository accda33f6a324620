//! All stages, one after another: admit → resolve → group and cut → arrange.

use crate::base::rng::Rng;
use crate::cut::batches::weighed;
use crate::cut::spans::Spans;
use crate::error::Error;
use crate::order::groups::GroupKind;
use crate::pipeline::job::Job;
use crate::plan::arrange;
use crate::plan::in_step::in_step;
use crate::plan::settings::{Corpus, Found, Provenance, Settings};
use crate::plan::span_plan::SpanPlan;

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
    let items = arrange::items(&batches, made.packed);
    let shapes = batches.shapes().map(|shape| weighed(shape, made.packed));
    let work: Vec<f64> = shapes.map(|(size, length)| made.time().of(size, length)).collect();
    let rng = Rng::new(made.seed, made.epoch);
    let order = in_step(&items, &work, (made.arrange, made.steps), shard, &rng);
    batches.reordered(&order)
}
