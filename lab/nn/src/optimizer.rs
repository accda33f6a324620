//! How flat parameters follow their gradient.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use rayon::prelude::*;

use crate::{
    engine::Rule,
    simd::{Job, Kind, Processor},
};

/// Parameters that go to a thread together.
const TOGETHER: usize = 1 << 14;

/// Takes a step of a rule; `steps` counts from 1, and both states begin as zeros.
///
/// # Panics
///
/// When the states or the gradient have another size.
pub fn update(
    rule: Rule,
    rate: f32,
    steps: u64,
    parameters: &mut [f32],
    gradient: &[f32],
    [first, second]: [&mut [f32]; 2],
) {
    update_on(Kind::best(), rule, rate, steps, parameters, gradient, [first, second]);
}

fn update_on(
    kind: Kind,
    rule: Rule,
    rate: f32,
    steps: u64,
    parameters: &mut [f32],
    gradient: &[f32],
    [first, second]: [&mut [f32]; 2],
) {
    let count = parameters.len();
    assert!(gradient.len() == count && first.len() == count && second.len() == count);
    let state = first.par_chunks_mut(TOGETHER).zip(second.par_chunks_mut(TOGETHER));
    let values = parameters.par_chunks_mut(TOGETHER).zip(gradient.par_chunks(TOGETHER));
    let parts = values.zip(state);
    match rule {
        Rule::Adam { betas, epsilon } => {
            let power = |beta: f32| (1.0 - f64::from(beta).powf(steps as f64)) as f32;
            let (rate, scale) = (rate / power(betas.0), 1.0 / power(betas.1).sqrt());
            parts.for_each(|((parameters, gradient), (means, squares))| {
                kind.run(AdamStep {
                    betas,
                    rate,
                    scale,
                    epsilon,
                    parameters,
                    gradient,
                    means,
                    squares,
                });
            });
        }
        Rule::Adadelta { decay, epsilon } => {
            parts.for_each(|((parameters, gradient), (squares, updates))| {
                kind.run(AdadeltaStep {
                    rate,
                    decay,
                    epsilon,
                    parameters,
                    gradient,
                    squares,
                    updates,
                });
            });
        }
    }
}

/// A step of Adam for some parameters.
struct AdamStep<'a> {
    betas: (f32, f32),
    rate: f32,
    /// What the root of a square is multiplied by.
    scale: f32,
    epsilon: f32,
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    means: &'a mut [f32],
    squares: &'a mut [f32],
}

impl Job for AdamStep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Processor>(self, p: P) {
        let (two, one_less) = (p.all(self.betas.1), p.all(1.0 - self.betas.0));
        let (two_less, epsilon) = (p.all(1.0 - self.betas.1), p.all(self.epsilon));
        let (rate, scale) = (p.all(self.rate), p.all(self.scale));
        let values = self.parameters.chunks_mut(P::LANES).zip(self.gradient.chunks(P::LANES));
        let state = self.means.chunks_mut(P::LANES).zip(self.squares.chunks_mut(P::LANES));
        for ((parameters, gradient), (means, squares)) in values.zip(state) {
            let g = p.load(gradient);
            let mean = p.load(means);
            let mean = p.mul_add(one_less, p.sub(g, mean), mean);
            let square = p.mul_add(two_less, p.mul(g, g), p.mul(two, p.load(squares)));
            let root = p.mul_add(p.sqrt(square), scale, epsilon);
            p.store(parameters, p.take(rate, p.div(mean, root), p.load(parameters)));
            p.store(means, mean);
            p.store(squares, square);
        }
    }
}

/// A step of ADADELTA for some parameters.
struct AdadeltaStep<'a> {
    rate: f32,
    decay: f32,
    epsilon: f32,
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    squares: &'a mut [f32],
    updates: &'a mut [f32],
}

impl Job for AdadeltaStep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Processor>(self, p: P) {
        let (decay, less) = (p.all(self.decay), p.all(1.0 - self.decay));
        let (rate, epsilon) = (p.all(self.rate), p.all(self.epsilon));
        let values = self.parameters.chunks_mut(P::LANES).zip(self.gradient.chunks(P::LANES));
        let state = self.squares.chunks_mut(P::LANES).zip(self.updates.chunks_mut(P::LANES));
        for ((parameters, gradient), (squares, updates)) in values.zip(state) {
            let g = p.load(gradient);
            let square = p.mul_add(less, p.mul(g, g), p.mul(decay, p.load(squares)));
            let before = p.load(updates);
            let ratio = p.div(p.add(before, epsilon), p.add(square, epsilon));
            let update = p.mul(p.sqrt(ratio), g);
            p.store(updates, p.mul_add(less, p.mul(update, update), p.mul(decay, before)));
            p.store(parameters, p.take(rate, update, p.load(parameters)));
            p.store(squares, square);
        }
    }
}

/// Makes a gradient no longer than `most`, all of it together; gives how long it was.
pub(crate) fn clip(gradient: &mut [f32], most: f32) -> f32 {
    // Sums of parts, added in order: the same for every number of threads.
    let parts: Vec<f64> = gradient.par_chunks(TOGETHER).map(sum_of_squares).collect();
    let length = parts.iter().sum::<f64>().sqrt() as f32;
    if length > most {
        let scale = most / length;
        gradient.par_chunks_mut(TOGETHER).for_each(|part| {
            for value in part {
                *value *= scale;
            }
        });
    }
    length
}

/// Several sums at a time, since each addition waits for the one before.
fn sum_of_squares(values: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    for values in values.chunks(8) {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize, speed: f32) -> Vec<f32> {
        (0..count).map(|i| (speed * i as f32).sin()).collect()
    }

    #[test]
    fn all_kinds_of_processors_take_the_same_steps() {
        // Not a whole number of lanes, nor of parts.
        let count = TOGETHER + 37;
        let steps = |kind: Kind| {
            let after = |rule: Rule, rate: f32| {
                let mut parameters = wave(count, 0.3);
                let (mut first, mut second) = (vec![0.0; count], vec![0.0; count]);
                for (step, speed) in (1..).zip([0.1, 0.2, 0.4]) {
                    let state = [&mut first[..], &mut second[..]];
                    let gradient = wave(count, speed);
                    update_on(kind, rule, rate, step, &mut parameters, &gradient, state);
                }
                parameters
            };
            [after(Rule::ADAM, 0.01), after(Rule::ADADELTA, 1.0)].concat()
        };
        let best = steps(Kind::best());
        for kind in Kind::all() {
            for (value, best) in steps(kind).iter().zip(&best) {
                assert!((value - best).abs() < 1e-6, "{kind:?}: {value} for {best}");
            }
        }
    }

    #[test]
    fn a_long_gradient_is_made_shorter() {
        let mut gradient = vec![0.5; 2 * TOGETHER + 3];
        let exact = 0.5 * (gradient.len() as f64).sqrt();
        let length = f64::from(clip(&mut gradient, 2.0));
        assert!((length / exact - 1.0).abs() < 1e-6);
        assert!((f64::from(clip(&mut gradient, 3.0)) / 2.0 - 1.0).abs() < 1e-6);
        assert!((f64::from(gradient[7]) - 0.5 * 2.0 / exact).abs() < 1e-8);
    }
}
