//! All that a report shows besides the table: lengths, orders, batches, curves and waiting.

use lengthwise::{
    Arrange, Budget, Error, ErrorKind, Lengths, Pairs, Plan, Planner, Settings, Shapes, Strategy,
    Update,
    custom::{Purpose, Rng},
    ladder,
    strategy::{Alternated, Bucketed, Pooled},
    tune::{Conditions, Curve, frontier},
};
use serde::Serialize;

use crate::compare::{Comparison, Request};
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
    /// What each strategy does, in the order of the rows.
    pub(crate) pictures: Vec<Picture>,
    pub(crate) frontier: Frontier,
    /// Waiting against the number of ranks, in the order of the rows.
    pub(crate) idle: Vec<Idle>,
}

/// How the lengths are distributed, and what batch lengths suit them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Distribution {
    pub(crate) bins: Vec<Bin>,
    /// Whether the intervals grow with the lengths, because of a long tail.
    pub(crate) logarithmic: bool,
    /// The ladder of these settings, or one of 8 rungs.
    pub(crate) ladder: Vec<u32>,
    /// Where the 6 optimal buckets of paper 3 end.
    pub(crate) buckets: Vec<u32>,
}

/// What one strategy does.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Picture {
    pub(crate) strategy: String,
    /// Lengths by place in the epoch as built, at evenly spaced places.
    pub(crate) order: Vec<u32>,
    /// The strategy of the few sequences: fewer bins or smaller pools, so that there are several.
    pub(crate) sample_strategy: String,
    /// A few sequences in batches, in several epochs.
    pub(crate) epochs: Vec<Vec<SampleBatch>>,
}

/// A batch of sampled sequences.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SampleBatch {
    pub(crate) batch_length: u32,
    /// Whether its sequences share one row, one after another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) packed: bool,
    /// The number of each in the sample, and its length.
    pub(crate) sequences: Vec<(u32, u32)>,
}

/// Padding against mixing for every family of strategies.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Frontier {
    /// How many sequences the curves were measured on: all, or so many at random.
    pub(crate) sequences: usize,
    pub(crate) curves: Vec<FamilyCurve>,
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
/// Places on the picture of an order.
const ORDER_PLACES: usize = 1000;
/// Sequences, their batch size and the epochs in the picture of batches: those of paper 2.
const SAMPLE: (usize, u32, u64) = (48, 8, 3);
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
        let mut pictures = Vec::new();
        let mut idle = Vec::new();
        for strategy in request.strategies {
            on_start(&format!("ranks under {strategy}"));
            pictures.push(Picture::new(request, strategy)?);
            let planner = |ranks| request.planner(strategy, ranks);
            idle.push(Idle::new(request, &strategy.to_string(), planner)?);
        }
        if let Some(recommended) = &comparison.recommended {
            let settings = recommended.settings(&request.settings)?;
            let strategy: Strategy = settings.strategy.parse()?;
            // With as much data of each rank in a step as now.
            let planner = |ranks: u32| {
                let scaled =
                    |data: u64| (data * u64::from(ranks) / u64::from(request.world_size)).max(1);
                let update = settings.update.map(|update| match update {
                    Update::Tokens(tokens) => Update::Tokens(scaled(tokens)),
                    Update::Sequences(sequences) => Update::Sequences(scaled(sequences)),
                    other => other,
                });
                let settings = Settings { update, canonical_ranks: None, ..settings.clone() };
                Planner::with(strategy.clone(), settings).for_ranks(ranks)
            };
            idle.push(Idle::new(request, "recommended", planner)?);
        }
        let lengths = Distribution::new(request);
        let frontier = Frontier::new(request, |family| on_start(&format!("curve of {family}")))?;
        let command = command.to_owned();
        Ok(Self { comparison, command, lengths, pictures, frontier, idle })
    }

    /// The study as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl Distribution {
    fn new(request: &Request) -> Self {
        let lengths = request.lengths;
        let (bins, logarithmic) = bins(lengths, BINS);
        let rungs = match &request.settings.shapes {
            Shapes::Rungs(rungs) => rungs.clone(),
            Shapes::Ladder(count) => ladder(lengths, *count),
            _ => ladder(lengths, 8),
        };
        Self { bins, logarithmic, ladder: rungs, buckets: ladder(lengths, 6) }
    }
}

impl Picture {
    fn new(request: &Request, strategy: &Strategy) -> Result<Self, Error> {
        let (lengths, seed) = (request.lengths, request.settings.seed);
        let built = |strategy: &Strategy, budget| {
            Planner::new(strategy.clone(), budget).arrange(Arrange::AsBuilt).seed(seed)
        };
        let plan = built(strategy, request.settings.budget)
            .shapes(request.settings.shapes.clone())
            .over_long(request.settings.over_long)
            .plan(lengths, 0)?;
        let indices = plan.indices();
        let places = indices.len().min(ORDER_PLACES);
        let order = (0..places).map(|place| indices[place * indices.len() / places]);
        let order = order.map(|sequence| lengths.as_slice()[sequence as usize]).collect();

        let (count, size, epochs) = SAMPLE;
        let sample = sampled(lengths, count, seed)?;
        let budget = match request.settings.budget.to_string() {
            budget if budget.starts_with("sequences") => Budget::sequences(size),
            _ => Budget::dynamic(size),
        };
        let small = scaled(strategy, lengths.len(), sample.len());
        let planner = built(&small, budget).over_long(request.settings.over_long);
        let own = |&sequence: &u32| (sequence, sample.as_slice()[sequence as usize]);
        let batches = |plan: Plan| {
            let batch = |(batch, &batch_length): (&[u32], &u32)| {
                let (packed, sequences) = (plan.is_packed(), batch.iter().map(own).collect());
                SampleBatch { batch_length, packed, sequences }
            };
            plan.iter().zip(plan.batch_lengths()).map(batch).collect()
        };
        let epochs = (0..epochs).map(|epoch| planner.plan(&sample, epoch).map(batches));
        let epochs = epochs.collect::<Result<_, Error>>()?;
        let (strategy, sample_strategy) = (strategy.to_string(), small.to_string());
        Ok(Self { strategy, order, sample_strategy, epochs })
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

/// The same strategy for fewer sequences: what counts bins, sequences or batches counts fewer.
fn scaled(strategy: &Strategy, from: usize, to: usize) -> Strategy {
    let fewer = |count: u32, least: u32, most: u32| {
        let scaled = f64::from(count) * to as f64 / from as f64;
        (scaled.round() as u32).clamp(least, most.max(least))
    };
    let size = SAMPLE.1;
    match strategy {
        Strategy::Alternated(Alternated { bins }) => {
            Alternated { bins: fewer(*bins, 2.min(*bins), 6) }.into()
        }
        Strategy::Bucketed(Bucketed { size: bucket }) => {
            Bucketed { size: fewer(*bucket, 2 * size, 6 * size) }.into()
        }
        Strategy::Pooled(Pooled { batches }) => {
            Pooled { batches: fewer(*batches, 3.min(*batches), 6) }.into()
        }
        other => other.clone(),
    }
}

impl Frontier {
    fn new(request: &Request, mut on_start: impl FnMut(&str)) -> Result<Self, Error> {
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
        let curves = curves.iter().map(FamilyCurve::new).collect();
        Ok(Self { sequences: lengths.len(), curves })
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
        planner: impl Fn(u32) -> Planner<Strategy>,
    ) -> Result<Self, Error> {
        let plan = |ranks: u32| planner(ranks).plan(request.lengths, 0);
        // Only steps that the plan itself is made of depend on the number of ranks.
        let made_for_ranks = planner(1).plans_steps();
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
