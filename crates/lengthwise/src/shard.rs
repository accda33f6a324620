//! Shards: each node plans its own part of a corpus, and all nodes stay in step.

pub use crate::data::shard::{Needs, Shard};
pub use crate::data::statistics::Statistics;
pub use crate::plan::settings::Corpus;
