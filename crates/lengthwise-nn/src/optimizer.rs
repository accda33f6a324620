//! Optimizers of flat parameters, with their state.

use crate::Rule;

/// Adam (Kingma and Ba, 2015).
#[derive(Clone, Debug)]
pub struct Adam {
    /// The learning rate; may be changed between steps.
    pub rate: f32,
    betas: (f32, f32),
    epsilon: f32,
    steps: u32,
    means: Vec<f32>,
    squares: Vec<f32>,
}

impl Adam {
    /// With the constants of the paper: 0.9, 0.999 and 10⁻⁸.
    pub fn new(parameters: usize, rate: f32) -> Self {
        let zeros = || vec![0.0; parameters];
        let (betas, epsilon) = ((0.9, 0.999), 1e-8);
        Self { rate, betas, epsilon, steps: 0, means: zeros(), squares: zeros() }
    }

    /// Takes one step.
    ///
    /// # Panics
    ///
    /// When there are more or fewer parameters.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        assert!(parameters.len() == self.means.len() && gradient.len() == parameters.len());
        self.steps += 1;
        let (one, two) = self.betas;
        let power = |beta: f32| (1.0 - f64::from(beta).powf(self.steps.into())) as f32;
        let rate = self.rate / power(one);
        let scale = power(two).sqrt();
        let state = self.means.iter_mut().zip(&mut self.squares);
        for ((parameter, &gradient), (mean, square)) in
            parameters.iter_mut().zip(gradient).zip(state)
        {
            *mean += (1.0 - one) * (gradient - *mean);
            *square = two * *square + (1.0 - two) * gradient * gradient;
            *parameter -= rate * *mean / (square.sqrt() / scale + self.epsilon);
        }
    }
}

/// ADADELTA (Zeiler, 2012).
#[derive(Clone, Debug)]
pub struct Adadelta {
    /// What each update is multiplied by; 1 in the paper.
    pub rate: f32,
    decay: f32,
    epsilon: f32,
    squares: Vec<f32>,
    updates: Vec<f32>,
}

impl Adadelta {
    /// With this decay and epsilon; the paper has 0.95 and 10⁻⁶.
    pub fn new(parameters: usize, decay: f32, epsilon: f32) -> Self {
        let zeros = || vec![0.0; parameters];
        Self { rate: 1.0, decay, epsilon, squares: zeros(), updates: zeros() }
    }

    /// Takes one step.
    ///
    /// # Panics
    ///
    /// When there are more or fewer parameters.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        assert!(parameters.len() == self.squares.len() && gradient.len() == parameters.len());
        let Self { rate, decay, epsilon, .. } = *self;
        let state = self.squares.iter_mut().zip(&mut self.updates);
        for ((parameter, &gradient), (square, updates)) in
            parameters.iter_mut().zip(gradient).zip(state)
        {
            *square = decay * *square + (1.0 - decay) * gradient * gradient;
            let update = ((*updates + epsilon) / (*square + epsilon)).sqrt() * gradient;
            *updates = decay * *updates + (1.0 - decay) * update * update;
            *parameter -= rate * update;
        }
    }
}

/// Makes a gradient no longer than `most`, all of it together; gives how long it was.
pub fn clip(gradient: &mut [f32], most: f32) -> f32 {
    let length = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt() as f32;
    if length > most {
        let scale = most / length;
        for value in gradient {
            *value *= scale;
        }
    }
    length
}

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
    [first, second]: &mut [Vec<f32>; 2],
) {
    let count = parameters.len();
    assert!(gradient.len() == count && first.len() == count && second.len() == count);
    let all = parameters.iter_mut().zip(gradient).zip(first.iter_mut().zip(second));
    match rule {
        Rule::Adam { betas: (one, two), epsilon } => {
            let power = |beta: f32| (1.0 - f64::from(beta).powf(steps as f64)) as f32;
            let (rate, scale) = (rate / power(one), power(two).sqrt());
            for ((parameter, &gradient), (mean, square)) in all {
                *mean += (1.0 - one) * (gradient - *mean);
                *square = two * *square + (1.0 - two) * gradient * gradient;
                *parameter -= rate * *mean / (square.sqrt() / scale + epsilon);
            }
        }
        Rule::Adadelta { decay, epsilon } => {
            for ((parameter, &gradient), (square, updates)) in all {
                *square = decay * *square + (1.0 - decay) * gradient * gradient;
                let update = ((*updates + epsilon) / (*square + epsilon)).sqrt() * gradient;
                *updates = decay * *updates + (1.0 - decay) * update * update;
                *parameter -= rate * update;
            }
        }
    }
}
