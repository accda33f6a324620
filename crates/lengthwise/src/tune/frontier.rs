//! The curve of every family of strategies.

use crate::{
    base::workspace::Workspace,
    data::lengths::Lengths,
    error::Error,
    tune::{
        conditions::{Conditions, Point, batch_count},
        family::Family,
    },
};

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
