//! Shards: each node plans its own part of a corpus, and all of them keep in step.

pub use crate::data::shard::{Needs, Shard};
pub use crate::data::statistics::Statistics;
pub use crate::plan::settings::Corpus;
