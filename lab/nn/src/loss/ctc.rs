//! Connectionist temporal classification.

use std::fmt;

use rayon::prelude::*;

use crate::{batch::Frame, buffer::Buffer};

/// Labels that no path of its row's length can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTarget {
    /// The row.
    pub row: usize,
    /// The steps that its labels need.
    pub needed: usize,
    /// The steps that it has.
    pub length: usize,
}

impl BadTarget {
    /// Whether a path of a row's length can give its labels.
    pub(crate) fn check(row: usize, target: &[u32], length: usize) -> Result<(), Self> {
        // Equal neighbours have a blank between them.
        let doubled = target.windows(2).filter(|pair| pair[0] == pair[1]).count();
        // A path has at least one step.
        let needed = (target.len() + doubled).max(1);
        if needed > length { Err(Self { row, needed, length }) } else { Ok(()) }
    }
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, needed, length } = self;
        write!(f, "the labels of row {row} need {needed} steps, and it has {length}")
    }
}

impl std::error::Error for BadTarget {}

/// The loss of Graves et al. (2006): how unlikely the labels of each row are, over all ways to spread
/// them over its steps with blanks (class 0) between. Gives the sum over all rows, and the gradient of
/// the mean over labels, with respect to the scores, `classes` for every place.
///
/// # Errors
///
/// When the labels of a row need more steps than it has, or it has none.
///
/// # Panics
///
/// When a slice has another size, or a label is 0 or not below `classes`.
pub fn ctc(
    frame: &Frame,
    scores: &[f32],
    classes: usize,
    targets: &[Vec<u32>],
) -> Result<(f64, Buffer), BadTarget> {
    assert_eq!(scores.len(), frame.cells() * classes, "scores of another batch");
    assert_eq!(targets.len(), frame.rows(), "labels of another batch");
    for (row, (target, &length)) in targets.iter().zip(frame.lengths()).enumerate() {
        assert!(
            target.iter().all(|&label| label > 0 && (label as usize) < classes),
            "no such class"
        );
        BadTarget::check(row, target, length)?;
    }
    let rows: Vec<(f64, Vec<f32>)> = (0..frame.rows())
        .into_par_iter()
        .map(|row| {
            let at = |step: usize| (step * frame.rows() + row) * classes;
            let row_scores = (0..frame.lengths()[row]).map(|step| &scores[at(step)..][..classes]);
            one(row_scores, classes, &targets[row])
        })
        .collect();
    let labels: usize = targets.iter().map(Vec::len).sum();
    let share = 1.0 / labels.max(1) as f32;
    let mut gradient = Buffer::zeros(scores.len());
    let mut loss = 0.0;
    for (row, (row_loss, row_gradient)) in rows.iter().enumerate() {
        loss += row_loss;
        for (step, values) in row_gradient.chunks_exact(classes).enumerate() {
            let place = (step * frame.rows() + row) * classes;
            for (out, value) in gradient[place..].iter_mut().zip(values) {
                *out = value * share;
            }
        }
    }
    Ok((loss, gradient))
}

/// The loss of one row and its gradient, step by step.
fn one<'a>(
    scores: impl Iterator<Item = &'a [f32]>,
    classes: usize,
    target: &[u32],
) -> (f64, Vec<f32>) {
    let chances: Vec<f32> = scores.flat_map(log_softmax).collect();
    let steps = chances.len() / classes;
    // Blank, label, blank, label, …, blank.
    let path: Vec<usize> = (0..=2 * target.len())
        .map(|place| if place % 2 == 0 { 0 } else { target[place / 2] as usize })
        .collect();
    let jumps = |place: usize| place >= 2 && path[place] != 0 && path[place] != path[place - 2];
    let width = path.len();
    let chance = |step: usize, place: usize| f64::from(chances[step * classes + path[place]]);
    // How likely the beginning is, up to each step and place; logarithms.
    let mut before = vec![f64::NEG_INFINITY; steps * width];
    for (place, first) in before.iter_mut().enumerate().take(width.min(2)) {
        *first = chance(0, place);
    }
    for step in 1..steps {
        for place in 0..width {
            let last = &before[(step - 1) * width..step * width];
            let mut sum = last[place];
            if place >= 1 {
                sum = log_sum(sum, last[place - 1]);
            }
            if jumps(place) {
                sum = log_sum(sum, last[place - 2]);
            }
            before[step * width + place] = sum + chance(step, place);
        }
    }
    let ends = &before[(steps - 1) * width..];
    let all = ends[width.saturating_sub(2)..].iter().copied().fold(f64::NEG_INFINITY, log_sum);
    // How likely the rest is, after each step and place, from the end.
    let mut after = vec![f64::NEG_INFINITY; width];
    after[width.saturating_sub(2)..].fill(0.0);
    let mut gradient: Vec<f32> = chances.iter().map(|chance| chance.exp()).collect();
    for step in (0..steps).rev() {
        let out = &mut gradient[step * classes..(step + 1) * classes];
        for (place, &after) in after.iter().enumerate() {
            out[path[place]] -= (before[step * width + place] + after - all).exp() as f32;
        }
        let next: Vec<f64> = (0..width).map(|place| after[place] + chance(step, place)).collect();
        for place in 0..width {
            let mut sum = next[place];
            if place + 1 < width {
                sum = log_sum(sum, next[place + 1]);
            }
            if place + 2 < width && jumps(place + 2) {
                sum = log_sum(sum, next[place + 2]);
            }
            after[place] = sum;
        }
    }
    (-all, gradient)
}

fn log_softmax(scores: &[f32]) -> impl Iterator<Item = f32> {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scores.iter().map(|score| (score - highest).exp()).sum();
    scores.iter().map(move |score| score - highest - sum.ln())
}

/// The logarithm of the sum of what two logarithms are of.
fn log_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
