//! Coefficients from measured steps: non-negative least squares of the relative errors.

use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::math::digits;

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

/// A cost model, and how well it says what was measured.
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

/// With fewer measured steps than coefficients anything fits.
const LEAST_ROWS: usize = 4;
/// A model that is off by more says nothing about the machine.
const MOST_ERROR: f64 = 0.5;
/// A model that explains less of the differences between times says nothing about the shape of a batch:
/// it is a constant, and so much can be chance.
const LEAST_R2: f64 = 0.1;
/// Times that differ from one constant by no more than this on average do not depend on the shape, as on
/// a machine that waits for something else. The constant is then right.
const NOISE: f64 = 0.05;
/// A column that is left with less than this part of itself depends on the others.
const DEPENDENT: f64 = 1e-9;
/// How much one more coefficient must lower the mean squared error. Rounding alone lowers it by
/// less, and would give noiseless measurements coefficients that they do not have.
const ROUNDING: f64 = 1e-24;

impl CostModel {
    /// The model of least squared relative errors among all without negative coefficients, each
    /// rounded to six digits. No clock gives more.
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
        Fit::of(Self::new(a, b, c, d)?, steps)
    }
}

impl Fit {
    /// Whether the model is hardly better than one constant time: batch size and batch length then
    /// make no difference to it, and a budget on time limits nothing.
    pub fn is_flat(&self) -> bool {
        self.r2 < LEAST_R2
    }

    fn of(model: CostModel, steps: &[Step]) -> Result<Self, Error> {
        let rows = steps.len();
        let error = |step: &Step| model.seconds(step.size, step.length) / step.seconds - 1.0;
        let mut worst = (0, 0.0_f64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (index, error) in steps.iter().map(error).enumerate() {
            sum += error.abs();
            squares += error * error;
            if error.abs() > worst.1.abs() {
                worst = (index, error);
            }
        }
        let mean_relative_error = sum / rows as f64;
        let inverse = |power| steps.iter().map(|step| step.seconds.powi(power)).sum::<f64>();
        let constant = inverse(-1) / inverse(-2);
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
        let bad = |what, given: String| Err(Error::BadStep { index, what, given });
        if step.size == 0 {
            return bad("batch size", "0".to_owned());
        }
        if step.length == 0 {
            return bad("batch length", "0".to_owned());
        }
        // The bounds keep the squares of all terms finite.
        if !(1e-12..=1e9).contains(&step.seconds) {
            return bad("seconds", step.seconds.to_string());
        }
    }
    let few = |what: String| Err(Error::TooFewSteps { what });
    if steps.len() < LEAST_ROWS {
        return few(format!("{} measured steps do not make a cost model", steps.len()));
    }
    let first = steps[0];
    if steps.iter().all(|step| step.length == first.length) {
        return few(format!("all measured steps have batch length {}", first.length));
    }
    if steps.iter().all(|step| step.size == first.size) {
        return few(format!("all measured steps have batch size {}", first.size));
    }
    Ok(())
}

/// The non-negative combination of the columns that is nearest to 1 in every row.
///
/// The best one uses some of the columns, and is the plain least squares solution for these. So
/// trying all 15 choices of columns finds it, for certain. Choices of fewer columns come first,
/// and a larger one must be better by more than rounding.
fn least(columns: &[Vec<f64>; 4]) -> [f64; 4] {
    let rows = columns[0].len() as f64;
    let mut choices: Vec<u32> = (1..16).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    let mut best = ([0.0; 4], rows);
    for choice in choices {
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
