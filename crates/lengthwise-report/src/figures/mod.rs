//! The figures of a report.

pub(crate) mod bars;
pub(crate) mod batches;
pub(crate) mod distribution;
pub(crate) mod frontier;
pub(crate) mod idle;
pub(crate) mod shared;
pub(crate) mod tuning;
