//! Plans every strategy for several epochs, and keeps mean and standard deviation of each measure.

use std::{collections::BTreeSet, time::Instant};

use lengthwise::{
    CostModel, Error, Lengths, Measures, Plan, Planner, Strategy, Workspace,
    groups::{OneKind, Together},
    measure::{Mixing, mixing},
    tune::{Recommendation, Wanted, recommend_in},
};
use serde::{Deserialize, Serialize};

use crate::advice::Recommended;

/// What to compare, and under which settings.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What the lengths are, for people: a file and column, or an example.
    pub source: &'a str,
    /// What the lengths count, such as frames, if that is known.
    pub unit: Option<&'a str>,
    /// The lengths of the sequences.
    pub lengths: &'a Lengths,
    /// The strategies, a row each.
    pub strategies: &'a [Strategy],
    /// The settings of their plans, but for the strategy.
    pub settings: lengthwise::Settings,
    /// How many epochs are planned; mixing needs two.
    pub epochs: u32,
    /// How many ranks share a step.
    pub world_size: u32,
    /// What is known for the recommendation, which has a row too.
    pub wanted: Wanted,
    /// How the command line names the lengths, if it does.
    pub typed: Option<&'a str>,
    /// Whether a report also has the figures of the papers.
    pub papers: bool,
}

impl Request<'_> {
    /// The planner of one of the strategies, for so many ranks.
    pub(crate) fn planner(&self, strategy: &Strategy, ranks: u32) -> Planner<Strategy> {
        Planner::with(strategy.clone(), self.settings.clone()).for_ranks(ranks)
    }

    /// The recommendation, where there is one.
    fn recommendation(&self, workspace: &Workspace) -> Result<Option<Recommendation>, Error> {
        // Groups that share a rank are planned by few strategies, and there is nothing to choose from.
        let choice = self.settings.share == Together::Batch;
        choice.then(|| recommend_in(workspace, self.lengths, &self.wanted)).transpose()
    }
}

/// The measures of several strategies on the same lengths.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Comparison {
    /// The version of the JSON form.
    pub version: u32,
    /// What was planned.
    pub input: Input,
    /// Under which settings.
    pub settings: Settings,
    /// What is recommended, whatever is compared.
    #[serde(default)]
    pub recommended: Option<Recommended>,
    /// A row for every strategy, in the order asked for, and one for what is recommended.
    pub rows: Vec<Row>,
}

/// The lengths in brief.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Input {
    /// What the lengths are.
    pub source: String,
    /// What the lengths count, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many sequences.
    pub sequences: usize,
    /// The shortest length.
    pub min: u32,
    /// The mean length.
    pub mean: f64,
    /// The longest length.
    pub max: u32,
}

/// The settings in their string forms.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `Request`")]
pub struct Settings {
    pub budget: String,
    pub shapes: String,
    pub arrange: String,
    pub over_long: String,
    pub seed: u64,
    pub epochs: u32,
    pub world_size: u32,
    pub accumulate: u32,
    /// How much data an optimizer step has, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    pub steps: String,
    /// What the time of a batch follows, for waiting ranks: cells, batch length or the cost model.
    pub time: String,
    pub tail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_model: Option<String>,
    /// What sequences that stay together share, if that is not a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// What has sequences of one kind, if not only batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_kind: Option<String>,
    /// How much of every kind an epoch has, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
}

impl Settings {
    /// What was said of groups and kinds, by name.
    pub(crate) fn of_groups(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("share", &self.share), ("one kind", &self.one_kind), ("mix", &self.mix)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// How many batches each rank takes in a step, if that is not one.
    pub(crate) fn batches_of_a_rank(&self) -> String {
        if self.accumulate == 1 {
            String::new()
        } else {
            format!(" of {} batches", self.accumulate)
        }
    }
}

/// One strategy: its figures as means over the epochs, and their standard deviations.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// The strategy in its string form.
    pub strategy: String,
    /// Whether this is what is recommended, with settings of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recommended: bool,
    /// Means over the epochs.
    #[serde(flatten)]
    pub mean: Figures,
    /// How many different shapes occur in all epochs together.
    pub shapes_over_epochs: usize,
    /// How many sequences exceed the budget alone, whatever was done about them.
    pub over_long: usize,
    /// Standard deviations over the epochs.
    pub sd: Figures,
}

impl Row {
    /// What the row is called: its strategy, or that it is recommended.
    pub fn label(&self) -> &str {
        if self.recommended { "recommended" } else { &self.strategy }
    }
}

/// The figures of a row; see [`Measures`] for what each is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `Measures`, and those with a line")]
pub struct Figures {
    pub batches: f64,
    pub padding_rate: f64,
    /// Of the first of two lengths; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_padding_rate: Option<f64>,
    /// Of the second of two lengths; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_padding_rate: Option<f64>,
    pub mean_batch_padding_rate: f64,
    pub mean_batch_length: f64,
    pub cells: f64,
    pub steps: f64,
    pub shapes: f64,
    /// How freely batch-mates change between epochs, as a share of random shuffling, from 0 to 1. Every pair
    /// of batch-mates counts the same; see [`mixing`]. Over all pairs of
    /// at most 8 epochs; absent if there is only one, or if no sequence has batch-mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixing: Option<f64>,
    /// The standard error of `mixing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixing_error: Option<f64>,
    /// The same with every sequence counting the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixing_per_sequence: Option<f64>,
    /// The standard error of `mixing_per_sequence`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixing_per_sequence_error: Option<f64>,
    /// The probability that two sequences that share a batch share one again in another epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_rate: Option<f64>,
    /// The size of the pool that batch-mates are effectively drawn from, at most the number of other
    /// sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_mates: Option<f64>,
    /// How many steps each rank takes in an epoch.
    pub optimizer_steps: f64,
    /// How many batches each rank accumulates in an optimizer step.
    pub micro_batches: f64,
    /// How much optimizer steps differ in length, compared with random steps: 1 is as random, 0 is all
    /// alike. By the mean of the logarithm of the length; see [`StepMix`](lengthwise::measure::StepMix).
    pub step_mix: f64,
    /// The same by the quarters of all sequences.
    pub step_mix_quartiles: f64,
    /// The same by the logarithm of the length over tokens.
    pub step_mix_tokens: f64,
    /// The same by the quarters of all tokens.
    pub step_mix_token_quartiles: f64,
    /// The share of time that ranks wait for the slowest of each step; see
    /// [`Schedule::idle_share`](lengthwise::Schedule::idle_share).
    pub idle_share: f64,
    /// The least idle share that any assignment of these batches to steps could have.
    pub idle_bound: f64,
    /// The time of an epoch compared with random batches, as the recommendation estimates it: by the model
    /// that is trained. It counts new shapes. Absent if nothing is recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ratio: Option<f64>,
    /// How long the steps of an epoch take; absent without a cost model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
    /// How long planning one epoch took.
    pub plan_seconds: f64,
    /// Of successive batches; with several in a step, of the mean lengths of successive steps.
    pub lag1_correlation: f64,
    pub largest_batch: f64,
    pub largest_batch_cells: f64,
}

impl Comparison {
    /// Plans all epochs of all strategies. `on_start` is told each strategy before its turn.
    pub fn run(request: &Request, on_start: impl FnMut(&Strategy)) -> Result<Self, Error> {
        Self::run_in(&Workspace::new(), request, on_start)
    }

    /// The same with the threads and the memory of a workspace, which can
    /// [stop it](Workspace::stopped_by).
    pub fn run_in(
        workspace: &Workspace,
        request: &Request,
        mut on_start: impl FnMut(&Strategy),
    ) -> Result<Self, Error> {
        let (lengths, settings) = (request.lengths, &request.settings);
        // How steps are made depends on the lengths and the settings: it is the same in all rows, but for
        // strategies that make steps themselves.
        let found = request.recommendation(workspace)?;
        let cost = found.as_ref().map(|found| found.cost);
        let (mut rows, mut how) = (Vec::new(), [""; 2]);
        for strategy in request.strategies {
            on_start(strategy);
            let planner = request.planner(strategy, request.world_size);
            let (row, found) = Row::measure(workspace, request, &planner, cost)?;
            if rows.is_empty() || !strategy.makes_steps() {
                how = found;
            }
            rows.push(row);
        }
        let [steps, time] = how.map(str::to_owned);
        let recommended = found
            .as_ref()
            .and_then(|found| Recommended::new(found, request.typed, request.world_size));
        if let Some(found) = found.filter(|_| recommended.is_some()) {
            let planner = Planner::named(found.best().settings.clone())?;
            let (row, _) = Row::measure(workspace, request, &planner, cost)?;
            rows.push(Row { recommended: true, ..row });
            compare_times(&mut rows, found.best().time);
        } else {
            for row in &mut rows {
                (row.mean.time_ratio, row.sd.time_ratio) = (None, None);
            }
        }
        Ok(Self {
            version: 1,
            input: Input {
                source: request.source.to_owned(),
                unit: request.unit.map(str::to_owned),
                sequences: lengths.len(),
                min: lengths.min(),
                mean: lengths.mean(),
                max: lengths.max(),
            },
            settings: Settings {
                budget: settings.budget.to_string(),
                shapes: settings.shapes.to_string(),
                arrange: settings.arrange.to_string(),
                over_long: settings.over_long.to_string(),
                seed: settings.seed,
                epochs: request.epochs,
                world_size: request.world_size,
                accumulate: settings.accumulate,
                update: settings.update.map(|update| update.to_string()),
                steps,
                time,
                tail: settings.tail.to_string(),
                cost_model: settings.cost_model.map(|model| model.to_string()),
                share: (settings.share != Together::Batch).then(|| settings.share.to_string()),
                one_kind: (settings.one_kind != OneKind::Batch)
                    .then(|| settings.one_kind.to_string()),
                mix: settings.mix.as_ref().map(ToString::to_string),
            },
            recommended,
            rows,
        })
    }

    /// Whether a table needs the column with this heading.
    pub(crate) fn has_column(&self, heading: &str) -> bool {
        match heading.split([' ', ',']).next() {
            Some("idle") => self.settings.world_size > 1,
            Some("epoch") => self.settings.cost_model.is_some(),
            Some("first" | "second") => {
                self.rows.iter().any(|row| row.mean.second_padding_rate.is_some())
            }
            _ => true,
        }
    }

    /// The comparison as JSON, one line for each level a person might look for.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Turns times by the cost model of the recommendation into shares of random batches' time: that of the last
/// row, which is recommended, is known.
fn compare_times(rows: &mut [Row], recommended: f64) {
    let Some(time) = rows.last().and_then(|row| row.mean.time_ratio) else { return };
    for figures in rows.iter_mut().flat_map(|row| [&mut row.mean, &mut row.sd]) {
        let share = |own: f64| own * recommended / time.max(f64::MIN_POSITIVE);
        figures.time_ratio = figures.time_ratio.map(share);
    }
}

/// Mixing is measured over all pairs of at most this many epochs: 28 pairs are enough.
const MIXING_EPOCHS: u64 = 8;

/// Whether an epoch is one of those, which are spread over the whole run.
fn is_sampled(epoch: u64, epochs: u64) -> bool {
    let before = |epoch: u64| (epoch * MIXING_EPOCHS).div_ceil(epochs);
    epochs <= MIXING_EPOCHS || before(epoch + 1) > before(epoch)
}

impl Row {
    /// The row of one strategy, how its steps are made, and what time follows.
    fn measure(
        workspace: &Workspace,
        request: &Request,
        planner: &Planner<Strategy>,
        cost: Option<CostModel>,
    ) -> Result<(Self, [&'static str; 2]), Error> {
        let cost_model = request.settings.cost_model;
        let (mut plans, mut figures, mut shapes) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut new_shapes = 0;
        for epoch in 0..u64::from(request.epochs) {
            let start = Instant::now();
            let mut plan = planner.plan_in(workspace, request.lengths, epoch)?;
            let schedule = plan.schedule(request.world_size)?;
            let plan_seconds = start.elapsed().as_secs_f64();
            let mut measures = plan.measure(request.lengths);
            let mix = schedule.step_mix(request.lengths);
            let places = request.world_size as usize * schedule.accumulate() as usize;
            if places > 1 {
                // What ranks get: batches may be broken up, repeated or dropped.
                plan = schedule.all_ranks();
                measures = plan.measure(request.lengths);
                let lengths: Vec<u32> = plan.shapes().map(|(_, length)| length).collect();
                measures.lag1_correlation = lag1_of_steps(&lengths, places);
            }
            figures.push(Figures {
                plan_seconds,
                optimizer_steps: schedule.len() as f64,
                micro_batches: schedule.accumulate().into(),
                step_mix: mix.log_length,
                step_mix_quartiles: mix.quartiles,
                step_mix_tokens: mix.token_log_length,
                step_mix_token_quartiles: mix.token_quartiles,
                idle_share: schedule.idle_share(),
                idle_bound: schedule.idle_bound(),
                time_ratio: cost.map(|model| schedule.seconds(&model)),
                predicted_seconds: cost_model.map(|model| schedule.seconds(&model)),
                ..Figures::from(measures)
            });
            let before = shapes.len();
            shapes.extend(plan.shapes().zip(plan.batch_lengths().iter().copied()));
            if epoch == 1 {
                // Ranks meet new shapes at the same time.
                let places = schedule.len() * schedule.accumulate() as usize;
                new_shapes = (shapes.len() - before).min(places);
            }
            if is_sampled(epoch, request.epochs.into()) {
                plans.push(plan);
            }
        }
        workspace.check_stop()?;
        let [mut mean, sd] = [mean, sd].map(|one| over_epochs(&figures, one));
        let cycle = planner.cycle(request.lengths)?;
        let measured = if cycle > 1 && plans.len() > 1 {
            // Inside a cycle nothing repeats: one epoch of each tells what comes after it.
            let epochs = (0..plans.len() as u64).map(|number| number * cycle);
            let plans = epochs.map(|epoch| {
                let plan = planner.plan_in(workspace, request.lengths, epoch)?;
                Ok(plan.schedule(request.world_size)?.all_ranks())
            });
            mixing(&plans.collect::<Result<Vec<Plan>, Error>>()?)
        } else {
            mixing(&plans)
        };
        mean.mix(measured);
        if let (Some(time), Some(cost)) = (&mut mean.time_ratio, cost) {
            *time += cost.new_shape() * new_shapes as f64;
        }
        let over_long = plans.first().map_or(0, |plan| plan.over_long().1.len());
        let made = plans.first().map(Plan::provenance);
        let how = made.map_or([""; 2], |made| [made.steps.name(), made.time_follows()]);
        let (strategy, shapes_over_epochs) = (planner.settings().strategy.clone(), shapes.len());
        Ok((Self { strategy, recommended: false, mean, shapes_over_epochs, over_long, sd }, how))
    }
}

/// Pearson's correlation of the mean batch length of each step with that of the next, 0 where it is
/// undefined: batches of one step follow nothing, and may have been chosen to be alike.
fn lag1_of_steps(batch_lengths: &[u32], places: usize) -> f64 {
    let steps: Vec<f64> = batch_lengths
        .chunks(places)
        .map(|step| mean(&step.iter().copied().map(f64::from).collect::<Vec<_>>()))
        .collect();
    let pairs = steps.len().saturating_sub(1);
    if pairs < 2 {
        return 0.0;
    }
    let (before, after) = (&steps[..pairs], &steps[1..]);
    let (mean_before, mean_after) = (mean(before), mean(after));
    let (mut both, mut square_before, mut square_after) = (0.0, 0.0, 0.0);
    for (x, y) in before.iter().zip(after) {
        let (x, y) = (x - mean_before, y - mean_after);
        both += x * y;
        square_before += x * x;
        square_after += y * y;
    }
    let scale = (square_before * square_after).sqrt();
    if scale > 0.0 { both / scale } else { 0.0 }
}

impl Figures {
    /// With what was measured over several epochs, if there were several.
    fn mix(&mut self, mixing: Option<Mixing>) {
        self.mixing = mixing.map(|mixing| mixing.per_pair);
        self.mixing_error = mixing.map(|mixing| mixing.per_pair_error);
        self.mixing_per_sequence = mixing.map(|mixing| mixing.per_sequence);
        self.mixing_per_sequence_error = mixing.map(|mixing| mixing.per_sequence_error);
        self.repeat_rate = mixing.map(|mixing| mixing.repeat_rate);
        self.effective_mates = mixing.map(|mixing| mixing.effective_mates);
    }
}

impl From<Measures> for Figures {
    fn from(measures: Measures) -> Self {
        Self {
            batches: measures.batches as f64,
            padding_rate: measures.padding_rate,
            first_padding_rate: measures.sides.map(|[first, _]| first.padding_rate),
            second_padding_rate: measures.sides.map(|[_, second]| second.padding_rate),
            mean_batch_padding_rate: measures.mean_batch_padding_rate,
            mean_batch_length: measures.mean_batch_length,
            cells: measures.cells as f64,
            steps: measures.steps as f64,
            shapes: measures.shapes as f64,
            lag1_correlation: measures.lag1_correlation,
            largest_batch: measures.largest_batch as f64,
            largest_batch_cells: measures.largest_batch_cells as f64,
            ..Self::default()
        }
    }
}

/// Figures of several epochs as one, field by field.
fn over_epochs(epochs: &[Figures], one: fn(&[f64]) -> f64) -> Figures {
    let some = |field: fn(&Figures) -> Option<f64>| {
        let values: Vec<f64> = epochs.iter().filter_map(field).collect();
        (!values.is_empty()).then(|| one(&values))
    };
    let all = |field: fn(&Figures) -> f64| one(&epochs.iter().map(field).collect::<Vec<_>>());
    macro_rules! figures {
        ($(($of:ident: $($field:ident)*))*) => {
            Figures { $($($field: $of(|figures| figures.$field),)*)* }
        };
    }
    figures! {
        (all: batches padding_rate mean_batch_padding_rate mean_batch_length cells steps shapes
            optimizer_steps micro_batches step_mix step_mix_quartiles step_mix_tokens
            step_mix_token_quartiles idle_share idle_bound plan_seconds lag1_correlation largest_batch
            largest_batch_cells)
        (some: first_padding_rate second_padding_rate time_ratio predicted_seconds mixing mixing_error
            mixing_per_sequence mixing_per_sequence_error repeat_rate effective_mates)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation; 0 for a single value.
fn sd(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of one step are alike, and steps alternate.
    #[test]
    fn batches_of_one_step_are_not_successive() {
        let lengths = [10, 11, 90, 91, 12, 10, 95, 90, 11, 12, 91, 93];
        assert!(lag1_of_steps(&lengths, 2) < -0.9);
        assert!(lag1_of_steps(&lengths, 1).abs() < 0.5);
        assert!(lag1_of_steps(&lengths[..4], 2).abs() < 1e-9, "undefined");
        assert!(lag1_of_steps(&[7; 12], 2).abs() < 1e-9, "undefined");
    }
}
