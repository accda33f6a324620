//! The mean over the positions of each row.

use crate::{batch::Frame, buffer::Buffer};

/// The mean over the positions of each row; zero for a row of no length.
pub(crate) fn mean(frame: &Frame, width: usize, x: &[f32]) -> Buffer {
    let rows = frame.rows();
    let mut out = Buffer::zeros(rows * width);
    for (place, x) in x.chunks_exact(width).enumerate().filter(|&(at, _)| frame.fills(at)) {
        let row = place % rows;
        for (sum, &add) in out[row * width..(row + 1) * width].iter_mut().zip(x) {
            *sum += add;
        }
    }
    for (out, &length) in out.chunks_exact_mut(width).zip(frame.lengths()) {
        let share = 1.0 / length.max(1) as f32;
        for value in out {
            *value *= share;
        }
    }
    out
}

/// Spreads the gradient of each row's mean over its positions.
pub(crate) fn mean_backward(frame: &Frame, width: usize, dy: &[f32]) -> Buffer {
    let rows = frame.rows();
    let mut dx = Buffer::zeros(frame.cells() * width);
    for (place, dx) in dx.chunks_exact_mut(width).enumerate().filter(|&(at, _)| frame.fills(at)) {
        let row = place % rows;
        let share = 1.0 / frame.lengths()[row] as f32;
        for (out, &dy) in dx.iter_mut().zip(&dy[row * width..(row + 1) * width]) {
            *out = dy * share;
        }
    }
    dx
}
