//! Where an order becomes batches.

pub(crate) mod batches;
pub(crate) mod in_order;
pub(crate) mod rungs;
#[cfg(test)]
mod tests;
