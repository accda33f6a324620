//! The limits of a recommended plan.

use crate::tune::offer::Offer;

/// The limits of a plan. A field that is `None` has no limit, except the step mix (at most 1: optimizer
/// steps as mixed as random ones) and mixing (at least 0.05).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// At most this padding rate.
    pub max_padding: Option<f64>,
    /// At least this mixing, from 0 to 1: how freely batch-mates change between epochs, where 1 is random
    /// shuffling.
    pub min_mixing: Option<f64>,
    /// At least this many effective mates.
    pub min_mates: Option<f64>,
    /// At most this many different shapes.
    pub max_shapes: Option<u32>,
    /// At most this step mix; infinite for no limit.
    pub max_step_mix: Option<f64>,
    /// At least this many optimizer steps an epoch.
    pub min_steps: Option<u64>,
    /// At most this many optimizer steps an epoch.
    pub max_steps: Option<u64>,
    /// At most this many seconds an epoch, by measured times.
    pub max_seconds: Option<f64>,
}

/// By how much random batches differ from epoch to epoch, as a share of a limit.
const TOLERANCE: f64 = 0.01;
/// Rows of a fixed number of tokens hold fewer sequences where these are long, which alone makes random rows
/// differ by a little more than steps of a fixed number of sequences.
const ROWS: f64 = 2.0;
/// The least mixing, if none is given.
const MIXING: f64 = 0.05;

impl Limits {
    /// The manual page of recommendations and their limits, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("tune.md")
    }

    /// Refuses limits that exclude nothing or everything. Returns the name of the limit, the given
    /// value, and what is expected.
    pub fn check(&self) -> Result<(), (&'static str, f64, &'static str)> {
        let outside =
            |given: Option<f64>, holds: fn(f64) -> bool| given.filter(|&given| !holds(given));
        for (name, wrong, expected) in [
            (
                "max_padding",
                outside(self.max_padding, |share| share > 0.0 && share < 1.0),
                "a share above 0 and below 1, such as 0.05",
            ),
            (
                "min_mixing",
                outside(self.min_mixing, |share| (0.0..=1.0).contains(&share)),
                "a share from 0 to 1",
            ),
            (
                "min_mates",
                outside(self.min_mates, |mates| mates >= 1.0 && mates.is_finite()),
                "a number from 1",
            ),
            (
                "max_step_mix",
                outside(self.max_step_mix, |mix| mix > 0.0),
                "a number above 0, or `inf` for any",
            ),
            (
                "max_seconds",
                outside(self.max_seconds, |seconds| seconds > 0.0 && seconds.is_finite()),
                "a number of seconds above 0",
            ),
        ] {
            if let Some(given) = wrong {
                return Err((name, given, expected));
            }
        }
        Ok(())
    }

    /// Which limits an offer breaks, and by which factor.
    pub(crate) fn broken(&self, offer: &Offer) -> Vec<(&'static str, f64)> {
        let over = |value: f64, most: Option<f64>| most.map_or(0.0, |most| value / most);
        let under = |value: f64, least: Option<f64>| least.map_or(0.0, |least| least / value);
        let steps = offer.optimizer_steps as f64;
        // The measured variation of few random steps is itself uncertain.
        let chance = 1.0 + 3.0 * (2.0 / offer.measured_steps.max(1) as f64).sqrt();
        let allowed = if offer.random { chance.max(ROWS) } else { 1.0 };
        let step_mix = self.max_step_mix.unwrap_or(1.0) * allowed;
        [
            ("padding", over(offer.padding_rate, self.max_padding)),
            (
                "mixing",
                under(
                    offer.mixing + offer.mixing_error,
                    Some(self.min_mixing.unwrap_or(self.least_mixing())),
                ),
            ),
            ("effective mates", under(offer.effective_mates, self.min_mates)),
            ("shapes", over(offer.shape_count, self.max_shapes.map(f64::from))),
            ("step mix", over(offer.step_mix, Some(step_mix))),
            ("optimizer steps", under(steps, self.min_steps.map(|steps| steps as f64))),
            ("optimizer steps", over(steps, self.max_steps.map(|steps| steps as f64))),
            ("seconds", over(offer.seconds.unwrap_or(0.0), self.max_seconds)),
        ]
        .into_iter()
        .filter(|(_, share)| *share > 1.0 + TOLERANCE)
        .collect()
    }

    /// If effective mates are limited, the default limit of mixing does not apply.
    fn least_mixing(&self) -> f64 {
        if self.min_mates.is_some() { 0.0 } else { MIXING }
    }
}
