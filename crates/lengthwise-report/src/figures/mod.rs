//! The figures of a report: one file each.

pub(crate) mod bars;
pub(crate) mod batches;
pub(crate) mod distribution;
pub(crate) mod frontier;
pub(crate) mod idle;
pub(crate) mod order;
pub(crate) mod shared;
pub(crate) mod tuning;
