//! A small engine that trains recurrent networks on padded batches.
//!
//! A batch is a rectangle of time steps and rows, and every row has a length. Layers take and give
//! rectangles, and keep what their backward pass needs. Padding costs what it costs in any framework,
//! and changes nothing: beyond its length a row is zero in every output, and the backward direction of
//! a layer begins at the end of each row. Results are the same for every number of threads.

mod batch;
mod blstm;
mod buffer;
mod lanes;
mod linear;
pub mod loss;
mod lstm;
mod matmul;
pub mod optimizer;

pub use batch::Frame;
pub use blstm::{Blstm, BlstmTrace};
pub use linear::Linear;
pub use lstm::{Direction, Lstm, LstmTrace};
