//! The best strategy within the user's limits.

use super::{Conditions, Family, Point, batch_count};
use crate::{Error, Lengths, Shapes, Shuffled};

/// What a plan must keep. Without any limit the recommended default is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// At most this padding rate.
    pub max_padding: Option<f64>,
    /// At least this many effective mates.
    pub min_mates: Option<f64>,
    /// At most this many different shapes.
    pub max_shapes: Option<u32>,
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

/// Without limits: few shapes, because on today's accelerators new shapes cost more than the padding
/// that they save.
const RECOMMENDED_SHAPES: Shapes = Shapes::Ladder(16);

/// How far below its limit a measured padding rate may stay, as a share of the limit.
const TOLERANCE: f64 = 0.01;
/// Epochs of one measurement.
const EPOCHS: u64 = 2;

/// Finds the freshest strategy within the limits on padding and shapes; where only company is
/// limited, the one that pads least for it.
pub fn tune(lengths: &Lengths, conditions: &Conditions, limits: Limits) -> Result<Choice, Error> {
    let conditions = match limits.max_shapes {
        Some(most) => with_few_shapes(lengths, conditions, most)?,
        None if limits == Limits::default() => {
            Conditions { shapes: RECOMMENDED_SHAPES, ..conditions.clone() }
        }
        None => conditions.clone(),
    };
    let target = match limits {
        Limits { max_padding: Some(padding), .. } => Target::Padding(padding),
        Limits { min_mates: Some(mates), .. } => Target::Mates(mates),
        _ => Target::Freshest,
    };
    let batches = batch_count(lengths, &conditions)?;
    let mut searched = Vec::new();
    let mut candidates = Vec::new();
    for family in Family::ALL {
        let search = Search { family, lengths, conditions: &conditions, batches, target };
        candidates.extend(search.run(&mut searched)?);
    }
    let shuffled = conditions.measure(Shuffled.into(), lengths, 0, EPOCHS)?;
    candidates.push(shuffled.clone());
    let order = |a: &&Point, b: &&Point| {
        let (a, b) = (limits.shortfall(a), limits.shortfall(b));
        a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
    };
    let mut best = candidates.iter().min_by(order).unwrap_or(&shuffled);
    // Company is measured with an error of a few in a hundred. What is as good as random batches
    // should be called that.
    if limits.keeps(&shuffled) && shuffled.effective_mates >= 0.9 * best.effective_mates {
        best = &shuffled;
    }
    let best = conditions.measure(best.strategy.clone(), lengths, 1000, EPOCHS + 2)?;
    let within_limits = limits.keeps(&best);
    Ok(Choice { best, shapes: conditions.shapes, candidates, searched, within_limits })
}

impl Limits {
    /// Whether a point keeps the limits on padding and company. Padding is random, and may be over
    /// its limit by as much as a search stays below it.
    fn keeps(&self, point: &Point) -> bool {
        self.max_padding.is_none_or(|most| point.padding_rate <= most * (1.0 + TOLERANCE))
            && self.min_mates.is_none_or(|least| point.effective_mates >= least * (1.0 - 0.05))
    }

    /// What makes a point worse than another: first the limits that it breaks and by how much, then
    /// less company where padding is limited or nothing is, else more padding.
    fn shortfall(&self, point: &Point) -> (f64, f64) {
        let over = |value: f64, most: f64| (value / most - 1.0 - TOLERANCE).max(0.0);
        let broken = self.max_padding.map_or(0.0, |most| over(point.padding_rate, most))
            + self.min_mates.map_or(0.0, |least| over(least, point.effective_mates * 1.05));
        let rank = match (self.max_padding, self.min_mates) {
            (None, Some(_)) => point.padding_rate,
            _ => -point.effective_mates,
        };
        (broken, rank)
    }
}

/// A ladder of as many rungs as keep the number of shapes.
fn with_few_shapes(
    lengths: &Lengths,
    conditions: &Conditions,
    most: u32,
) -> Result<Conditions, Error> {
    let mut rungs = most.max(1);
    loop {
        let shapes = Shapes::Ladder(rungs);
        let conditions = Conditions { shapes, ..conditions.clone() };
        // The shapes of a ladder follow from the lengths alone: one plan tells.
        let found = conditions.measure(Shuffled.into(), lengths, 0, 2)?.shapes;
        if found <= f64::from(most) || rungs == 1 {
            return Ok(conditions);
        }
        rungs -= ((found - f64::from(most)) as u32 / 2).clamp(1, rungs - 1);
    }
}

#[derive(Clone, Copy)]
enum Target {
    Padding(f64),
    Mates(f64),
    Freshest,
}

/// The search for the place of one family's knob where its curve meets the target.
struct Search<'a> {
    family: Family,
    lengths: &'a Lengths,
    conditions: &'a Conditions,
    batches: usize,
    target: Target,
}

impl Search<'_> {
    fn run(&self, searched: &mut Vec<Point>) -> Result<Option<Point>, Error> {
        let at = |knob: f64| {
            let strategy = self.family.at(knob, self.lengths, self.batches);
            self.conditions.measure(strategy, self.lengths, 0, EPOCHS)
        };
        let (target, value): (f64, fn(&Point) -> f64) = match self.target {
            Target::Freshest => return at(1.0).map(Some),
            Target::Padding(padding) => (padding, |point| point.padding_rate),
            Target::Mates(mates) => (mates, |point| point.effective_mates),
        };
        // How far a point is above the target, on a logarithmic scale; the curve rises.
        let above = |point: &Point| (value(point).max(1e-9) / target).ln();
        let (mut low, mut high) = ((0.0, at(0.0)?), (1.0, at(1.0)?));
        if above(&high.1) <= 0.0 {
            searched.push(low.1);
            return Ok(Some(high.1));
        }
        if above(&low.1) > 0.0 {
            searched.push(high.1);
            return Ok(Some(low.1));
        }
        let (mut from_low, mut from_high) = (above(&low.1), above(&high.1));
        // In turn where a straight line between the two ends meets the target, and the middle,
        // because curves bend.
        for step in 0..24 {
            let share = if step % 2 == 1 { 0.5 } else { from_low / (from_low - from_high) };
            let knob = low.0 + (high.0 - low.0) * share.clamp(0.02, 0.98);
            let point = at(knob)?;
            let distance = above(&point);
            let (end, from_end) = if distance <= 0.0 {
                (&mut low, &mut from_low)
            } else {
                (&mut high, &mut from_high)
            };
            searched.push(std::mem::replace(end, (knob, point)).1);
            *from_end = distance;
            let near = match self.target {
                Target::Mates(_) => (0.0..TOLERANCE).contains(&from_high),
                _ => (-TOLERANCE..=0.0).contains(&from_low),
            };
            // Rounded, the parameter may have no value between.
            if near || low.1.strategy == high.1.strategy || high.0 - low.0 < 1e-4 {
                break;
            }
        }
        // At most the padding, at least the mates.
        let (chosen, other) = match self.target {
            Target::Mates(_) => (high.1, low.1),
            _ => (low.1, high.1),
        };
        searched.push(other);
        Ok(Some(chosen))
    }
}
