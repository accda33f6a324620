//! Candidate settings, each with its measures.

use std::collections::BTreeSet;

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::plan::epoch::Plan;
use crate::plan::mixing::mixing;
use crate::plan::settings::Settings;
use crate::planner::Planner;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;

/// Settings to batch with, and their measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Its settings: strategy, shapes, size of an update and all else that makes its plans.
    pub settings: Settings,
    /// Micro-batches of each rank in an optimizer step.
    pub micro_batches: u32,
    /// Optimizer steps of an epoch.
    pub optimizer_steps: u64,
    /// The padding rate.
    pub padding_rate: f64,
    /// The mean number of sequences in a batch.
    pub batch_size: f64,
    /// Different shapes of an epoch.
    pub shape_count: f64,
    /// Shapes that the second epoch has and the first has not.
    pub new_shapes: f64,
    /// How freely batch-mates change between epochs, from 0 to 1: 1 is random shuffling.
    pub mixing: f64,
    /// The standard error of mixing.
    pub mixing_error: f64,
    /// The size of the pool that batch-mates are effectively drawn from.
    pub effective_mates: f64,
    /// How much optimizer steps differ in length, compared with random ones.
    pub step_mix: f64,
    /// The share of the ranks' time that is spent waiting for the slowest rank of each step.
    pub idle_share: f64,
    /// How long an epoch takes, compared with random batches.
    pub time: f64,
    /// How many seconds an epoch takes, if times were measured.
    pub seconds: Option<f64>,
    /// Whether several sequences share a row.
    pub packed: bool,
    /// Whether sequences are batched in random order, so that steps are random ones.
    pub(crate) random: bool,
    /// Which limits it breaks.
    pub broken: Vec<&'static str>,
    /// How many optimizer steps these figures are from.
    pub(crate) measured_steps: usize,
}

/// How many epochs are measured.
const EPOCHS: u64 = 2;

/// What measures offers: some of the lengths, and what stands for all of them.
pub(super) struct Ruler<'a> {
    pub(super) workspace: &'a Workspace,
    /// A sample of the lengths, or all.
    pub(super) lengths: &'a Lengths,
    /// The number of all lengths divided by the number in the sample.
    pub(super) times: f64,
    pub(super) ranks: u32,
    pub(super) cost: CostModel,
    /// Whether the times of the cost model are seconds.
    pub(super) measured: bool,
}

impl Ruler<'_> {
    /// A way to batch with its figures. Its time is not yet compared with that of random batches.
    pub(super) fn measure(
        &self,
        strategy: Strategy,
        shapes: Shapes,
        settings: &Settings,
    ) -> Result<Offer, Error> {
        let on_rungs = matches!(shapes, Shapes::Ladder(_) | Shapes::Rungs(_));
        let random = match strategy {
            // Rows are assigned by their time where ranks would wait.
            Strategy::Packed(_) => self.ranks == 1 || settings.cost_model.is_none(),
            Strategy::Shuffled(_) => !on_rungs,
            _ => false,
        };
        let settings = Settings { shapes, ..settings.clone() };
        let planner = Planner::with(strategy, settings).for_ranks(self.ranks);
        let (mut plans, mut steps) = (Vec::new(), 0);
        let mut shapes: BTreeSet<(u32, u32)> = BTreeSet::new();
        let (mut micro_batches, mut new_shapes) = (1, 0);
        let [mut padding, mut sizes, mut step_mix, mut idle, mut time, mut shape_count] = [0.0; 6];
        for epoch in 0..EPOCHS {
            let whole = planner.plan_in(self.workspace, self.lengths, epoch)?;
            let schedule = whole.schedule(self.ranks)?;
            let plan = schedule.all_ranks();
            let of_plan: BTreeSet<(u32, u32)> = plan.shapes().collect();
            let before = shapes.len();
            shapes.extend(&of_plan);
            // Ranks meet new shapes at the same time.
            let places = schedule.len() * schedule.accumulate() as usize;
            new_shapes = if epoch == 0 { 0 } else { (shapes.len() - before).min(places) };
            let measures = plan.measure(self.lengths);
            micro_batches = schedule.accumulate();
            steps += schedule.len();
            padding += measures.padding_rate;
            sizes += measures.sequences as f64 / measures.batches.max(1) as f64;
            shape_count += of_plan.len() as f64;
            step_mix += schedule.step_mix(self.lengths).log_length;
            idle += schedule.idle_share_by(&self.cost);
            time += schedule.seconds(&self.cost);
            plans.push(plan);
        }
        self.workspace.check_stop()?;
        let epochs = EPOCHS as f64;
        // Without batch-mates there is no mixing.
        let mixing = mixing(&plans).unwrap_or_default();
        let time = (time / epochs + self.cost.new_shape() * new_shapes as f64) * self.times;
        Ok(Offer {
            settings: planner.settings().clone(),
            micro_batches,
            optimizer_steps: (self.times * steps as f64 / epochs).round() as u64,
            padding_rate: padding / epochs,
            batch_size: sizes / epochs,
            shape_count: shape_count / epochs,
            new_shapes: new_shapes as f64,
            mixing: mixing.per_pair,
            mixing_error: mixing.per_pair_error,
            effective_mates: mixing.effective_mates * self.times,
            step_mix: step_mix / epochs,
            idle_share: idle / epochs,
            time,
            seconds: self.measured.then_some(time),
            packed: plans.first().is_some_and(Plan::is_packed),
            random,
            broken: Vec::new(),
            measured_steps: steps,
        })
    }
}
