//! Attention: every place of a row looks at all places of the same row of another batch.

use rayon::prelude::*;

use crate::{
    batch::Frame,
    buffer::Buffer,
    engine::Attention,
    matmul::{Matrix, matmul},
};

/// Gives what each place found, and the weights: for every row, those of each query over all keys. Both are
/// zero where there is padding, for which nothing is computed.
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
    let mut weights = Buffer::zeros(rows * asks * answers);
    let found: Vec<Vec<f32>> = weights
        .par_chunks_exact_mut(asks * answers)
        .enumerate()
        .map(|(row, weights)| {
            let q = column(asking, queries, row, *width);
            let k = column(asked, keys, row, *width);
            let v = column(asked, values, row, *value_width);
            let (asking, asked) = (asking.lengths()[row], asked.lengths()[row]);
            let mut real = vec![0.0; asking * asked];
            let keys = Matrix::new(&k, asked, *width).transposed();
            matmul(&mut real, Matrix::new(&q, asking, *width), keys, 0.0);
            if asked > 0 {
                for (real, weights) in
                    real.chunks_exact_mut(asked).zip(weights.chunks_exact_mut(answers))
                {
                    softmax(real, scale);
                    weights[..asked].copy_from_slice(real);
                }
            }
            let mut out = vec![0.0; asking * value_width];
            let values = Matrix::new(&v, asked, *value_width);
            matmul(&mut out, Matrix::new(&real, asking, asked), values, 0.0);
            out
        })
        .collect();
    (side_by_side(asking, &found, *value_width), weights)
}

/// The gradients of queries, keys and values; zero where there is padding, for which nothing is computed.
pub(crate) fn attend_backward(
    shape: &Attention,
    queries: &[f32],
    keys: &[f32],
    values: &[f32],
    weights: &[f32],
    dy: &[f32],
) -> [Buffer; 3] {
    let Attention { queries: asking, keys: asked, width, value_width } = shape;
    let (asks, answers) = (asking.steps(), asked.steps());
    let scale = 1.0 / (*width as f32).sqrt();
    let of_rows: Vec<[Vec<f32>; 3]> = weights
        .par_chunks_exact(asks * answers)
        .enumerate()
        .map(|(row, weights)| {
            let q = column(asking, queries, row, *width);
            let k = column(asked, keys, row, *width);
            let v = column(asked, values, row, *value_width);
            let dy = column(asking, dy, row, *value_width);
            let (asking, asked) = (asking.lengths()[row], asked.lengths()[row]);
            let weights: Vec<f32> = weights
                .chunks_exact(answers)
                .take(asking)
                .flat_map(|weights| &weights[..asked])
                .copied()
                .collect();
            let dy = Matrix::new(&dy, asking, *value_width);
            let mut dv = vec![0.0; v.len()];
            matmul(&mut dv, Matrix::new(&weights, asking, asked).transposed(), dy, 0.0);
            let mut scores = vec![0.0; weights.len()];
            matmul(&mut scores, dy, Matrix::new(&v, asked, *value_width).transposed(), 0.0);
            if asked > 0 {
                for (scores, weights) in
                    scores.chunks_exact_mut(asked).zip(weights.chunks_exact(asked))
                {
                    let mean: f32 = scores.iter().zip(weights).map(|(d, w)| d * w).sum();
                    for (score, weight) in scores.iter_mut().zip(weights) {
                        *score = scale * weight * (*score - mean);
                    }
                }
            }
            let scores = Matrix::new(&scores, asking, asked);
            let (mut dq, mut dk) = (vec![0.0; q.len()], vec![0.0; k.len()]);
            matmul(&mut dq, scores, Matrix::new(&k, asked, *width), 0.0);
            matmul(&mut dk, scores.transposed(), Matrix::new(&q, asking, *width), 0.0);
            [dq, dk, dv]
        })
        .collect();
    let widths = [(asking, *width), (asked, *width), (asked, *value_width)];
    let mut which = 0;
    widths.map(|(frame, width)| {
        let parts: Vec<&[f32]> = of_rows.iter().map(|row| &row[which][..]).collect();
        which += 1;
        side_by_side(frame, &parts, width)
    })
}

/// The steps of one row that are not padding, one after another.
fn column(frame: &Frame, values: &[f32], row: usize, width: usize) -> Vec<f32> {
    values
        .chunks_exact(frame.rows() * width)
        .take(frame.lengths()[row])
        .flat_map(|step| &step[row * width..][..width])
        .copied()
        .collect()
}

/// Rows back in the order of time, with zeros where there is padding.
fn side_by_side(frame: &Frame, rows: &[impl AsRef<[f32]>], width: usize) -> Buffer {
    let mut out = Buffer::zeros(frame.cells() * width);
    for (place, out) in out.chunks_exact_mut(width).enumerate().filter(|&(at, _)| frame.fills(at)) {
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
