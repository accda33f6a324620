//! Mean squared error.

use crate::Frame;

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
) -> (f64, Vec<f32>) {
    assert_eq!(values.len(), frame.cells() * width, "values of another batch");
    assert_eq!(targets.len(), values.len(), "targets of another batch");
    let share = 1.0 / (frame.positions() * width) as f64;
    let mut gradient = vec![0.0; values.len()];
    let mut loss = 0.0;
    for (place, out) in gradient.chunks_exact_mut(width).enumerate() {
        if !frame.holds(place / frame.rows(), place % frame.rows()) {
            continue;
        }
        let at = place * width..(place + 1) * width;
        for (out, (&value, &target)) in
            out.iter_mut().zip(values[at.clone()].iter().zip(&targets[at]))
        {
            let error = value - target;
            loss += f64::from(error * error);
            *out = 2.0 * error * share as f32;
        }
    }
    (loss * share, gradient)
}
