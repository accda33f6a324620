#![doc = include_str!("cost.md")]

use std::{fmt, str::FromStr};

use crate::base::setting::{Setting, unknown_name};
use crate::error::Error;
use crate::math::short;

#[doc = include_str!("cost.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
}

/// A cost model with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Preset {
    /// The name, as in string forms.
    pub name: &'static str,
    /// The model.
    pub model: CostModel,
    /// Where its numbers come from.
    pub source: &'static str,
}

/// Every preset, and the only place that holds their numbers. A test fits each file of measured
/// steps that a source names, and compares.
const PRESETS: &[Preset] = &[
    Preset {
        name: "recurrent",
        model: CostModel { a: 6.851e-3, b: 1.770e-4, c: 2.665e-7, d: 4.354e-10 },
        source: "benches/cost/runs/2026-11-15-h200/recurrent.csv, 3-layer BLSTM of 512, TF32, one \
                 H200; mean error 8 %",
    },
    Preset {
        name: "encoder",
        model: CostModel { a: 2.405e-2, b: 0.0, c: 6.038e-7, d: 2.360e-10 },
        source: "benches/cost/runs/2026-11-15-h200/encoder.csv, 12-layer Transformer of 512, bf16, \
                 one H200, shapes already met; mean error 12 %",
    },
    Preset {
        name: "paper-2",
        model: CostModel { a: 0.0, b: 2.442e-3, c: 84.6e-6, d: 0.0 },
        source: "paper 2, Table 2: 1.41 minutes for 10^6 cells and 0.0407 minutes for 10^3 steps, \
                 fitted to its minutes per epoch",
    },
];

/// The names of the coefficients, in order.
const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// The largest coefficient. With it no sum over an epoch overflows.
const MOST: f64 = 1e9;
const EXPECTED: &str = "a number from 0 to 1000000000";

impl CostModel {
    /// The models that have a name.
    pub const PRESETS: &[Preset] = PRESETS;

    /// The model with these coefficients: each from 0 to 10⁹, and at least one above 0.
    pub fn new(a: f64, b: f64, c: f64, d: f64) -> Result<Self, Error> {
        Self::checked([a, b, c, d], |key| format!("`{key}` of the cost model"))
    }

    /// The preset with this name.
    pub fn preset(name: &str) -> Result<Self, Error> {
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        preset.map(|preset| preset.model).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            unknown_name("cost model", name, &names)
        })
    }

    /// The coefficients a, b, c and d.
    pub const fn coefficients(&self) -> [f64; 4] {
        [self.a, self.b, self.c, self.d]
    }

    /// How many seconds a step takes on a batch of `size` sequences padded to `length`.
    ///
    /// It never falls when the size or the length grows, not even by rounding: every operation
    /// here is monotone. Budgets rely on that.
    pub fn seconds(&self, size: u32, length: u32) -> f64 {
        let (cells, length) = ((u64::from(size) * u64::from(length)) as f64, f64::from(length));
        self.a + self.b * length + self.c * cells + self.d * (cells * length)
    }

    /// The manual page of cost models with the list of presets, in Markdown.
    pub fn explain() -> String {
        let presets = PRESETS.iter().map(|preset| {
            format!("- `{}`: `{}`\n  Source: {}.\n", preset.name, preset.model, preset.source)
        });
        format!("{}\n## Presets\n\n{}", include_str!("cost.md"), presets.collect::<String>())
    }

    /// The most sequences of this length, up to `most`, that take at most `limit` seconds.
    pub(crate) fn fitting(&self, length: u32, limit: f64, most: u32) -> u32 {
        largest(most, |size| self.seconds(size, length) <= limit)
    }

    /// The longest length of which one sequence takes at most `limit` seconds; 0 if none does.
    pub(crate) fn longest_alone(&self, limit: f64) -> u32 {
        largest(u32::MAX, |length| self.seconds(1, length) <= limit)
    }

    /// Which part of a batch of `limit` seconds a sequence is, when all others are as long.
    pub(crate) fn part(&self, length: u32, limit: f64) -> f64 {
        let length = f64::from(length);
        let room = limit - self.a - self.b * length;
        let part = (self.c * length + self.d * (length * length)) / room;
        if room > 0.0 && part < 1.0 { part } else { 1.0 }
    }

    /// Reads a model from the parts of a setting: a preset's name, or coefficients.
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        if let Some(name) = setting.value() {
            return Self::preset(name);
        }
        let mut coefficients = [0.0; 4];
        for (coefficient, key) in coefficients.iter_mut().zip(KEYS) {
            *coefficient = setting.number(key, EXPECTED)?.unwrap_or_default();
        }
        Self::checked(coefficients, |key| setting.of(key))
    }

    fn checked(given: [f64; 4], of: impl Fn(&str) -> String) -> Result<Self, Error> {
        for (value, key) in given.into_iter().zip(KEYS) {
            if !(0.0..=MOST).contains(&value) {
                let (given, expected) = (value.to_string(), EXPECTED.to_owned());
                return Err(Error::BadValue { of: of(key), given, expected });
            }
        }
        // Adding zero turns -0 into 0.
        let [a, b, c, d] = given.map(|value| value + 0.0);
        let model = Self { a, b, c, d };
        if model.coefficients().iter().all(|&value| value == 0.0) {
            let expected = "one with a coefficient above 0, as in `a=0.001,c=1e-9`".to_owned();
            let of = "the cost model".to_owned();
            return Err(Error::BadValue { of, given: model.to_string(), expected });
        }
        Ok(model)
    }
}

/// The largest number up to `most` that `fits`, where all below it fit too; 0 if none does.
fn largest(most: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

impl FromStr for CostModel {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let mut setting = Setting::unnamed("the cost model", given)?;
        let model = Self::read(&mut setting)?;
        setting.finish()?;
        Ok(model)
    }
}

impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = KEYS.into_iter().zip(self.coefficients());
        let parts = parts.map(|(key, value)| format!("{key}={}", short(value)));
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_largest_that_fits_is_found(edge in any::<u32>(), most in any::<u32>()) {
            prop_assert_eq!(largest(most, |number| number <= edge), edge.min(most));
        }

        #[test]
        fn a_part_is_the_inverse_of_the_size_of_a_full_batch(
            length in 1_u32..5000, limit in 0.01..10.0, b in 0.0..1e-5, c in 1e-8..1e-3,
        ) {
            let model = CostModel::new(0.001, b, c, c / 1e3).unwrap();
            let full = model.fitting(length, limit, u32::MAX);
            let part = model.part(length, limit);
            prop_assert!(part * f64::from(full) <= 1.0 + 1e-9);
            prop_assert!(full == 0 || part * f64::from(full + 1) >= 1.0 - 1e-9);
        }
    }

    #[test]
    fn a_part_is_never_more_than_a_batch_and_never_undefined() {
        let models = ["a=1", "b=1", "c=1", "d=1", "a=1e9,b=1e9,c=1e9,d=1e9"];
        for model in models.map(|model| model.parse::<CostModel>().unwrap()) {
            for length in [1, 1000, u32::MAX] {
                for limit in [f64::MIN_POSITIVE, 1.0, 1e30, f64::MAX] {
                    assert!((0.0..=1.0).contains(&model.part(length, limit)), "{model} {length}");
                    assert!(model.seconds(u32::MAX, length).is_finite());
                }
            }
        }
    }
}
