//! Vectors that stand for symbols.

use crate::{batch::Frame, buffer::Buffer, engine::Embedding};

/// The vector of the symbol at every place; zero where there is padding.
pub(crate) fn embed(layer: Embedding, table: &[f32], frame: &Frame, symbols: &[u32]) -> Buffer {
    let width = layer.width;
    let mut out = Buffer::zeros(frame.cells() * width);
    for (place, out) in out.chunks_exact_mut(width).enumerate().filter(|&(at, _)| frame.fills(at)) {
        let at = symbols[place] as usize * width;
        out.copy_from_slice(&table[at..at + width]);
    }
    out
}

/// Adds the gradient of every place to that of its symbol.
pub(crate) fn embed_backward(
    layer: Embedding,
    gradient: &mut [f32],
    frame: &Frame,
    symbols: &[u32],
    dy: &[f32],
) {
    let width = layer.width;
    for (place, dy) in dy.chunks_exact(width).enumerate().filter(|&(at, _)| frame.fills(at)) {
        let at = symbols[place] as usize * width;
        for (sum, &add) in gradient[at..at + width].iter_mut().zip(dy) {
            *sum += add;
        }
    }
}
