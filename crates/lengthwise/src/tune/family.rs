//! Strategies with one knob, from the least padding to the freshest company, and their curves.

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::math::digits;
use crate::strategy::Strategy;
use crate::strategy::alternated::Alternated;
use crate::strategy::blurred::Blurred;
use crate::strategy::bucketed::Bucketed;
use crate::strategy::length_buckets::LengthBuckets;
use crate::strategy::optimal_buckets::OptimalBuckets;
use crate::strategy::pooled::Pooled;
use crate::strategy::semi_sorted::SemiSorted;
use crate::tune::conditions::{Conditions, Point, batch_count};

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

    /// The strategy at `knob`, from 0 (sorted, or nearly) to 1 (random, or nearly), where there are
    /// about so many batches. The parameter goes up or down by equal factors, and is rounded to
    /// three digits.
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
