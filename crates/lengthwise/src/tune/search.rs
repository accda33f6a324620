//! The best strategy within the user's limits.

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::planner::Planner;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::blurred::Blurred;
use crate::strategy::paired::Paired;
use crate::strategy::shuffled::Shuffled;
use crate::strategy::sorted::Sorted;
use crate::tune::family::{Conditions, Family, Point, batch_count};

/// What a plan must keep. Without any limit the freshest is chosen that the shapes allow; with a cost
/// model and no other limit, the freshest that takes at most 2 % longer than sorted batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// At most this padding rate.
    pub max_padding: Option<f64>,
    /// At least this many effective mates.
    pub min_mates: Option<f64>,
    /// At most this many different shapes.
    pub max_shapes: Option<u32>,
    /// At most this many seconds an epoch, by the cost model of the conditions.
    pub max_seconds: Option<f64>,
}

/// What was chosen, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The strategy, as measured on epochs that the search had not seen.
    pub best: Point,
    /// The shapes that go with it.
    pub shapes: Shapes,
    /// The best point of every family within the limits, and of random batches; the chosen one too.
    pub candidates: Vec<Point>,
    /// All other points that were measured on the way.
    pub searched: Vec<Point>,
    /// Whether the choice keeps all limits; if not, it comes nearest.
    pub within_limits: bool,
}

/// The shapes to use where nothing is said about them: a ladder of 16 rungs, or of as many as there
/// are batches if they are fewer. Few shapes, because on today's accelerators new shapes cost more
/// than the padding that they save. On a ladder random order is freshest, and pads no more than any
/// other.
///
/// ```
/// use lengthwise::{Budget, Example, Shapes, tune::recommended_shapes};
///
/// let lengths = Example::Speech.lengths();
/// assert_eq!(recommended_shapes(&lengths, Budget::dynamic(16))?, Shapes::Ladder(16));
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn recommended_shapes(lengths: &Lengths, budget: Budget) -> Result<Shapes, Error> {
    shapes_in(&Workspace::new(), lengths, budget)
}

fn shapes_in(workspace: &Workspace, lengths: &Lengths, budget: Budget) -> Result<Shapes, Error> {
    const MOST: usize = 16;
    let planner = Planner::new(Sorted, budget).over_long(OverLong::Alone);
    if let Some(all) = lengths.part() {
        // As many as a plan of the whole would have, or as far as a sample of it shows.
        let sample = Lengths::new(all.sample(SAMPLE))?;
        let times = all.count() / sample.len();
        return Ok(Shapes::Ladder((planner.plan(&sample, 0)?.len() * times).min(MOST) as u32));
    }
    // Where it is certain that there are enough, they need not be made.
    let batches = match planner.job(lengths, workspace).least_batches()? {
        certain if certain >= MOST as u64 => MOST,
        _ => planner.job(lengths, workspace).sorted_batches(MOST)?,
    };
    Ok(Shapes::Ladder(batches as u32))
}

/// The strategy and the shapes to use where one or both are not given: the
/// [recommended shapes](recommended_shapes), and on a ladder random order; exact shapes where a
/// strategy is given; and where shapes are free `blurred`, which pads least for the company it gives.
/// Sequences of two lengths are `paired`, with exact shapes.
///
/// ```
/// use lengthwise::{Budget, Example, Shapes, tune::recommended};
///
/// let lengths = Example::Speech.lengths();
/// let (strategy, shapes) = recommended(&lengths, Budget::dynamic(16), None, None)?;
/// assert_eq!((strategy.to_string(), shapes), ("shuffled".to_owned(), Shapes::Ladder(16)));
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn recommended(
    lengths: &Lengths,
    budget: Budget,
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
) -> Result<(Strategy, Shapes), Error> {
    recommended_in(&Workspace::new(), lengths, budget, strategy, shapes)
}

/// The same, found with the threads and the memory of a workspace.
pub fn recommended_in(
    workspace: &Workspace,
    lengths: &Lengths,
    budget: Budget,
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
) -> Result<(Strategy, Shapes), Error> {
    let shapes = match (shapes, &strategy) {
        (Some(shapes), _) => shapes,
        (None, Some(_)) => Shapes::Exact,
        (None, None) if lengths.second().is_some() => Shapes::Exact,
        (None, None) => shapes_in(workspace, lengths, budget)?,
    };
    let strategy = strategy.unwrap_or_else(|| match shapes {
        _ if lengths.second().is_some() => Paired::default().into(),
        Shapes::Ladder(_) | Shapes::Rungs(_) => Shuffled.into(),
        _ => Blurred::default().into(),
    });
    Ok((strategy, shapes))
}

/// So many sequences show how many batches a corpus has, if these are few.
const SAMPLE: usize = 1 << 18;

/// How far below its limit a measured padding rate may stay, as a share of the limit.
const TOLERANCE: f64 = 0.01;
/// Batches of one measurement, at least: a few epochs where there are few batches.
const BATCHES: usize = 1500;

/// Finds the freshest strategy within the limits on padding and shapes; where only company is
/// limited, the one that pads least for it, or takes the least time if there is a cost model.
pub fn tune(lengths: &Lengths, conditions: &Conditions, limits: Limits) -> Result<Choice, Error> {
    tune_in(&Workspace::new(), lengths, conditions, limits)
}

/// The same with the threads and the memory of a workspace, which can
/// [stop it](Workspace::stopped_by).
pub fn tune_in(
    workspace: &Workspace,
    lengths: &Lengths,
    conditions: &Conditions,
    limits: Limits,
) -> Result<Choice, Error> {
    lengths.only_one("tuning")?;
    let mut limits = limits;
    if limits == Limits::default() && conditions.cost_model.is_some() {
        // Hardly slower than it can be, and as fresh as that allows.
        let sorted = conditions.measure_in(workspace, Sorted.into(), lengths, 0, 2)?;
        limits.max_seconds = sorted.seconds.map(|seconds| 1.02 * seconds);
    }
    let conditions = match limits.max_shapes {
        Some(most) => with_few_shapes(workspace, lengths, conditions, most, limits)?,
        None => conditions.clone(),
    };
    let target = match limits.min_mates {
        _ if limits.max_padding.is_some() || limits.max_seconds.is_some() => Target::Limits(limits),
        Some(mates) => Target::Mates(mates),
        None => Target::Freshest,
    };
    let batches = batch_count(workspace, lengths, &conditions)?;
    let epochs = (BATCHES / batches.max(1)).clamp(2, 10) as u64;
    let mut searched = Vec::new();
    let mut candidates = Vec::new();
    for family in Family::ALL {
        let at = |knob: f64| {
            let strategy = family.at(knob, lengths, batches);
            conditions.measure_in(workspace, strategy, lengths, 0, epochs)
        };
        candidates.push(search(at, target, &mut searched)?);
    }
    let shuffled = conditions.measure_in(workspace, Shuffled.into(), lengths, 0, epochs)?;
    candidates.push(shuffled.clone());
    let order = |a: &&Point, b: &&Point| {
        let order = limits.shortfall(a).partial_cmp(&limits.shortfall(b));
        order.unwrap_or(std::cmp::Ordering::Equal)
    };
    let mut best = candidates.iter().min_by(order).unwrap_or(&shuffled);
    // Company is measured with an error of a few in a hundred: as good as random is called random.
    let as_good = shuffled.effective_mates >= 0.9 * best.effective_mates
        && shuffled.padding_rate <= 1.01 * best.padding_rate;
    if as_good {
        best = &shuffled;
    }
    let best =
        conditions.measure_in(workspace, best.strategy.clone(), lengths, 1000, epochs + 2)?;
    let within_limits = limits.keeps(&best);
    Ok(Choice { best, shapes: conditions.shapes, candidates, searched, within_limits })
}

impl Limits {
    /// The manual page of tuning, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("tune.md")
    }

    /// How much of its limits on padding and time a point uses up: of the one it uses most.
    fn share(&self, point: &Point) -> f64 {
        let of = |value: f64, most: Option<f64>| most.map_or(0.0, |most| value / most);
        let seconds = point.seconds.unwrap_or(0.0);
        of(point.padding_rate, self.max_padding).max(of(seconds, self.max_seconds))
    }

    /// Whether a point keeps the limits on padding and company. Padding is random, and may be over
    /// its limit by as much as a search stays below it.
    fn keeps(&self, point: &Point) -> bool {
        self.share(point) <= 1.0 + TOLERANCE
            && self.min_mates.is_none_or(|least| point.effective_mates >= least * (1.0 - 0.05))
    }

    /// What makes a point worse than another: first the limits that it breaks and by how much, then
    /// less company where padding is limited or nothing is, else more padding.
    fn shortfall(&self, point: &Point) -> (f64, f64) {
        let over = |share: f64| (share - 1.0 - TOLERANCE).max(0.0);
        let missing = self.min_mates.map_or(0.0, |least| least / (1.05 * point.effective_mates));
        let broken = over(self.share(point)) + over(missing);
        let rank = match (self.max_padding.or(self.max_seconds), self.min_mates) {
            (None, Some(_)) => point.seconds.unwrap_or(point.padding_rate),
            _ => -point.effective_mates,
        };
        (broken, rank)
    }
}

/// A ladder that keeps the number of shapes: of as few rungs as the limits on padding and time allow (they
/// are freshest), and without such limits of as many as company allows (they pad least).
fn with_few_shapes(
    workspace: &Workspace,
    lengths: &Lengths,
    conditions: &Conditions,
    most: u32,
    limits: Limits,
) -> Result<Conditions, Error> {
    let on = |rungs: u32| Conditions { shapes: Shapes::Ladder(rungs), ..conditions.clone() };
    // On a ladder shapes and padding follow from the lengths alone, and random order is freshest.
    let at = |rungs: u32| on(rungs).measure_in(workspace, Shuffled.into(), lengths, 0, 2);
    let limited = limits.max_padding.is_some() || limits.max_seconds.is_some();
    let suits = |point: &Point| {
        point.shapes <= f64::from(most)
            && (limited || limits.min_mates.is_none_or(|least| point.effective_mates >= least))
    };
    // The most rungs that suit; what is left over makes the number of shapes uneven.
    let mut rungs = most;
    while rungs > 1 && !suits(&at(rungs)?) {
        rungs -= (rungs / 16).max(1);
    }
    if limited {
        let (mut low, mut high) = (1, rungs);
        while low < high {
            let middle = low + (high - low) / 2;
            if limits.share(&at(middle)?) <= 1.0 { high = middle } else { low = middle + 1 }
        }
        rungs = high;
    }
    Ok(on(rungs))
}

#[derive(Clone, Copy)]
enum Target {
    /// As near to the limits on padding and time as can be.
    Limits(Limits),
    Mates(f64),
    Freshest,
}

/// The search for the place of one family's knob where its curve meets the target; `at` measures a place.
fn search(
    at: impl Fn(f64) -> Result<Point, Error>,
    target: Target,
    searched: &mut Vec<Point>,
) -> Result<Point, Error> {
    let share: Box<dyn Fn(&Point) -> f64> = match target {
        Target::Freshest => return at(1.0),
        Target::Limits(limits) => Box::new(move |point: &Point| limits.share(point)),
        Target::Mates(mates) => Box::new(move |point: &Point| point.effective_mates / mates),
    };
    // How far a point is above the target, on a logarithmic scale; the curve rises.
    let above = |point: &Point| share(point).max(1e-9).ln();
    let (mut low, mut high) = ((0.0, at(0.0)?), (1.0, at(1.0)?));
    if above(&high.1) <= 0.0 {
        searched.push(low.1);
        return Ok(high.1);
    }
    if above(&low.1) > 0.0 {
        searched.push(high.1);
        return Ok(low.1);
    }
    // In turn where a straight line meets the target, and the middle, because curves bend.
    for step in 0..24 {
        let (from_low, from_high) = (above(&low.1), above(&high.1));
        let share = if step % 2 == 1 { 0.5 } else { from_low / (from_low - from_high) };
        let knob = low.0 + (high.0 - low.0) * share.clamp(0.02, 0.98);
        let point = at(knob)?;
        let end = if above(&point) <= 0.0 { &mut low } else { &mut high };
        searched.push(std::mem::replace(end, (knob, point)).1);
        let near = match target {
            Target::Mates(_) => (0.0..TOLERANCE).contains(&above(&high.1)),
            _ => (-TOLERANCE..=0.0).contains(&above(&low.1)),
        };
        // Rounded, the parameter may have no value between.
        if near || low.1.strategy == high.1.strategy || high.0 - low.0 < 1e-4 {
            break;
        }
    }
    // At most the padding, at least the mates.
    let (chosen, other) = match target {
        Target::Mates(_) => (high.1, low.1),
        _ => (low.1, high.1),
    };
    searched.push(other);
    Ok(chosen)
}
