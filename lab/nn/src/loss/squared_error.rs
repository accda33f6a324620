//! Mean squared error.

use rayon::prelude::*;

use crate::{batch::Frame, buffer::Buffer};

/// The squared error of values, `width` for every place, against targets: its mean over all positions
/// and the width, and the gradient of that mean, which is zero where there is padding.
///
/// # Panics
///
/// When a slice has another size.
pub fn squared_error(
    frame: &Frame,
    values: &[f32],
    width: usize,
    targets: &[f32],
) -> (f64, Buffer) {
    assert_eq!(values.len(), frame.cells() * width, "values of another batch");
    assert_eq!(targets.len(), values.len(), "targets of another batch");
    let share = 1.0 / (frame.positions() * width).max(1) as f64;
    let mut gradient = Buffer::zeros(values.len());
    let steps = width * frame.rows();
    let losses: Vec<f64> = gradient
        .par_chunks_mut(steps)
        .zip(values.par_chunks(steps).zip(targets.par_chunks(steps)))
        .enumerate()
        .map(|(step, (out, (values, targets)))| {
            let mut loss = 0.0;
            for row in (0..frame.rows()).filter(|&row| frame.holds(step, row)) {
                let at = row * width..(row + 1) * width;
                let both = values[at.clone()].iter().zip(&targets[at.clone()]);
                for (out, (&value, &target)) in out[at].iter_mut().zip(both) {
                    let error = value - target;
                    loss += f64::from(error * error);
                    *out = 2.0 * error * share as f32;
                }
            }
            loss
        })
        .collect();
    // In order, so that the sum is the same for every number of threads.
    (losses.iter().sum::<f64>() * share, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_padding_has_no_error() {
        let (mean, gradient) = squared_error(&Frame::new(2, vec![0, 0]), &[1.0; 12], 3, &[0.5; 12]);
        assert!(mean == 0.0 && gradient.iter().all(|&value| value == 0.0));
    }
}
