//! From numbers to places on the page, and round numbers for the ticks.

use crate::text::{unit, without_zeros};

/// Maps numbers to places along an axis, evenly or by their logarithm.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    kind: Kind,
    whole: bool,
    from: f64,
    to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Even,
    /// With ticks at powers of ten.
    Decades,
    /// With ticks at powers of two.
    Doublings,
}

impl Scale {
    /// An even scale over this range; a range without width is widened.
    pub fn linear(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, kind: Kind::Even, whole: false, from: 0.0, to: 1.0 }
    }

    /// A logarithmic scale over this range of numbers above zero.
    pub fn logarithmic(low: f64, high: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low * 1.000_001 { high } else { low * 10.0 };
        Self { kind: Kind::Decades, ..Self::linear(low, high) }
    }

    /// A logarithmic scale with ticks at powers of two.
    pub fn doublings(low: f64, high: f64) -> Self {
        Self { kind: Kind::Doublings, ..Self::logarithmic(low, high) }
    }

    /// The same scale for what is counted: ticks at whole numbers only.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// The same scale along a part of the page.
    pub(crate) fn onto(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Where a number is; numbers outside the range are at its ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.kind {
            Kind::Even => (value - self.low) / (self.high - self.low),
            Kind::Decades | Kind::Doublings => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
        };
        self.from + share * (self.to - self.from)
    }

    /// Round numbers along the scale, about so many, with their labels.
    pub(crate) fn ticks(&self, about: f64) -> Vec<(f64, String)> {
        let about = about.max(2.0);
        let values = match self.kind {
            Kind::Even => self.even(about),
            Kind::Decades => self.decades(about),
            Kind::Doublings => {
                let powers = (0..32).map(|power| f64::from(1_u32 << power));
                powers.filter(|power| (self.low..=self.high * 1.001).contains(power)).collect()
            }
        };
        let step = values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        values.into_iter().map(|value| (value, label(value, step))).collect()
    }

    fn even(&self, about: f64) -> Vec<f64> {
        let rough = (self.high - self.low) / about;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
        let step = if self.whole { step.max(1.0) } else { step };
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }

    /// Powers of ten, with twos and fives between where there is room.
    fn decades(&self, about: f64) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let times: &[f64] = if decades * 3.0 <= 2.0 * about { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = (decades / about).ceil().max(1.0) as i32;
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .filter(|power| power.rem_euclid(every) == 0)
            .flat_map(|power| times.iter().map(move |times| times * 10_f64.powi(power)))
            .filter(|value| !self.whole || *value >= 1.0)
            .filter(|value| (self.low * 0.999..=self.high * 1.001).contains(value))
            .collect()
    }
}

/// A number as it is written at a tick: thousands as k, millions as M, and as many decimals as the
/// distance to the next needs.
fn label(value: f64, step: f64) -> String {
    let (scaled, unit) = unit(value);
    let (value, step) =
        if unit.is_empty() { (value, step) } else { (scaled, step * scaled / value) };
    let step = if step.is_finite() { step.min(value.abs().max(1e-9)) } else { value.abs() };
    let decimals = (-step.max(1e-9).log10()).ceil().clamp(0.0, 6.0) as usize;
    without_zeros(value, decimals) + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, about: f64) -> Vec<String> {
        scale.ticks(about).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(Scale::linear(0.0, 1.0), 5.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Scale::linear(0.0, 800.0), 4.0), ["0", "200", "400", "600", "800"]);
        assert_eq!(labels(Scale::linear(0.0, 40_000.0), 4.0), ["0", "10k", "20k", "30k", "40k"]);
        assert_eq!(labels(Scale::logarithmic(1.0, 1000.0), 4.0), ["1", "10", "100", "1000"]);
        assert_eq!(labels(Scale::logarithmic(0.002, 0.5), 3.0), ["0.01", "0.1"]);
        assert_eq!(labels(Scale::logarithmic(2.0, 60.0), 5.0), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(Scale::doublings(1.0, 8.0), 5.0), ["1", "2", "4", "8"]);
        assert_eq!(labels(Scale::linear(3.0, 3.0), 2.0), ["3", "3.5", "4"]);
        assert_eq!(labels(Scale::linear(0.0, 4e9), 4.0), ["0", "1G", "2G", "3G", "4G"]);
    }

    #[test]
    fn what_is_counted_has_whole_ticks() {
        assert_eq!(labels(Scale::linear(4.5, 5.5).whole(), 8.0), ["5"]);
        assert_eq!(labels(Scale::linear(0.0, 1.08).whole(), 8.0), ["0", "1"]);
        assert_eq!(labels(Scale::logarithmic(0.5, 20.0).whole(), 8.0), ["1", "2", "5", "10", "20"]);
    }

    #[test]
    fn places_are_within_the_axis() {
        let scale = Scale::logarithmic(1.0, 100.0).onto(0.0, 50.0);
        assert!((scale.place(10.0) - 25.0).abs() < 1e-9);
        assert!(scale.place(0.0).abs() < 1e-9 && (scale.place(1e9) - 50.0).abs() < 1e-9);
        let scale = Scale::linear(0.0, 10.0).onto(100.0, 0.0);
        assert!((scale.place(2.5) - 75.0).abs() < 1e-9);
    }
}
