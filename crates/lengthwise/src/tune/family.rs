//! Strategies measured under given settings: those with one main parameter, from the least padding to
//! the most mixing, and their curves.

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::math::digits;
use crate::plan::arrange::Arrange;
use crate::plan::epoch::Plan;
use crate::plan::measure::Measures;
use crate::plan::mixing::{Mixing, Per, mixing};
use crate::planner::Planner;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::alternated::Alternated;
use crate::strategy::blurred::Blurred;
use crate::strategy::bucketed::Bucketed;
use crate::strategy::length_buckets::LengthBuckets;
use crate::strategy::optimal_buckets::OptimalBuckets;
use crate::strategy::pooled::Pooled;
use crate::strategy::semi_sorted::SemiSorted;
use crate::strategy::sorted::Sorted;

/// A strategy whose one parameter leads from sorted to random batches.
///
/// ```
/// use lengthwise::{Example, tune::Family};
///
/// let lengths = Example::Speech.lengths();
/// assert_eq!(Family::Alternated.at(0.0, &lengths, 655).to_string(), "alternated:bins=1");
/// assert_eq!(Family::Alternated.at(1.0, &lengths, 655).to_string(), "alternated:bins=655");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// `blurred`, by its blur.
    Blurred,
    /// `semi-sorted`, by its noise.
    SemiSorted,
    /// `alternated`, by its bins.
    Alternated,
    /// `bucketed`, by the size of its buckets.
    Bucketed,
    /// `length-buckets`, by their width.
    LengthBuckets,
    /// `optimal-buckets`, by their count.
    OptimalBuckets,
    /// `pooled`, by the batches of a pool.
    Pooled,
}

impl Family {
    /// Every family, ours first.
    pub const ALL: [Family; 7] = [
        Family::Blurred,
        Family::SemiSorted,
        Family::Alternated,
        Family::Bucketed,
        Family::LengthBuckets,
        Family::OptimalBuckets,
        Family::Pooled,
    ];

    /// The name of its strategy.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Blurred => "blurred",
            Family::SemiSorted => "semi-sorted",
            Family::Alternated => "alternated",
            Family::Bucketed => "bucketed",
            Family::LengthBuckets => "length-buckets",
            Family::OptimalBuckets => "optimal-buckets",
            Family::Pooled => "pooled",
        }
    }

    /// Returns the strategy at `knob`, from 0 (sorted, or nearly) to 1 (random, or nearly), for about
    /// this many batches. The parameter goes up or down by equal factors, and is rounded to three
    /// digits.
    pub fn at(self, knob: f64, lengths: &Lengths, batches: usize) -> Strategy {
        // Three digits are enough for a parameter, and do not depend on the last bit of a power.
        let between = |from: f64, to: f64| digits(from * (to / from).powf(knob), 2);
        let whole = |from: f64, to: f64| between(from, to).round().max(1.0) as u32;
        let (count, batches) = (lengths.len() as f64, batches.max(1) as f64);
        match self {
            Family::Blurred => Blurred { blur: between(1e-4, 1.0) }.into(),
            Family::SemiSorted => SemiSorted { noise: between(1e-4, 4.0) }.into(),
            Family::Alternated => Alternated { bins: whole(1.0, batches) }.into(),
            Family::Bucketed => Bucketed { size: whole(count / batches, count) }.into(),
            Family::LengthBuckets => {
                LengthBuckets::Width(whole(1.0, f64::from(lengths.max()))).into()
            }
            Family::OptimalBuckets => {
                let most = batches.min(lengths.histogram().len() as f64);
                OptimalBuckets { count: whole(most, 1.0) }.into()
            }
            Family::Pooled => Pooled { batches: whole(batches, 1.0) }.into(),
        }
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
    /// Returns the padding rate at which the family reaches this mixing, interpolated between the two
    /// measured points around it on logarithmic axes. `None` outside the measured range.
    pub fn padding_at(&self, level: f64, per: Per) -> Option<f64> {
        let mixing = |point: &Point| point.mixing.per(per);
        let known = |point: &&Point| mixing(point) > 0.0 && point.padding_rate > 0.0;
        let points: Vec<&Point> = self.points.iter().filter(known).collect();
        let crossings = points.windows(2).filter_map(|pair| {
            let (low, high) = (mixing(pair[0]), mixing(pair[1]));
            if !(low.min(high)..=low.max(high)).contains(&level) {
                return None;
            }
            let width = (high / low).ln();
            let share = if width.abs() < 1e-12 { 0.5 } else { (level / low).ln() / width };
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

/// The settings under which strategies are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The budget of every batch.
    pub budget: Budget,
    /// What batch lengths may occur.
    pub shapes: Shapes,
    /// The user's seed.
    pub seed: u64,
    /// How long a batch takes, if that is known.
    pub cost_model: Option<CostModel>,
}

/// A strategy and its measures.
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
    /// How freely batch-mates change, over all pairs of epochs; all zero if no sequence has batch-mates.
    pub mixing: Mixing,
    /// The effective mates of the mixing: at most the number of other sequences.
    pub effective_mates: f64,
    /// How long an epoch takes by the cost model, if there is one; mean over the epochs.
    pub seconds: Option<f64>,
}

impl Conditions {
    /// Plans `epochs` epochs, at least two, beginning with the given one, and measures them: successive
    /// ones, or of successive [cycles](Planner::cycle).
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
        let cycle = planner.cycle(lengths)?;
        let plans = (0..epochs.max(2))
            .map(|number| planner.plan_in(workspace, lengths, first_epoch + number * cycle))
            .collect::<Result<Vec<Plan>, Error>>()?;
        let mut measures = Vec::new();
        for plan in &plans {
            workspace.check_stop()?;
            measures.push(plan.measure(lengths));
        }
        workspace.check_stop()?;
        let mean =
            |of: fn(&Measures) -> f64| measures.iter().map(of).sum::<f64>() / measures.len() as f64;
        let mixing = mixing(&plans).unwrap_or_default();
        let seconds = self.cost_model.map(|model| {
            let each = plans.iter().map(|plan| model.epoch_seconds(plan));
            Ok(each.sum::<Result<f64, Error>>()? / plans.len() as f64)
        });
        let seconds = seconds.transpose()?;
        Ok(Point {
            strategy,
            padding_rate: mean(|m| m.padding_rate),
            mean_batch_padding_rate: mean(|m| m.mean_batch_padding_rate),
            mean_batch_length: mean(|m| m.mean_batch_length),
            batches: mean(|m| m.batches as f64),
            shapes: mean(|m| m.shapes as f64),
            mixing,
            effective_mates: mixing.effective_mates,
            seconds,
        })
    }
}

/// The number of batches without any mixing.
pub(crate) fn batch_count(
    workspace: &Workspace,
    lengths: &Lengths,
    conditions: &Conditions,
) -> Result<usize, Error> {
    let planner = Planner::new(Sorted, conditions.budget).shapes(conditions.shapes.clone());
    Ok(planner.plan_in(workspace, lengths, 0)?.len())
}
