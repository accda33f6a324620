//! Shards: each node plans its own part of a corpus, and all of them keep in step.

pub use crate::{
    data::{needs::Needs, shard::Shard, statistics::Statistics},
    plan::settings::Corpus,
};
