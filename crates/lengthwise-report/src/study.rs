//! All that a report shows besides the table: lengths, batches, rungs, curves and waiting.

use std::collections::BTreeSet;

use lengthwise::{
    Arrange, Error, ErrorKind, Lengths, Pairs, Plan, Planner, Settings, Shapes, Strategy, Update,
    custom::{Purpose, Rng},
    groups::Together,
    ladder,
    measure::Per,
    tune::{Conditions, Curve, frontier},
};
use serde::Serialize;

use crate::compare::{Comparison, Request, Row};
use crate::histogram::{Bin, bins};

/// A comparison and everything that is drawn beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// The table.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What makes it again.
    pub(crate) command: String,
    pub(crate) lengths: Distribution,
    /// Padding with more and more rungs.
    pub(crate) rungs: Rungs,
    /// Some batches of every plan, in the order of the rows.
    pub(crate) pictures: Vec<Picture>,
    pub(crate) frontier: Frontier,
    /// Waiting against the number of ranks, of at most three rows.
    pub(crate) idle: Vec<Idle>,
    /// The order of every strategy as built, for the papers' figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) orders: Vec<Order>,
    /// Whether the papers' figures are shown.
    #[serde(skip)]
    pub(crate) papers: bool,
}

/// How the lengths are distributed, and what batch lengths suit them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Distribution {
    pub(crate) bins: Vec<Bin>,
    /// Whether the intervals grow with the lengths, because of a long tail.
    pub(crate) logarithmic: bool,
    /// The batch lengths of what is recommended, if they are few; otherwise the rungs of a ladder.
    pub(crate) ladder: Vec<u32>,
    /// Whether these are the batch lengths of what is recommended.
    pub(crate) recommended: bool,
}

/// What the number of rungs does to padding.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rungs {
    /// The strategy that is planned on the ladders.
    pub(crate) strategy: String,
    /// The number of rungs that is recommended, if a ladder is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recommended: Option<u32>,
    pub(crate) points: Vec<RungsPoint>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RungsPoint {
    pub(crate) rungs: u32,
    pub(crate) padding_rate: f64,
    /// Different pairs of batch size and batch length in the epoch.
    pub(crate) shapes: u64,
}

/// Consecutive batches of the plan of one row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Picture {
    pub(crate) strategy: String,
    /// How many batches the epoch has.
    pub(crate) of: usize,
    /// The place of the first one that is shown.
    pub(crate) first: usize,
    /// Of the whole epoch; of two lengths, by the first.
    pub(crate) padding_rate: f64,
    pub(crate) batches: Vec<SampleBatch>,
}

impl Picture {
    /// The padding rate of the batches that are shown.
    pub(crate) fn shown_padding(&self) -> f64 {
        let sums = self.batches.iter().fold((0, 0), |sum, b| (sum.0 + b.cells, sum.1 + b.data));
        padding_of(sums)
    }
}

/// A batch of a plan.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SampleBatch {
    pub(crate) batch_length: u32,
    /// How many sequences it has.
    pub(crate) sequences: usize,
    pub(crate) cells: u64,
    /// How many of the cells hold data.
    pub(crate) data: u64,
    /// Whether its sequences share one row, one after another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) packed: bool,
    /// Their lengths, the longest first; of very many, evenly spaced ones.
    pub(crate) lengths: Vec<u32>,
}

/// Lengths by place in the epoch as built, at evenly spaced places.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) strategy: String,
    pub(crate) order: Vec<u32>,
}

/// Padding against mixing for every family of strategies.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Frontier {
    /// How many sequences the curves were measured on: all, or so many at random.
    pub(crate) sequences: usize,
    pub(crate) curves: Vec<FamilyCurve>,
    /// Every family where it mixes as much as what is recommended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_equal_mixing: Option<AtEqualMixing>,
}

/// What families pad where they mix as much as one row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AtEqualMixing {
    /// The row.
    pub(crate) strategy: String,
    /// Its mixing, per pair of batch-mates.
    pub(crate) mixing: f64,
    pub(crate) mixing_error: f64,
    /// Families that can mix as much, the least padding first.
    pub(crate) families: Vec<FamilyPadding>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FamilyPadding {
    pub(crate) family: String,
    pub(crate) padding_rate: f64,
}

/// Padding and mixing of one family as its parameter changes, from sorted to random.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FamilyCurve {
    pub(crate) family: String,
    pub(crate) parameter: String,
    pub(crate) points: Vec<CurvePoint>,
}

/// A measured point of a family.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CurvePoint {
    pub(crate) strategy: String,
    /// The parameter.
    pub(crate) value: f64,
    pub(crate) padding_rate: f64,
    pub(crate) mean_batch_padding_rate: f64,
    pub(crate) mean_batch_length: f64,
    /// Per pair of batch-mates; see [`Figures`](crate::Figures).
    pub(crate) mixing: f64,
    pub(crate) mixing_error: f64,
    pub(crate) mixing_per_sequence: f64,
    pub(crate) mixing_per_sequence_error: f64,
    pub(crate) effective_mates: f64,
}

/// How long ranks wait under one strategy, for every number of ranks that there are batches for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Idle {
    pub(crate) strategy: String,
    pub(crate) points: Vec<IdlePoint>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct IdlePoint {
    pub(crate) world_size: u32,
    pub(crate) idle_share: f64,
    pub(crate) idle_bound: f64,
}

/// The curves are measured on at most this many sequences.
const CURVE_SEQUENCES: usize = 10_000;
/// Ladders are compared on at most this many sequences.
const RUNGS_SEQUENCES: usize = 100_000;
/// Numbers of rungs that are compared, and the one that is recommended.
const RUNGS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Places on the picture of an order.
const ORDER_PLACES: usize = 1000;
/// Batches in a picture, and the most sequences of each that are drawn.
const SHOWN: (usize, usize) = (8, 64);
/// More batch lengths than this cannot be told apart on an axis.
const MOST_RULES: usize = 40;
/// Intervals of the histogram.
const BINS: u32 = 80;

impl Study {
    /// Compares the strategies, and measures and samples all that is drawn. `on_start` is told what
    /// comes next.
    pub fn run(
        request: &Request,
        command: &str,
        mut on_start: impl FnMut(&str),
    ) -> Result<Self, Error> {
        let comparison =
            Comparison::run(request, |strategy| on_start(&format!("planning {strategy}")))?;
        Self::around(comparison, request, command, on_start)
    }

    /// Measures and samples all that is drawn beside a comparison that was made of this request.
    pub fn around(
        comparison: Comparison,
        request: &Request,
        command: &str,
        mut on_start: impl FnMut(&str),
    ) -> Result<Self, Error> {
        let ways = Ways { comparison: &comparison, request };
        let (mut pictures, mut orders) = (Vec::new(), Vec::new());
        let mut few = None;
        for row in &comparison.rows {
            on_start(&format!("batches of {}", row.label()));
            let plan = ways.plan(row)?;
            if row.recommended {
                let lengths: BTreeSet<u32> = plan.batch_lengths().iter().copied().collect();
                few = (lengths.len() <= MOST_RULES).then(|| lengths.into_iter().collect());
            } else if request.papers {
                orders.push(Order::new(request, &row.strategy)?);
            }
            pictures.push(Picture::new(request.lengths, row.label(), &plan));
        }
        let mut idle = Vec::new();
        for row in three(&comparison) {
            on_start(&format!("ranks under {}", row.label()));
            idle.push(Idle::new(request, row.label(), |ranks| ways.planner(row, ranks))?);
        }
        on_start("ladders");
        let lengths = Distribution::new(request, few);
        let rungs = Rungs::new(&ways)?;
        let curves = |family: &str| on_start(&format!("curve of {family}"));
        let frontier = Frontier::new(request, &comparison, curves)?;
        let (command, papers) = (command.to_owned(), request.papers);
        Ok(Self { comparison, command, lengths, rungs, pictures, frontier, idle, orders, papers })
    }

    /// The study as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The rows whose waiting is drawn: what is recommended, random batches, and the least padding of the others.
fn three(comparison: &Comparison) -> Vec<&Row> {
    let rows = || comparison.rows.iter();
    let mut chosen: Vec<&Row> = rows().filter(|row| row.recommended).collect();
    chosen.extend(rows().find(|row| !row.recommended && row.strategy == "shuffled"));
    let mut others: Vec<&Row> =
        rows().filter(|row| !chosen.iter().any(|&chosen| std::ptr::eq(chosen, *row))).collect();
    others.sort_by(|a, b| a.mean.padding_rate.total_cmp(&b.mean.padding_rate));
    chosen.extend(others.into_iter().take(3 - chosen.len()));
    chosen
}

/// How the plans of rows are made.
struct Ways<'a> {
    comparison: &'a Comparison,
    request: &'a Request<'a>,
}

impl Ways<'_> {
    /// The planner of a row for so many ranks.
    fn planner(&self, row: &Row, ranks: u32) -> Result<Planner<Strategy>, Error> {
        match self.recommended()?.filter(|_| row.recommended) {
            None => Ok(self.request.planner(&row.strategy.parse()?, ranks)),
            Some((strategy, settings)) => {
                // With as much data of each rank in a step as now.
                let world_size = u64::from(self.request.world_size);
                let scaled = |data: u64| (data * u64::from(ranks) / world_size).max(1);
                let update = settings.update.map(|update| match update {
                    Update::Tokens(tokens) => Update::Tokens(scaled(tokens)),
                    Update::Sequences(sequences) => Update::Sequences(scaled(sequences)),
                    other => other,
                });
                let settings = Settings { update, canonical_ranks: None, ..settings };
                Ok(Planner::with(strategy, settings).for_ranks(ranks))
            }
        }
    }

    /// The strategy that is recommended, and the settings of its plans.
    fn recommended(&self) -> Result<Option<(Strategy, Settings)>, Error> {
        let Some(recommended) = &self.comparison.recommended else { return Ok(None) };
        let settings = recommended.settings(&self.request.settings)?;
        Ok(Some((settings.strategy.parse()?, settings)))
    }

    /// The first epoch of a row, as its ranks get it.
    fn plan(&self, row: &Row) -> Result<Plan, Error> {
        let ranks = self.request.world_size;
        let plan = self.planner(row, ranks)?.plan(self.request.lengths, 0)?;
        as_ranks_get_it(plan, ranks)
    }
}

/// Batches may be broken up, repeated or dropped where ranks share them.
fn as_ranks_get_it(plan: Plan, ranks: u32) -> Result<Plan, Error> {
    let schedule = plan.schedule(ranks)?;
    let alone = ranks == 1 && schedule.accumulate() == 1;
    Ok(if alone { plan } else { schedule.all_ranks() })
}

impl Distribution {
    /// With the few batch lengths of what is recommended, or else those of a ladder.
    fn new(request: &Request, few: Option<Vec<u32>>) -> Self {
        let lengths = request.lengths;
        let (bins, logarithmic) = bins(lengths, BINS);
        // Rows that several sequences share can be longer than any of them.
        let few = few.filter(|few| few.iter().any(|&length| length <= lengths.max()));
        let recommended = few.is_some();
        let ladder = few.unwrap_or_else(|| match &request.settings.shapes {
            Shapes::Rungs(rungs) => rungs.clone(),
            Shapes::Ladder(count) => ladder(lengths, *count),
            _ => ladder(lengths, 8),
        });
        Self { bins, logarithmic, ladder, recommended }
    }
}

impl Rungs {
    fn new(ways: &Ways) -> Result<Self, Error> {
        let request = ways.request;
        let own = ways.recommended()?.and_then(|(strategy, settings)| match settings.shapes {
            Shapes::Ladder(count) if !matches!(strategy, Strategy::Packed(_)) => {
                Some((strategy, settings, Some(count)))
            }
            _ => None,
        });
        let random = || -> Result<_, Error> {
            Ok(("shuffled".parse::<Strategy>()?, request.settings.clone(), None))
        };
        let (strategy, settings, recommended) = own.map_or_else(random, Ok)?;
        // A sample has no groups and kinds.
        let settings = Settings { share: Together::Batch, mix: None, ..settings };
        let lengths = sampled(request.lengths, RUNGS_SEQUENCES, settings.seed)?;
        let distinct = lengths.histogram().len() as u32;
        let counts: BTreeSet<u32> = RUNGS.into_iter().chain(recommended).collect();
        let mut points = Vec::new();
        for rungs in counts.into_iter().filter(|&rungs| rungs <= distinct.max(1)) {
            let settings = Settings { shapes: Shapes::Ladder(rungs), ..settings.clone() };
            let planner = Planner::with(strategy.clone(), settings).for_ranks(request.world_size);
            let made = planner.plan(&lengths, 0);
            // Not every ladder goes with every budget and with few batches.
            let Ok(plan) = made.and_then(|plan| as_ranks_get_it(plan, request.world_size)) else {
                continue;
            };
            let measures = plan.measure(&lengths);
            let (padding_rate, shapes) = (measures.padding_rate, measures.shapes);
            points.push(RungsPoint { rungs, padding_rate, shapes });
        }
        Ok(Self { strategy: strategy.to_string(), recommended, points })
    }
}

/// The share of cells, of so many, that do not hold data.
fn padding_of((cells, data): (u64, u64)) -> f64 {
    1.0 - data as f64 / cells.max(1) as f64
}

impl Picture {
    /// Consecutive batches that together pad most nearly as much as the whole plan.
    fn new(lengths: &Lengths, name: &str, plan: &Plan) -> Self {
        let packed = plan.is_packed();
        let batches = || plan.iter().zip(plan.batch_lengths());
        // What is cut off is not in the batch.
        let own = |sequence: u32, longest: u32| lengths.as_slice()[sequence as usize].min(longest);
        let sums: Vec<(u64, u64)> = batches()
            .map(|(batch, &batch_length)| {
                let rows = if packed { 1 } else { batch.len() as u64 };
                // A packed row is longer than each of its sequences.
                let data = batch.iter().map(|&sequence| u64::from(own(sequence, batch_length)));
                (rows * u64::from(batch_length), data.sum())
            })
            .collect();
        let sum = |some: &[(u64, u64)]| some.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let (whole, shown) = (padding_of(sum(&sums)), SHOWN.0.min(sums.len()).max(1));
        let away = |some: &[(u64, u64)]| (padding_of(sum(some)) - whole).abs();
        let windows = sums.windows(shown).map(away).enumerate();
        let first = windows.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(first, _)| first);
        let drawn = batches().zip(&sums).skip(first).take(shown);
        let drawn = drawn.map(|((batch, &batch_length), &(cells, data))| {
            let own = batch.iter().map(|&sequence| own(sequence, batch_length));
            let mut own: Vec<u32> = own.collect();
            own.sort_unstable_by(|a, b| b.cmp(a));
            let places = own.len().min(SHOWN.1);
            let lengths = (0..places).map(|place| own[place * own.len() / places]).collect();
            SampleBatch { batch_length, sequences: batch.len(), cells, data, packed, lengths }
        });
        let (strategy, batches) = (name.to_owned(), drawn.collect());
        Self { strategy, of: sums.len(), first, padding_rate: whole, batches }
    }
}

impl Order {
    fn new(request: &Request, strategy: &str) -> Result<Self, Error> {
        // Some strategies plan no groups that share a rank; their order is the same.
        let share = Together::Batch;
        let settings = Settings { arrange: Arrange::AsBuilt, share, ..request.settings.clone() };
        let plan =
            Planner::with(strategy.parse::<Strategy>()?, settings).plan(request.lengths, 0)?;
        let indices = plan.indices();
        let places = indices.len().min(ORDER_PLACES);
        let order = (0..places).map(|place| indices[place * indices.len() / places]);
        let order = order.map(|sequence| request.lengths.as_slice()[sequence as usize]).collect();
        Ok(Self { strategy: strategy.to_owned(), order })
    }
}

/// So many sequences at random, or all.
fn sampled(lengths: &Lengths, count: usize, seed: u64) -> Result<Lengths, Error> {
    if lengths.len() <= count {
        return Ok(lengths.clone());
    }
    let words = Rng::new(seed, 0).words(Purpose::Own(0xF16), lengths.len() as u32);
    let all = lengths.as_slice().iter().copied();
    let mut drawn: Vec<(u32, u32, usize)> =
        words.zip(all).zip(0..).map(|((word, length), at)| (word, length, at)).collect();
    drawn.select_nth_unstable(count);
    drawn.truncate(count);
    drawn.sort_unstable();
    let of = |side: &Lengths| {
        Lengths::new(drawn.iter().map(|&(.., at)| side.as_slice()[at]).collect::<Vec<_>>())
    };
    match lengths.second() {
        None => of(lengths),
        Some(second) => Ok(Pairs::new(of(lengths)?, of(second)?)?.into()),
    }
}

impl Frontier {
    fn new(
        request: &Request,
        comparison: &Comparison,
        mut on_start: impl FnMut(&str),
    ) -> Result<Self, Error> {
        let lengths = sampled(request.lengths, CURVE_SEQUENCES, request.settings.seed)?;
        // A sample of a heavy tail can miss the longest; the budget has room for all of it anyway.
        let Settings { budget, ref shapes, seed, .. } = request.settings;
        let conditions = Conditions { budget, shapes: shapes.clone(), seed, cost_model: None };
        let curves = frontier(&lengths, &conditions, 9, 3, |family| on_start(family.name()));
        let curves = curves.or_else(|error| match error.kind() {
            // Sequences over the budget: the curves have nothing to say about them.
            ErrorKind::Budget => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let at_equal_mixing = AtEqualMixing::new(comparison, &curves);
        let curves = curves.iter().map(FamilyCurve::new).collect();
        Ok(Self { sequences: lengths.len(), curves, at_equal_mixing })
    }
}

impl AtEqualMixing {
    /// By the mixing of what is recommended, or else of `blurred`.
    fn new(comparison: &Comparison, curves: &[Curve]) -> Option<Self> {
        let rows = || comparison.rows.iter();
        let row = rows().find(|row| row.recommended);
        let row = row.or_else(|| rows().find(|row| row.strategy.starts_with("blurred")))?;
        let (mixing, mixing_error) = row.mean.mixing.zip(row.mean.mixing_error)?;
        let mut families: Vec<FamilyPadding> = curves
            .iter()
            .filter_map(|curve| {
                let padding_rate = curve.padding_at(mixing, Per::Pair)?;
                Some(FamilyPadding { family: curve.family.name().to_owned(), padding_rate })
            })
            .collect();
        families.sort_by(|a, b| a.padding_rate.total_cmp(&b.padding_rate));
        let strategy = row.label().to_owned();
        (!families.is_empty()).then_some(Self { strategy, mixing, mixing_error, families })
    }
}

impl FamilyCurve {
    fn new(curve: &Curve) -> Self {
        let parts = |text: &str| {
            let (_, parameter) = text.split_once(':').unwrap_or_default();
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            (name.to_owned(), value.parse().unwrap_or_default())
        };
        let points = curve.points.iter().map(|point| {
            let strategy = point.strategy.to_string();
            CurvePoint {
                value: parts(&strategy).1,
                strategy,
                padding_rate: point.padding_rate,
                mean_batch_padding_rate: point.mean_batch_padding_rate,
                mean_batch_length: point.mean_batch_length,
                mixing: point.mixing.per_pair,
                mixing_error: point.mixing.per_pair_error,
                mixing_per_sequence: point.mixing.per_sequence,
                mixing_per_sequence_error: point.mixing.per_sequence_error,
                effective_mates: point.effective_mates,
            }
        });
        let points: Vec<CurvePoint> = points.collect();
        let parameter = points.first().map_or_else(String::new, |point| parts(&point.strategy).0);
        Self { family: curve.family.name().to_owned(), parameter, points }
    }
}

impl Idle {
    fn new(
        request: &Request,
        name: &str,
        planner: impl Fn(u32) -> Result<Planner<Strategy>, Error>,
    ) -> Result<Self, Error> {
        let plan = |ranks: u32| planner(ranks)?.plan(request.lengths, 0);
        // Only steps that the plan itself is made of depend on the number of ranks.
        let made_for_ranks = planner(1)?.plans_steps();
        let mut made = plan(1);
        let mut points = Vec::new();
        for world_size in (0..=10).map(|power| 1_u32 << power) {
            if made_for_ranks && world_size > 1 {
                made = plan(world_size);
            }
            let plan = match &made {
                Ok(plan) => plan,
                // Steps of so few ranks cannot be made of these micro-batches.
                Err(_) if made_for_ranks => continue,
                Err(error) => return Err(error.clone()),
            };
            let places = u64::from(world_size) * u64::from(request.settings.accumulate);
            if 2 * places > plan.len() as u64 && world_size > 1 {
                break;
            }
            let schedule = plan.schedule(world_size)?;
            let (idle_share, idle_bound) = (schedule.idle_share(), schedule.idle_bound());
            points.push(IdlePoint { world_size, idle_share, idle_bound });
        }
        Ok(Self { strategy: name.to_owned(), points })
    }
}
