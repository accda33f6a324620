//! How long a batch takes, and coefficients from measured steps: non-negative least squares of the
//! relative errors.

use std::{fmt, str::FromStr};

use crate::base::setting::{Setting, unknown_name};
use crate::error::Error;
use crate::math::{digits, largest, short};

#[doc = include_str!("cost.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    h: f64,
    s: f64,
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
        model: CostModel::RECURRENT,
        source: "benches/cost/runs/2026-11-15-h200/recurrent.csv, 3-layer BLSTM of 512, TF32, one \
                 H200; mean error 8 %",
    },
    Preset {
        name: "encoder",
        model: CostModel {
            a: 6.746e-3,
            b: 9.874e-7,
            c: 1.125e-6,
            d: 1.441e-10,
            h: 2.704e-2,
            s: 0.0,
        },
        source: "benches/cost/runs/2026-11-15-h200/encoder.csv, 12-layer Transformer of 512, bf16, \
                 one H200, shapes already met; mean error 8 %",
    },
    Preset {
        name: "paper-2",
        model: CostModel { a: 0.0, b: 2.442e-3, c: 84.6e-6, d: 0.0, h: 0.0, s: 0.0 },
        source: "paper 2, Table 2: 1.41 minutes for 10^6 cells and 0.0407 minutes for 10^3 steps, \
                 fitted to its minutes per epoch",
    },
];

/// The names of the coefficients, in order.
const KEYS: [&str; 6] = ["a", "b", "c", "d", "h", "s"];

/// The largest coefficient. With it no sum over an epoch overflows.
const MOST: f64 = 1e9;
const EXPECTED: &str = "a number from 0 to 1000000000";
/// Sizes of Transformers.
const SIZE: &str = "a whole number from 1 to 1000000";

impl CostModel {
    /// The preset `recurrent`.
    pub(crate) const RECURRENT: Self =
        Self { a: 6.851e-3, b: 1.770e-4, c: 2.665e-7, d: 4.354e-10, h: 0.0, s: 0.0 };

    /// The models that have a name.
    pub const PRESETS: &[Preset] = PRESETS;

    /// The model with these coefficients: each from 0 to 10⁹, and at least one above 0.
    pub fn new(a: f64, b: f64, c: f64, d: f64) -> Result<Self, Error> {
        Self::checked([a, b, c, d, 0.0, 0.0], |key| format!("`{key}` of the cost model"))
    }

    /// The same model with this launch time: the seconds, from 0 to 10⁹, that the host takes to launch
    /// a batch.
    pub fn with_launch(self, seconds: f64) -> Result<Self, Error> {
        let Self { a, b, c, d, s, .. } = self;
        Self::checked([a, b, c, d, seconds, s], |key| format!("`{key}` of the cost model"))
    }

    /// The same model with this many extra seconds, from 0 to 10⁹, for each shape that occurs for the
    /// first time.
    pub fn with_new_shape(self, seconds: f64) -> Result<Self, Error> {
        let Self { a, b, c, d, h, .. } = self;
        Self::checked([a, b, c, d, h, seconds], |key| format!("`{key}` of the cost model"))
    }

    /// How many seconds the host takes to launch a batch: no batch takes less.
    pub const fn launch(&self) -> f64 {
        self.h
    }

    /// How many extra seconds a shape takes when it occurs for the first time.
    pub const fn new_shape(&self) -> f64 {
        self.s
    }

    /// The model that takes the time of so many cells for a batch besides its own, for the launch of a batch,
    /// and for a new shape.
    pub(crate) const fn of_cells(batch: f64, launch: f64, new_shape: f64) -> Self {
        Self { a: batch, b: 0.0, c: 1.0, d: 0.0, h: launch, s: new_shape }
    }

    /// The model of a Transformer by the operations of its architecture: forward and backward pass, with
    /// feed-forward layers four times as wide as the others. Times are those of a device that does 10¹⁵ operations
    /// a second. Causal attention has half the pairs of positions.
    pub fn attention(hidden: u32, layers: u32, causal: bool) -> Result<Self, Error> {
        for (name, size) in [("hidden size", hidden), ("number of layers", layers)] {
            if !(1..=1_000_000).contains(&size) {
                let of = format!("the {name} of the cost model");
                return Err(Error::bad_value(of, &size, SIZE));
            }
        }
        let (hidden, layers) = (f64::from(hidden), f64::from(layers));
        // A pass backward takes two forward.
        let each = 3.0 * layers * hidden / 1e15;
        Self::new(0.0, 0.0, 24.0 * hidden * each, if causal { 2.0 } else { 4.0 } * each)
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

    /// How many seconds a batch of `size` sequences padded to `length` takes.
    ///
    /// It never falls when the size or the length grows, not even by rounding: every operation
    /// here is monotone. Budgets rely on that.
    pub fn seconds(&self, size: u32, length: u32) -> f64 {
        self.computing(size, length).max(self.h)
    }

    /// The same without its launch, which can be in the time of the batch before.
    pub(crate) fn computing(&self, size: u32, length: u32) -> f64 {
        let (cells, length) = ((u64::from(size) * u64::from(length)) as f64, f64::from(length));
        self.a + self.b * length + self.c * cells + self.d * (cells * length)
    }

    /// How many seconds a packed row of `row` positions takes that holds sequences of these lengths. In a
    /// packed row each sequence attends only to itself, and padding to nothing.
    pub fn row_seconds(&self, row: u32, lengths: impl IntoIterator<Item = u32>) -> f64 {
        self.computing_row(row, lengths.into_iter()).max(self.h)
    }

    /// The same without its launch.
    pub(crate) fn computing_row(&self, row: u32, lengths: impl Iterator<Item = u32>) -> f64 {
        let of_row = |(longest, squares): (u32, f64), length: u32| {
            (longest.max(length), squares + f64::from(length) * f64::from(length))
        };
        let (longest, squares) = lengths.fold((0, 0.0), of_row);
        self.a + self.b * f64::from(longest) + self.c * f64::from(row) + self.d * squares
    }

    /// The same where a batch has groups of so many sequences, and its size is the number of groups.
    pub(crate) fn of_groups(self, size: u32) -> Self {
        // No less than what the groups take, whichever way it is rounded.
        let size = f64::from(size) * (1.0 + 1e-12);
        Self { c: self.c * size, d: self.d * size, ..self }
    }

    /// What one sequence adds to the time of a packed row: its positions, and its pairs of positions. A model of
    /// sequential steps alone counts these.
    pub(crate) fn of_sequence(&self, length: u32) -> f64 {
        let length = f64::from(length);
        let own = self.c * length + self.d * (length * length);
        if self.c > 0.0 || self.d > 0.0 { own } else { (self.a + self.b) * length }
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
        if room > 0.0 && part < 1.0 && self.h <= limit { part } else { 1.0 }
    }

    /// Reads a model from the parts of a setting: a preset's name, or coefficients.
    pub(crate) fn read(setting: &mut Setting) -> Result<Self, Error> {
        if let Some(name) = setting.value.take() {
            if name == "attention" {
                let expected = "given with its size, as in `attention:hidden=4096,layers=32`";
                return Err(Error::bad_value("the cost model", name, expected));
            }
            return Self::preset(name);
        }
        if let Some(hidden) = setting.number("attention:hidden", SIZE)? {
            let layers = setting.number("layers", SIZE)?;
            let layers = layers.ok_or_else(|| {
                let expected = "given with `layers`, as in `attention:hidden=4096,layers=32`";
                Error::bad_value("the cost model", &format!("attention:hidden={hidden}"), expected)
            })?;
            let causal = match setting.text("causal") {
                None | Some("yes") => true,
                Some("no") => false,
                Some(other) => {
                    return Err(Error::bad_value(setting.of("causal"), other, "yes or no"));
                }
            };
            return Self::attention(hidden, layers, causal);
        }
        let mut coefficients = [0.0; 6];
        for (coefficient, key) in coefficients.iter_mut().zip(KEYS) {
            *coefficient = setting.number(key, EXPECTED)?.unwrap_or_default();
        }
        Self::checked(coefficients, |key| setting.of(key))
    }

    fn checked(given: [f64; 6], of: impl Fn(&str) -> String) -> Result<Self, Error> {
        for (value, key) in given.into_iter().zip(KEYS) {
            if !(0.0..=MOST).contains(&value) {
                return Err(Error::bad_value(of(key), &value, EXPECTED));
            }
        }
        // Adding zero turns -0 into 0.
        let [a, b, c, d, launch, new_shape] = given.map(|value| value + 0.0);
        let model = Self { a, b, c, d, h: launch, s: new_shape };
        if model.coefficients().iter().all(|&value| value == 0.0) {
            let expected = "one with a coefficient above 0, as in `a=0.001,c=1e-9`";
            return Err(Error::bad_value("the cost model", &model, expected));
        }
        Ok(model)
    }
}

impl FromStr for CostModel {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let mut setting = Setting::split("the cost model".to_owned(), "", given)?;
        let model = Self::read(&mut setting)?;
        setting.finish()?;
        Ok(model)
    }
}

impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = KEYS.into_iter().zip([self.a, self.b, self.c, self.d, self.h, self.s]);
        // The last two are rare.
        let said = all.filter(|&(key, value)| value > 0.0 || !matches!(key, "h" | "s"));
        let parts = said.map(|(key, value)| format!("{key}={}", short(value)));
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

/// One measured training step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How many sequences its batch had.
    pub size: u32,
    /// What they were padded to.
    pub length: u32,
    /// How long it took.
    pub seconds: f64,
}

/// A cost model, and how well it fits the measured steps.
///
/// A relative error is predicted ÷ measured − 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fit {
    /// The model.
    pub model: CostModel,
    /// From how many measured steps.
    pub rows: usize,
    /// How much better the model is than the best constant time, which is the best model of `a`
    /// alone: 1 − (its sum of squared relative errors) ÷ (that of the constant). From 0 to 1, and
    /// 1 is a perfect fit.
    pub r2: f64,
    /// The mean of the relative errors without their signs.
    pub mean_relative_error: f64,
    /// The step whose relative error is largest, as an index.
    pub worst: usize,
    /// Its relative error.
    pub worst_relative_error: f64,
}

/// With fewer measured steps than coefficients, any model fits.
const LEAST_ROWS: usize = 4;
/// A model with a larger error says nothing about the machine.
const MOST_ERROR: f64 = 0.5;
/// A model that explains less of the differences between times says nothing about the shape of a batch:
/// it is a constant, and so much can be chance.
const LEAST_R2: f64 = 0.1;
/// Times that differ from one constant by no more than this on average do not depend on the shape, as on
/// a machine that waits for something else. The constant is then right.
const NOISE: f64 = 0.1;
/// A column that is left with less than this part of itself depends on the others.
const DEPENDENT: f64 = 1e-9;
/// How much one more coefficient must lower the mean squared error. Rounding alone lowers it by
/// less, and would give noiseless measurements coefficients that they do not have.
const ROUNDING: f64 = 1e-24;
/// A launch must lower the squared errors to this part of what they are without one: less can be chance.
const LAUNCH_GAIN: f64 = 0.75;
/// How many counts of launch-bound steps are tried.
const SPLITS: usize = 32;

impl CostModel {
    /// The model of least squared relative errors among all without negative coefficients, each
    /// rounded to six digits. No clock gives more. It has a launch where that explains the shortest steps
    /// clearly better; [`new_shape`](Self::new_shape) is 0.
    ///
    /// ```
    /// use lengthwise::{CostModel, cost::Step};
    ///
    /// let model: CostModel = "a=0.004,c=1e-6".parse()?;
    /// let steps: Vec<Step> = [(1, 50), (8, 50), (8, 400), (32, 400), (32, 100)]
    ///     .map(|(size, length)| Step { size, length, seconds: model.seconds(size, length) })
    ///     .to_vec();
    /// let fit = CostModel::fit(&steps)?;
    /// assert_eq!(fit.model, model);
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn fit(steps: &[Step]) -> Result<Fit, Error> {
        check(steps)?;
        let mut ordered = steps.to_vec();
        ordered.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let plain = Self::of_computing(&ordered)?;
        let mut best = (plain, LAUNCH_GAIN * plain.squares(steps) - ROUNDING * steps.len() as f64);
        // Which of the shortest steps were bound by their launch is not known.
        let most = steps.len().saturating_sub(LEAST_ROWS);
        for tried in 1..=SPLITS.min(most) {
            let (launched, computed) = ordered.split_at(most * tried / SPLITS.min(most));
            let model = Self::of_computing(computed)?.with_launch(digits(constant(launched), 5))?;
            let squares = model.squares(steps);
            if launched.len() > 1 && squares < best.1 {
                best = (model, squares);
            }
        }
        Fit::of(best.0, steps)
    }

    /// The model of least squared relative errors without a launch.
    fn of_computing(steps: &[Step]) -> Result<Self, Error> {
        // Divided by the measured times, what is to be explained is 1 in every row.
        let mut columns: [Vec<f64>; 4] = Default::default();
        for step in steps {
            let (size, length) = (f64::from(step.size), f64::from(step.length));
            let terms = [1.0, length, size * length, size * length * length];
            for (column, term) in columns.iter_mut().zip(terms) {
                column.push(term / step.seconds);
            }
        }
        let scales = columns.each_mut().map(|column| {
            let norm = dot(column, column).sqrt();
            divide(column, norm);
            norm
        });
        let best = least(&columns);
        let [a, b, c, d] = [0, 1, 2, 3].map(|column| digits(best[column] / scales[column], 5));
        Self::new(a, b, c, d)
    }

    /// Predicted ÷ measured − 1.
    fn error(&self, step: &Step) -> f64 {
        self.seconds(step.size, step.length) / step.seconds - 1.0
    }

    fn squares(&self, steps: &[Step]) -> f64 {
        steps.iter().map(|step| self.error(step).powi(2)).sum()
    }
}

/// The constant time of least squared relative errors.
fn constant(steps: &[Step]) -> f64 {
    let inverse = |power| steps.iter().map(|step| step.seconds.powi(power)).sum::<f64>();
    inverse(-1) / inverse(-2)
}

impl Fit {
    /// Whether the model is hardly better than one constant time: batch size and batch length then
    /// make no difference to it, and a budget on time limits nothing.
    pub fn is_flat(&self) -> bool {
        self.r2 < LEAST_R2
    }

    fn of(model: CostModel, steps: &[Step]) -> Result<Self, Error> {
        let rows = steps.len();
        let mut worst = (0, 0.0_f64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (index, error) in steps.iter().map(|step| model.error(step)).enumerate() {
            sum += error.abs();
            squares += error * error;
            if error.abs() > worst.1.abs() {
                worst = (index, error);
            }
        }
        let mean_relative_error = sum / rows as f64;
        let constant = constant(steps);
        let of_constant: f64 =
            steps.iter().map(|step| (constant / step.seconds - 1.0).powi(2)).sum();
        // Where all times are equal, the constant leaves nothing but rounding.
        let exact = squares <= ROUNDING * rows as f64;
        let r2 = if exact { 1.0 } else { (1.0 - squares / of_constant).max(0.0) };
        let unexplained = r2 < LEAST_R2 && mean_relative_error > NOISE;
        if mean_relative_error > MOST_ERROR || unexplained {
            return Err(Error::PoorFit { mean_relative_error, r2 });
        }
        let (worst, worst_relative_error) = worst;
        Ok(Self { model, rows, r2, mean_relative_error, worst, worst_relative_error })
    }
}

fn check(steps: &[Step]) -> Result<(), Error> {
    for (index, step) in steps.iter().enumerate() {
        let (what, given) = match *step {
            Step { size: 0, .. } => ("batch size", "0".to_owned()),
            Step { length: 0, .. } => ("batch length", "0".to_owned()),
            // The bounds keep the squares of all terms finite.
            Step { seconds, .. } if !(1e-12..=1e9).contains(&seconds) => {
                ("seconds", seconds.to_string())
            }
            _ => continue,
        };
        return Err(Error::BadStep { index, what, given });
    }
    let what = match steps {
        [first, ..] if steps.len() >= LEAST_ROWS => {
            if steps.iter().all(|step| step.length == first.length) {
                format!("all measured steps have batch length {}", first.length)
            } else if steps.iter().all(|step| step.size == first.size) {
                format!("all measured steps have batch size {}", first.size)
            } else {
                return Ok(());
            }
        }
        _ => format!("{} measured steps do not make a cost model", steps.len()),
    };
    Err(Error::TooFewSteps { what })
}

/// The non-negative combination of the columns that is nearest to 1 in every row.
///
/// The best one uses some of the columns, and is the plain least squares solution for these. So
/// trying all 15 choices of columns finds it, for certain. Choices of fewer columns come first,
/// and a larger one must be better by more than rounding.
fn least(columns: &[Vec<f64>; 4]) -> [f64; 4] {
    let rows = columns[0].len() as f64;
    let of = |count: u32| (1..16_u32).filter(move |choice| choice.count_ones() == count);
    let mut best = ([0.0; 4], rows);
    for choice in (1..=4).flat_map(of) {
        let chosen: Vec<usize> = (0..4).filter(|column| choice >> column & 1 == 1).collect();
        if let Some((solution, squares)) = solve(columns, &chosen)
            && solution.iter().all(|&value| value >= 0.0)
            && squares < best.1 - ROUNDING * rows
        {
            best = (solution, squares);
        }
    }
    best.0
}

/// Least squares with the chosen columns alone, and the sum of squares that is left; `None` if the
/// columns depend on each other. Orthogonalises one column after another (modified Gram–Schmidt),
/// which squares no condition number as the normal equations would.
fn solve(columns: &[Vec<f64>; 4], chosen: &[usize]) -> Option<([f64; 4], f64)> {
    let mut left = vec![1.0; columns[0].len()];
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(4);
    let mut triangle = [[0.0; 4]; 4];
    let mut parts = [0.0; 4];
    for (at, &column) in chosen.iter().enumerate() {
        let mut rest = columns[column].clone();
        for (before, direction) in basis.iter().enumerate() {
            triangle[before][at] = dot(direction, &rest);
            subtract(&mut rest, triangle[before][at], direction);
        }
        let norm = dot(&rest, &rest).sqrt();
        if norm < DEPENDENT {
            return None;
        }
        divide(&mut rest, norm);
        triangle[at][at] = norm;
        parts[at] = dot(&rest, &left);
        subtract(&mut left, parts[at], &rest);
        basis.push(rest);
    }
    let mut solution = [0.0; 4];
    for at in (0..chosen.len()).rev() {
        let known: f64 =
            (at + 1..chosen.len()).map(|k| triangle[at][k] * solution[chosen[k]]).sum();
        solution[chosen[at]] = (parts[at] - known) / triangle[at][at];
    }
    Some((solution, dot(&left, &left)))
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn divide(column: &mut [f64], by: f64) {
    for value in column {
        *value /= by;
    }
}

fn subtract(from: &mut [f64], times: f64, direction: &[f64]) {
    for (value, step) in from.iter_mut().zip(direction) {
        *value -= times * step;
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
