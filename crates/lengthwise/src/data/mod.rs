//! What is planned: lengths, pairs of lengths, groups and kinds of sequences, chunks, and summary statistics of many
//! shards.

pub(crate) mod chunks;
pub(crate) mod lengths;
pub(crate) mod mix;
pub(crate) mod over_long;
pub(crate) mod pairs;
pub(crate) mod population;
pub(crate) mod shard;
pub(crate) mod statistics;
pub(crate) mod together;
pub(crate) mod units;
