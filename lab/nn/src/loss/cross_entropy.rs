//! Cross-entropy of frames.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use rayon::prelude::*;

use crate::{
    batch::Frame,
    buffer::Buffer,
    simd::{Job, Kind, Processor, exp},
};

/// The cross-entropy of a batch, and what it says of the scores.
#[derive(Debug)]
pub struct Classified {
    /// The sum over all positions.
    pub loss: f64,
    /// How many positions have their label first.
    pub correct: usize,
    /// The gradient of the mean over all positions; zero where there is padding.
    pub gradient: Buffer,
}

/// The cross-entropy of scores, `classes` for every place, against a label for every place. Labels
/// where there is padding are not looked at.
///
/// # Panics
///
/// When a slice has another size, or a label is not below `classes`.
pub fn cross_entropy(frame: &Frame, scores: &[f32], classes: usize, labels: &[u32]) -> Classified {
    cross_entropy_on(Kind::best(), frame, scores, classes, labels)
}

fn cross_entropy_on(
    kind: Kind,
    frame: &Frame,
    scores: &[f32],
    classes: usize,
    labels: &[u32],
) -> Classified {
    // Places that go to a thread together.
    const TOGETHER: usize = 128;
    assert_eq!(scores.len(), frame.cells() * classes, "scores of another batch");
    assert_eq!(labels.len(), frame.cells(), "labels of another batch");
    let mut gradient = Buffer::zeros(scores.len());
    let parts: Vec<(f64, usize)> = gradient
        .par_chunks_mut(TOGETHER * classes)
        .zip(scores.par_chunks(TOGETHER * classes))
        .enumerate()
        .map(|(part, (gradient, scores))| {
            let first = part * TOGETHER;
            kind.run(Places { frame, classes, labels, first, scores, gradient })
        })
        .collect();
    // In order, so that the sum is the same for every number of threads.
    let loss = parts.iter().map(|&(loss, _)| loss).sum();
    let correct = parts.iter().map(|&(_, correct)| correct).sum();
    Classified { loss, correct, gradient }
}

/// Some places from `first` on.
struct Places<'a> {
    frame: &'a Frame,
    classes: usize,
    labels: &'a [u32],
    first: usize,
    scores: &'a [f32],
    gradient: &'a mut [f32],
}

impl Job for Places<'_> {
    /// The loss, and how many have their label first.
    type Output = (f64, usize);

    #[inline(always)]
    fn run<P: Processor>(self, p: P) -> (f64, usize) {
        let Self { frame, classes, labels, first, .. } = self;
        let share = 1.0 / frame.positions() as f32;
        let (mut loss, mut correct) = (0.0, 0);
        let rows = self.scores.chunks_exact(classes).zip(self.gradient.chunks_exact_mut(classes));
        for (place, (scores, gradient)) in (first..).zip(rows) {
            if !frame.holds(place / frame.rows(), place % frame.rows()) {
                continue;
            }
            let label = labels[place] as usize;
            let highest = highest(p, scores);
            let sum = powers(p, scores, highest, gradient);
            // The difference first: large scores would leave nothing of the logarithm.
            loss += f64::from(sum.ln() + (highest - scores[label]));
            correct += usize::from(scores[label] >= highest);
            let scale = p.all(share / sum);
            for out in gradient.chunks_mut(P::LANES) {
                p.store(out, p.mul(p.load(out), scale));
            }
            gradient[label] -= share;
        }
        (loss, correct)
    }
}

/// The highest score.
#[inline(always)]
fn highest<P: Processor>(p: P, scores: &[f32]) -> f32 {
    let mut most = p.all(f32::NEG_INFINITY);
    let whole = scores.chunks_exact(P::LANES);
    let rest = whole.remainder();
    for scores in whole {
        most = p.max(p.load(scores), most);
    }
    let mut lanes = [f32::NEG_INFINITY; 16];
    p.store(&mut lanes[..P::LANES], most);
    let mut most = f32::NEG_INFINITY;
    for &value in lanes.iter().chain(rest) {
        most = most.max(value);
    }
    most
}

/// `e` to the power of each score less the highest, and their sum.
#[inline(always)]
fn powers<P: Processor>(p: P, scores: &[f32], highest: f32, out: &mut [f32]) -> f32 {
    let mut sum = p.all(0.0);
    let mut rest = 0.0;
    let highest = p.all(highest);
    for (scores, out) in scores.chunks(P::LANES).zip(out.chunks_mut(P::LANES)) {
        let power = exp(p, p.sub(p.load(scores), highest));
        p.store(out, power);
        if out.len() == P::LANES {
            sum = p.add(sum, power);
        } else {
            for &mut value in out {
                rest += value;
            }
        }
    }
    let mut lanes = [0.0; 16];
    p.store(&mut lanes[..P::LANES], sum);
    for value in lanes {
        rest += value;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_processors_agree_with_the_definition() {
        for classes in [1, 3, 16, 37, 64] {
            let frame = Frame::new(30, vec![30, 11, 1, 0, 17, 30, 29]);
            let scores: Vec<f32> =
                (0..frame.cells() * classes).map(|i| 9.0 * (0.7 * i as f32).sin() - 20.0).collect();
            let labels: Vec<u32> = (0..frame.cells()).map(|i| (i * i % classes) as u32).collect();
            let mut loss = 0.0;
            let mut expected = vec![0.0; scores.len()];
            for place in (0..frame.cells()).filter(|&at| frame.holds(at / 7, at % 7)) {
                let at = place * classes..(place + 1) * classes;
                let powers: Vec<f64> =
                    scores[at.clone()].iter().map(|&score| f64::from(score).exp()).collect();
                let (sum, label) = (powers.iter().sum::<f64>(), labels[place] as usize);
                loss -= (powers[label] / sum).ln();
                for (class, out) in expected[at].iter_mut().enumerate() {
                    let one = f64::from(u8::from(class == label));
                    *out = (powers[class] / sum - one) / frame.positions() as f64;
                }
            }
            for kind in Kind::all() {
                let found = cross_entropy_on(kind, &frame, &scores, classes, &labels);
                assert!((found.loss - loss).abs() < 1e-5 * loss.max(1.0), "{kind:?} {classes}");
                for (&value, expected) in found.gradient.iter().zip(&expected) {
                    assert!((f64::from(value) - expected).abs() < 1e-8, "{kind:?} {classes}");
                }
            }
        }
    }

    #[test]
    fn large_scores_leave_the_loss_exact() {
        let frame = Frame::new(1, vec![1]);
        for kind in Kind::all() {
            let found = cross_entropy_on(kind, &frame, &[1e6, 1e6], 2, &[1]);
            assert!((found.loss - std::f64::consts::LN_2).abs() < 1e-6, "{kind:?}");
        }
    }

    #[test]
    fn a_class_that_cannot_be_has_no_gradient() {
        let frame = Frame::new(1, vec![1]);
        let scores = [1.0, f32::NEG_INFINITY, 2.0];
        for kind in Kind::all() {
            let found = cross_entropy_on(kind, &frame, &scores, 3, &[2]);
            assert!(found.gradient[1] == 0.0 && found.loss.is_finite(), "{kind:?}");
        }
    }
}
