//! A CUDA device as an engine.
//!
//! The driver and cuBLAS are found when a device is opened, so that programs are built and run on
//! machines that have neither. All work goes into one queue, in order; the program waits for it only to
//! read a result. Nothing depends on how threads happen to run: results are the same in every run.

mod attention;
mod base;
mod device;
mod engine;
mod kernels;
mod loss;
mod memory;
mod packing;
mod pool;
mod recurrent;
mod span;
mod split;
mod symbols;

pub use base::Cuda;
pub use memory::CudaBuffer;
pub use recurrent::CudaTrace;
