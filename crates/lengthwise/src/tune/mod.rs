//! What each strategy gives for its padding, and which one to use.
//!
//! Every family of strategies is a curve: as its knob turns from sorted to random, padding and
//! effective mates rise together. [`frontier`] measures the curves. [`tune`] finds where each meets
//! the user's limits, by a search on measured plans that takes a few steps, and chooses the best.

mod family;
mod search;

pub use family::Family;
pub use search::{Choice, Limits, recommended, recommended_in, recommended_shapes, tune, tune_in};

use crate::{
    Arrange, Budget, CostModel, Error, Lengths, Plan, Planner, Shapes, Strategy, Workspace,
    effective_mates,
};

/// The settings under which strategies are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The budget of every batch.
    pub budget: Budget,
    /// What batch lengths may occur.
    pub shapes: Shapes,
    /// The user's seed.
    pub seed: u64,
    /// How long a step takes, if that is known.
    pub cost_model: Option<CostModel>,
}

/// A strategy and what it was measured to give.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The strategy.
    pub strategy: Strategy,
    /// The padding rate, mean over the epochs.
    pub padding_rate: f64,
    /// Paper 2's ZPR, mean over the epochs.
    pub mean_batch_padding_rate: f64,
    /// Paper 2's ABL, mean over the epochs.
    pub mean_batch_length: f64,
    /// The batches of an epoch, mean over the epochs.
    pub batches: f64,
    /// The shapes of an epoch, mean over the epochs.
    pub shapes: f64,
    /// The effective mates over all pairs of epochs; infinite if nobody met again, 0 if nobody has
    /// mates.
    pub effective_mates: f64,
    /// How long an epoch takes by the cost model, if there is one; mean over the epochs.
    pub seconds: Option<f64>,
}

impl Conditions {
    /// Plans `epochs` epochs, at least two, beginning with the given one, and measures them.
    pub fn measure(
        &self,
        strategy: Strategy,
        lengths: &Lengths,
        first_epoch: u64,
        epochs: u64,
    ) -> Result<Point, Error> {
        self.measure_in(&Workspace::new(), strategy, lengths, first_epoch, epochs)
    }

    /// The same with the threads and the memory of a workspace.
    pub fn measure_in(
        &self,
        workspace: &Workspace,
        strategy: Strategy,
        lengths: &Lengths,
        first_epoch: u64,
        epochs: u64,
    ) -> Result<Point, Error> {
        let planner = Planner::new(strategy.clone(), self.budget)
            .shapes(self.shapes.clone())
            .arrange(Arrange::AsBuilt)
            .seed(self.seed);
        let plans = (first_epoch..first_epoch + epochs.max(2))
            .map(|epoch| planner.plan_in(workspace, lengths, epoch))
            .collect::<Result<Vec<Plan>, Error>>()?;
        let measures = plans.iter().map(|plan| {
            workspace.check_stop()?;
            Ok(plan.measure(lengths))
        });
        let measures = measures.collect::<Result<Vec<_>, Error>>()?;
        workspace.check_stop()?;
        let mean = |of: fn(&crate::Measures) -> f64| {
            measures.iter().map(of).sum::<f64>() / measures.len() as f64
        };
        Ok(Point {
            strategy,
            padding_rate: mean(|m| m.padding_rate),
            mean_batch_padding_rate: mean(|m| m.mean_batch_padding_rate),
            mean_batch_length: mean(|m| m.mean_batch_length),
            batches: mean(|m| m.batches as f64),
            shapes: mean(|m| m.shapes as f64),
            effective_mates: effective_mates(&plans).unwrap_or(0.0),
            seconds: self.cost_model.map(|model| {
                plans.iter().map(|plan| model.epoch_seconds(plan)).sum::<f64>() / plans.len() as f64
            }),
        })
    }
}

/// The curve of one family.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The family.
    pub family: Family,
    /// Measured points, from sorted to random.
    pub points: Vec<Point>,
}

impl Curve {
    /// The padding rate at which the family gives so many effective mates, between the two measured
    /// points around it, on logarithmic axes. `None` outside what was measured.
    pub fn padding_at(&self, mates: f64) -> Option<f64> {
        let finite = |point: &&Point| point.effective_mates.is_finite() && point.padding_rate > 0.0;
        let points: Vec<&Point> = self.points.iter().filter(finite).collect();
        let crossings = points.windows(2).filter_map(|pair| {
            let (low, high) = (pair[0].effective_mates, pair[1].effective_mates);
            if !(low.min(high)..=low.max(high)).contains(&mates) {
                return None;
            }
            let width = (high / low).ln();
            let share = if width.abs() < 1e-12 { 0.5 } else { (mates / low).ln() / width };
            Some(pair[0].padding_rate * (pair[1].padding_rate / pair[0].padding_rate).powf(share))
        });
        crossings.reduce(f64::min)
    }
}

/// Measures the curve of every family at `steps` places of its knob, over `epochs` epochs.
/// `on_start` is told each family before its turn.
pub fn frontier(
    lengths: &Lengths,
    conditions: &Conditions,
    steps: u32,
    epochs: u64,
    mut on_start: impl FnMut(Family),
) -> Result<Vec<Curve>, Error> {
    let batches = batch_count(&Workspace::new(), lengths, conditions)?;
    let mut curves = Vec::new();
    for family in Family::ALL {
        on_start(family);
        let mut points: Vec<Point> = Vec::new();
        for step in 0..steps {
            let knob = f64::from(step) / f64::from(steps.max(2) - 1);
            let strategy = family.at(knob, lengths, batches);
            // Whole numbers can be the same at two places of the knob.
            if points.last().is_none_or(|last| last.strategy != strategy) {
                points.push(conditions.measure(strategy, lengths, 0, epochs)?);
            }
        }
        curves.push(Curve { family, points });
    }
    Ok(curves)
}

/// How many batches there are when nothing is mixed.
fn batch_count(
    workspace: &Workspace,
    lengths: &Lengths,
    conditions: &Conditions,
) -> Result<usize, Error> {
    let planner = Planner::new(crate::Sorted, conditions.budget).shapes(conditions.shapes.clone());
    Ok(planner.plan_in(workspace, lengths, 0)?.len())
}
