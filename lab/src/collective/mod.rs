//! Workers that train together, and how numbers get from one to the others.
//!
//! A [`Collective`] carries bytes and computes nothing. What is computed with them is the same for every
//! transport, in an order that depends on the number of workers only. So the same seed gives the same parameters on threads of
//! one process and on processes of many machines.

mod cores;
mod interface;
mod lost;
mod mode;
#[cfg(feature = "mpi")]
mod mpi;
mod threads;

pub use cores::Core;
pub use interface::{Alone, Collective};
pub use lost::Lost;
pub use mode::{Mode, Together};
#[cfg(feature = "mpi")]
pub use mpi::{Mpi, Processes, Waiting};
pub use threads::{Threads, on_threads};
