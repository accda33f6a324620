//! Where an order becomes batches.

pub(crate) mod batches;
pub(crate) mod in_order;
pub(crate) mod refine;
pub(crate) mod rungs;
pub(crate) mod spans;
pub(crate) mod split;
#[cfg(test)]
mod tests;
