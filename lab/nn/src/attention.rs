//! Attention: every place of a row looks at all places of the same row of another batch.

use rayon::prelude::*;

use crate::{
    buffer::Buffer,
    engine::Attention,
    matmul::{Matrix, matmul},
};

/// Gives what each place found, and the weights: for every row, those of each query over all keys.
///
/// Padding is paid for, as it is in any framework, and weighs nothing.
pub(crate) fn attend(
    shape: &Attention,
    queries: &[f32],
    keys: &[f32],
    values: &[f32],
) -> (Buffer, Buffer) {
    let Attention { queries: asking, keys: asked, width, value_width } = shape;
    let (rows, asks, answers) = (asking.rows(), asking.steps(), asked.steps());
    assert_eq!(rows, asked.rows(), "batches of different rows");
    let scale = 1.0 / (*width as f32).sqrt();
    let mut weights = Buffer::any(rows * asks * answers);
    let found: Vec<Vec<f32>> = weights
        .par_chunks_exact_mut(asks * answers)
        .enumerate()
        .map(|(row, weights)| {
            let q = column(queries, rows, row, *width);
            let k = column(keys, rows, row, *width);
            let v = column(values, rows, row, *value_width);
            let keys = Matrix::new(&k, answers, *width).transposed();
            matmul(weights, Matrix::new(&q, asks, *width), keys, 0.0);
            let (asking, asked) = (asking.lengths()[row], asked.lengths()[row]);
            for (step, weights) in weights.chunks_exact_mut(answers).enumerate() {
                let real = if step < asking { asked } else { 0 };
                softmax(&mut weights[..real], scale);
                weights[real..].fill(0.0);
            }
            let mut out = vec![0.0; asks * value_width];
            let values = Matrix::new(&v, answers, *value_width);
            matmul(&mut out, Matrix::new(weights, asks, answers), values, 0.0);
            out
        })
        .collect();
    (side_by_side(&found, asks, *value_width), weights)
}

/// The gradients of queries, keys and values.
pub(crate) fn attend_backward(
    shape: &Attention,
    queries: &[f32],
    keys: &[f32],
    values: &[f32],
    weights: &[f32],
    dy: &[f32],
) -> [Buffer; 3] {
    let Attention { queries: asking, keys: asked, width, value_width } = shape;
    let (rows, asks, answers) = (asking.rows(), asking.steps(), asked.steps());
    let scale = 1.0 / (*width as f32).sqrt();
    let of_rows: Vec<[Vec<f32>; 3]> = weights
        .par_chunks_exact(asks * answers)
        .enumerate()
        .map(|(row, weights)| {
            let q = column(queries, rows, row, *width);
            let k = column(keys, rows, row, *width);
            let v = column(values, rows, row, *value_width);
            let dy = column(dy, rows, row, *value_width);
            let weights_of = Matrix::new(weights, asks, answers);
            let dy = Matrix::new(&dy, asks, *value_width);
            let mut dv = vec![0.0; v.len()];
            matmul(&mut dv, weights_of.transposed(), dy, 0.0);
            let mut scores = vec![0.0; weights.len()];
            matmul(&mut scores, dy, Matrix::new(&v, answers, *value_width).transposed(), 0.0);
            for (scores, weights) in
                scores.chunks_exact_mut(answers).zip(weights.chunks_exact(answers))
            {
                let mean: f32 = scores.iter().zip(weights).map(|(d, w)| d * w).sum();
                for (score, weight) in scores.iter_mut().zip(weights) {
                    *score = scale * weight * (*score - mean);
                }
            }
            let scores = Matrix::new(&scores, asks, answers);
            let (mut dq, mut dk) = (vec![0.0; q.len()], vec![0.0; k.len()]);
            matmul(&mut dq, scores, Matrix::new(&k, answers, *width), 0.0);
            matmul(&mut dk, scores.transposed(), Matrix::new(&q, asks, *width), 0.0);
            [dq, dk, dv]
        })
        .collect();
    let widths = [(asks, *width), (answers, *width), (answers, *value_width)];
    let mut which = 0;
    widths.map(|(steps, width)| {
        let parts: Vec<&[f32]> = of_rows.iter().map(|row| &row[which][..]).collect();
        which += 1;
        side_by_side(&parts, steps, width)
    })
}

/// The steps of one row, one after another.
fn column(values: &[f32], rows: usize, row: usize, width: usize) -> Vec<f32> {
    values
        .chunks_exact(rows * width)
        .flat_map(|step| &step[row * width..][..width])
        .copied()
        .collect()
}

/// Rows back in the order of time.
fn side_by_side(rows: &[impl AsRef<[f32]>], steps: usize, width: usize) -> Buffer {
    let mut out = Buffer::any(steps * rows.len() * width);
    for (place, out) in out.chunks_exact_mut(width).enumerate() {
        let (step, row) = (place / rows.len(), place % rows.len());
        out.copy_from_slice(&rows[row].as_ref()[step * width..(step + 1) * width]);
    }
    out
}

/// The softmax of scores times a scale, in place.
fn softmax(scores: &mut [f32], scale: f32) {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = ((*score - highest) * scale).exp();
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
}
