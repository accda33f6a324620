//! What is planned: lengths, pairs of lengths, chunks, and summary statistics of many shards.

pub(crate) mod chunks;
pub(crate) mod lengths;
pub(crate) mod over_long;
pub(crate) mod pairs;
pub(crate) mod population;
pub(crate) mod shard;
pub(crate) mod statistics;
