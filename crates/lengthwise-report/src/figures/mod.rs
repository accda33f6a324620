//! The figures of a report.

pub(crate) mod bars;
pub(crate) mod batches;
pub(crate) mod curves;
pub(crate) mod distribution;
pub(crate) mod rungs;
pub(crate) mod shared;
pub(crate) mod steps;
