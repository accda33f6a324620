//! How steps of ranks are made if nothing was said about it.

use crate::data::lengths::Lengths;
use crate::limit::cost::CostModel;
use crate::limit::resolved::ResolvedBudget;
use crate::pipeline::job::Job;
use crate::pipeline::resolve::Resolved;
use crate::plan::arrange::Arrange;
use crate::plan::steps::{Steps, Time};

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
