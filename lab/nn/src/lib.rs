//! A small engine that trains recurrent networks on padded batches.
//!
//! A batch is a rectangle of time steps and rows, and every row has a length. Layers take and give
//! rectangles, and keep what their backward pass needs. Padding changes nothing: beyond its length a row
//! is zero in every output, and the backward direction of a layer begins at the end of each row. Nothing is
//! computed for padding, except in frames [with padding](Frame::with_padding) and in the attention of a CUDA
//! device. Results are the same for every number of threads.
#![allow(
    clippy::many_single_char_names,
    clippy::similar_names,
    reason = "formulas are written with the letters of the literature"
)]

mod attention;
mod batch;
mod blstm;
mod buffer;
mod check;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod embedding;
mod engine;
mod linear;
pub mod loss;
mod lstm;
mod matmul;
mod mean;
pub mod optimizer;
mod packed;
mod simd;
mod tape;
#[cfg(test)]
mod work;

pub use batch::Frame;
pub use blstm::{Blstm, BlstmTrace};
pub use buffer::Buffer;
pub use cpu::{Cpu, CpuTrace};
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaBuffer, CudaTrace};
pub use engine::{Attention, Embedding, Engine, EngineError, Loss, Recurrent, Rule};
pub use linear::Linear;
pub use tape::{Tape, Value};
