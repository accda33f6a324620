//! The settings of a plan, and the function that makes it.

use crate::base::setting::setters;
use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::data::mix::Mix;
use crate::data::over_long::OverLong;
use crate::data::shard::Shard;
use crate::data::statistics::Statistics;
use crate::data::units::{OneKind, Together};
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::limit::update::Update;
use crate::pipeline::job::Job;
use crate::plan::arrange::{Arrange, Steps, Tail};
use crate::plan::epoch::{Plan, SpanPlan};
use crate::plan::settings::Settings;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::group::Group;

/// Plans epochs: the same lengths, settings, seed and epoch give the same plan on every machine.
///
/// ```
/// use lengthwise::{Arrange, Budget, Lengths, Planner, Shapes, strategy::SemiSorted};
///
/// let lengths = Lengths::new((1..=1000).collect::<Vec<u32>>())?;
/// let planner = Planner::new(SemiSorted { noise: 0.1 }, Budget::padded(20_000).at_most(128))
///     .shapes(Shapes::Multiple(8))
///     .arrange(Arrange::Shuffled)
///     .seed(42);
/// let plan = planner.plan(&lengths, 0)?;
/// assert!(plan.measure(&lengths).padding_rate < 0.15);
/// assert_ne!(plan, planner.plan(&lengths, 1)?); // a new plan for each epoch
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Planner<S> {
    strategy: S,
    settings: Settings,
}

impl<S: Group> Planner<S> {
    /// Returns a planner with exact shapes, batches of all lengths in every part of the epoch
    /// (`spread`), an error for over-long sequences, and seed 0.
    pub fn new(strategy: S, budget: Budget) -> Self {
        let settings = Settings::new(strategy.describe(), budget);
        Self { strategy, settings }
    }

    /// Returns a planner with these settings. The name of the strategy in them is not used.
    pub fn with(strategy: S, settings: Settings) -> Self {
        let settings = Settings { strategy: strategy.describe(), ..settings };
        Self { strategy, settings }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes every epoch have the same number of batches, and therefore of steps on any number of
    /// ranks: many trainers ask for it only once. The number follows from the lengths, the settings and
    /// the seed: it is the most that the first few epochs need. An epoch that would need more is drawn
    /// again, and as a last resort sorted; an epoch that needs fewer has its largest batches split.
    ///
    /// For a [shard](Planner::shard), the statistics already fix the number, and this changes nothing. Steps of
    /// [one kind](Planner::one_kind) are not constant either: how many batches each kind needs differs from epoch to
    /// epoch.
    pub fn constant_steps(self, lengths: &Lengths) -> Result<Self, Error> {
        let by_kind = self.settings.one_kind == OneKind::Step && lengths.kind_ids().is_some();
        if self.settings.shard.is_some() || by_kind {
            return Ok(self);
        }
        let most = self.job(lengths, &Workspace::new()).most_batches()?;
        Ok(self.batches(most))
    }

    /// Plans one epoch.
    pub fn plan(&self, lengths: &Lengths, epoch: u64) -> Result<Plan, Error> {
        self.plan_in(&Workspace::new(), lengths, epoch)
    }

    /// Plans one epoch with the threads and the memory of a workspace.
    pub fn plan_in(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        epoch: u64,
    ) -> Result<Plan, Error> {
        self.spans_in(workspace, lengths, epoch)?.gathered(workspace)
    }

    /// Plans one epoch and leaves its batches where they were built, which takes four bytes less per
    /// sequence than [`plan_in`](Planner::plan_in).
    pub fn spans_in(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        epoch: u64,
    ) -> Result<SpanPlan, Error> {
        self.job(lengths, workspace).run(epoch)
    }

    /// Counts how many batches this shard needs in every epoch. Merge it into the statistics together
    /// with the needs of all other shards.
    pub fn needs(&self, lengths: &Lengths) -> Result<Statistics, Error> {
        let workspace = Workspace::new();
        let job = self.job(lengths, &workspace);
        job.check_shard()?;
        let shard = self.settings.shard.ok_or(Error::NoShard)?;
        let statistics = lengths.statistics().ok_or(Error::NoStatistics)?;
        Ok(statistics.of_one(job.counted_settings(), shard, job.most_batches()?))
    }

    /// Returns the batch lengths that can occur, in ascending order, if the shapes are a ladder.
    pub fn rungs(&self, lengths: &Lengths) -> Result<Option<Vec<u32>>, Error> {
        self.job(lengths, &Workspace::new()).rungs()
    }

    /// Returns for how many epochs the strategy avoids repeating batch-mates: 1 for a strategy that
    /// draws every epoch independently, so that any two epochs show how often batch-mates repeat. For a
    /// [longer cycle](crate::strategy::Rotating), [measure](crate::measure::mixing) epochs that are at
    /// least this far apart.
    pub fn cycle(&self, lengths: &Lengths) -> Result<u64, Error> {
        let workspace = Workspace::new();
        let job = self.job(lengths, &workspace);
        if let Some(units) = lengths.units() {
            return job.cycle_of_units(units);
        }
        let admitted = job.admit()?;
        let resolved = job.resolve(&admitted, None)?;
        Ok(resolved.map_or(1, |resolved| self.strategy.cycle(&admitted.lengths, &resolved.limit)))
    }

    /// What the stages of a plan know.
    pub(crate) fn job<'a>(&'a self, lengths: &'a Lengths, workspace: &'a Workspace) -> Job<'a> {
        Job { strategy: &self.strategy, settings: &self.settings, lengths, workspace }
    }
}

setters! {
impl<S: Group> Planner<S> {
    /// Sets the shapes: which batch lengths may occur.
    pub fn shapes(mut self, shapes: Shapes) -> Self { self.settings.shapes = shapes }
    /// Sets the order of the batches in the epoch.
    pub fn arrange(mut self, arrange: Arrange) -> Self { self.settings.arrange = arrange }
    /// Sets what happens to over-long sequences.
    pub fn over_long(mut self, over_long: OverLong) -> Self { self.settings.over_long = over_long }
    /// Sets which batches the ranks process in the same step. By default it is `in-order` for batches
    /// as built and `aligned` for short ones first. Otherwise it is `stratified` if full batches of all
    /// lengths take nearly the same time (by the cost model, or in cells), and `aligned` if they do
    /// not.
    pub fn steps(mut self, steps: Steps) -> Self { self.settings.steps = Some(steps) }
    /// Sets what happens to the last batches if they do not fill a step of all ranks.
    pub fn tail(mut self, tail: Tail) -> Self { self.settings.tail = tail }
    /// Sets how long batches take, so that ranks wait little for each other. A budget of seconds brings
    /// its own cost model.
    pub fn cost_model(mut self, model: CostModel) -> Self { self.settings.cost_model = Some(model) }
    /// Sets the gradient-accumulation steps per rank: how many batches each rank processes for one
    /// optimizer step. Replaces canonical ranks.
    pub fn accumulate(mut self, batches: u32) -> Self {
        self.settings = Settings { accumulate: batches, canonical_ranks: None, update: None, ..self.settings }
    }
    /// Fixes how many batches a step has, for any number of ranks that divides it: each rank then takes
    /// several, and every optimizer step is the same on one machine as on many. Replaces gradient
    /// accumulation.
    pub fn canonical_ranks(mut self, ranks: u32) -> Self {
        (self.settings.accumulate, self.settings.canonical_ranks) = (1, Some(ranks))
    }
    /// Sets how much data every optimizer step has, over all ranks. Every epoch then has the same
    /// number of steps, with as many batches each as needed. Replaces gradient accumulation. On several
    /// ranks, also set [`canonical_ranks`](Planner::canonical_ranks), so that all of them get the same
    /// number of batches.
    pub fn update(mut self, update: Update) -> Self {
        (self.settings.accumulate, self.settings.update) = (1, Some(update))
    }
    /// Fixes the number of batches in every epoch: batches are split until there are this many.
    pub fn batches(mut self, batches: u32) -> Self { self.settings.batches = Some(batches) }
    /// Plans one shard of a corpus. Its lengths are a [part](Lengths::part_of) of the statistics of all
    /// shards, which fix how many batches every shard takes. Its random choices differ from those of
    /// other shards, but all shards stay in step: see [`Shard`].
    pub fn shard(mut self, shard: Shard) -> Self { self.settings.shard = Some(shard) }
    /// Sets what sequences that stay [together](Lengths::together) share: a batch, or a rank.
    pub fn share(mut self, share: Together) -> Self { self.settings.share = share }
    /// Sets what has sequences of one [kind](Lengths::kinds) only: every batch, or every step of all ranks too.
    pub fn one_kind(mut self, one_kind: OneKind) -> Self { self.settings.one_kind = one_kind }
    /// Sets how much of every [kind](Lengths::kinds) an epoch has.
    pub fn mix(mut self, mix: Mix) -> Self { self.settings.mix = Some(mix) }
    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self { self.settings.seed = seed }
}
}

impl Planner<Strategy> {
    /// Returns a planner for the strategy that the settings name, with these settings.
    pub fn named(settings: Settings) -> Result<Self, Error> {
        Ok(Self { strategy: settings.strategy.parse()?, settings })
    }

    /// Whether plans are made of optimizer steps, and therefore depend on the number of ranks: if the
    /// update has a size, if the strategy makes steps itself, or if groups share a rank.
    pub fn plans_steps(&self) -> bool {
        let by_rank = self.settings.share == Together::Rank;
        by_rank || self.settings.update.is_some() || self.strategy.makes_steps()
    }

    /// Plans optimizer steps for this many ranks, if [steps are planned](Planner::plans_steps) and
    /// [canonical ranks](Planner::canonical_ranks) are not set; otherwise nothing changes.
    #[must_use]
    pub fn for_ranks(mut self, ranks: u32) -> Self {
        if self.plans_steps() {
            self.settings.canonical_ranks.get_or_insert(ranks);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::sorted::Sorted;

    /// The most batches of any epoch, as it is known before they are made.
    fn most(planner: &Planner<Strategy>, lengths: &Lengths) -> u64 {
        let workspace = Workspace::new();
        let job = planner.job(lengths, &workspace);
        let admitted = job.admit().unwrap();
        let resolved = job.resolve(&admitted, None).unwrap();
        resolved.map_or(admitted.over.len() as u64, |resolved| job.most_of(&admitted, &resolved))
    }

    /// No plan of any epoch has more, and where sizes follow from the settings it has as many.
    #[test]
    fn no_plan_has_more_batches() {
        let skewed = (0..3000_u32).map(|i| 1 + i.wrapping_mul(2_654_435_761) % 97);
        let skewed =
            skewed.enumerate().map(|(i, length)| if i % 50 == 0 { 20 * length } else { length });
        let skewed = Lengths::new(skewed.collect::<Vec<u32>>()).unwrap();
        let even = Lengths::new(vec![7; 2000]).unwrap();
        let strategies = ["shuffled", "sorted", "semi-sorted", "blurred", "length-buckets:width=9"];
        for lengths in [skewed, even] {
            for budget in [
                "sequences:16",
                "padded:4000",
                "padded:4000,multiple-of=8",
                "dynamic:4",
                "dynamic:4,rule=over",
                "padded:9000,at-most=40",
                "cost:a=1,c=1,limit=4000",
            ] {
                for shapes in ["exact", "multiple:8", "ladder:6"] {
                    let (budget, shapes): (Budget, Shapes) =
                        (budget.parse().unwrap(), shapes.parse().unwrap());
                    for strategy in strategies.map(|text| text.parse::<Strategy>().unwrap()) {
                        let planner = Planner::new(strategy, budget)
                            .shapes(shapes.clone())
                            .over_long(OverLong::Alone);
                        let most = most(&planner, &lengths);
                        // Sorted batches without a ladder are counted, and not made.
                        let sorted = Planner::new(Sorted, budget).over_long(OverLong::Alone);
                        let found = sorted.plan(&lengths, 0).unwrap().len();
                        for limit in [1, 16, 10_000] {
                            let counted = sorted
                                .job(&lengths, &Workspace::new())
                                .sorted_batches(limit)
                                .unwrap();
                            assert_eq!(counted, found.min(limit), "{sorted:?}");
                        }
                        for epoch in 0..3 {
                            let found = planner.plan(&lengths, epoch).unwrap().len() as u64;
                            assert!(found <= most, "{planner:?}: {found} over {most}");
                        }
                    }
                }
            }
        }
        let fixed = Planner::new("shuffled".parse::<Strategy>().unwrap(), Budget::sequences(16));
        let even = Lengths::new(vec![7; 2000]).unwrap();
        assert_eq!(most(&fixed, &even), 2000 / 16 + 1);
    }
}
