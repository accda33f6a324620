//! How fast parameters follow their gradient, as training goes on.

use serde::{Deserialize, Serialize};

/// How the learning rate changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// It falls in a straight line to nothing at the end.
    Linear,
    /// It falls along half a wave to nothing at the end.
    Cosine,
}

impl Schedule {
    /// The share of the rate when `done` (from 0 to 1) of the training is done, after it has risen in a
    /// straight line for the first `warmup` of it.
    pub fn share(self, done: f64, warmup: f64) -> f64 {
        if done < warmup {
            return done / warmup;
        }
        let done = (done - warmup) / (1.0 - warmup).max(f64::MIN_POSITIVE);
        match self {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - done,
            Schedule::Cosine => 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_and_fall() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(Schedule::Constant.share(0.05, 0.1), 0.5);
        close(Schedule::Constant.share(0.7, 0.1), 1.0);
        close(Schedule::Linear.share(0.25, 0.0), 0.75);
        close(Schedule::Cosine.share(0.5, 0.0), 0.5);
        close(Schedule::Cosine.share(1.0, 0.2), 0.0);
        close(Schedule::Constant.share(0.0, 0.0), 1.0);
    }
}
