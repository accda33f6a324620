//! Cross-entropy of frames.

use crate::Frame;

/// The cross-entropy of a batch, and what it says of the scores.
#[derive(Clone, Debug)]
pub struct Classified {
    /// The sum over all positions.
    pub loss: f64,
    /// How many positions have their label first.
    pub correct: usize,
    /// The gradient of the mean over all positions; zero where there is padding.
    pub gradient: Vec<f32>,
}

/// The cross-entropy of scores, `classes` for every place, against a label for every place. Labels
/// where there is padding are not looked at.
///
/// # Panics
///
/// When a slice has another size, or a label is not below `classes`.
pub fn cross_entropy(frame: &Frame, scores: &[f32], classes: usize, labels: &[u32]) -> Classified {
    assert_eq!(scores.len(), frame.cells() * classes, "scores of another batch");
    assert_eq!(labels.len(), frame.cells(), "labels of another batch");
    let share = 1.0 / frame.positions() as f32;
    let mut gradient = vec![0.0; scores.len()];
    let (mut loss, mut correct) = (0.0, 0);
    for (place, (scores, gradient)) in
        scores.chunks_exact(classes).zip(gradient.chunks_exact_mut(classes)).enumerate()
    {
        if !frame.holds(place / frame.rows(), place % frame.rows()) {
            continue;
        }
        let label = labels[place] as usize;
        let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for (out, &score) in gradient.iter_mut().zip(scores) {
            *out = (score - highest).exp();
            sum += *out;
        }
        loss += f64::from(sum.ln() + highest - scores[label]);
        correct += usize::from(scores[label] >= highest);
        for out in gradient.iter_mut() {
            *out *= share / sum;
        }
        gradient[label] -= share;
    }
    Classified { loss, correct, gradient }
}
