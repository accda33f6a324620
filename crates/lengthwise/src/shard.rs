//! Shards: each node plans its own part of a corpus, and all of them keep in step.

pub use crate::{
    data::shard::{Needs, Shard},
    data::statistics::Statistics,
    plan::settings::Corpus,
};
