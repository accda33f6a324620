//! From scores to what was said, and how far that is from the truth.

mod ctc;
mod distance;
mod words;

pub use ctc::{beam, greedy};
pub use distance::distance;
pub use words::WordLoop;

/// The logarithms of the softmax of scores.
pub(crate) fn log_softmax(scores: &[f32]) -> Vec<f32> {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scores.iter().map(|score| (score - highest).exp()).sum();
    let norm = highest + sum.ln();
    scores.iter().map(|score| score - norm).collect()
}
