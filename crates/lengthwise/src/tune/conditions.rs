//! Strategies measured under given settings.

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::plan::arrange::Arrange;
use crate::plan::epoch::Plan;
use crate::plan::measure::{Measures, effective_mates};
use crate::planner::Planner;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::sorted::Sorted;

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
        let mut measures = Vec::new();
        for plan in &plans {
            workspace.check_stop()?;
            measures.push(plan.measure(lengths));
        }
        workspace.check_stop()?;
        let mean =
            |of: fn(&Measures) -> f64| measures.iter().map(of).sum::<f64>() / measures.len() as f64;
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

/// How many batches there are when nothing is mixed.
pub(crate) fn batch_count(
    workspace: &Workspace,
    lengths: &Lengths,
    conditions: &Conditions,
) -> Result<usize, Error> {
    let planner = Planner::new(Sorted, conditions.budget).shapes(conditions.shapes.clone());
    Ok(planner.plan_in(workspace, lengths, 0)?.len())
}
