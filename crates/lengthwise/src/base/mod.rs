//! The foundation: errors, the string form of settings, random numbers, arithmetic, threads.

pub(crate) mod digest;
pub(crate) mod pool;
pub(crate) mod rng;
pub(crate) mod setting;
pub(crate) mod simd;
pub(crate) mod threads;
pub(crate) mod workspace;
