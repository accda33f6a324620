//! One program for all tests: each would link the crate again.

mod api;
mod balance;
mod beyond;
mod common;
mod cost;
mod distribution;
mod errors;
mod groups;
mod invariants;
mod kept;
mod memory;
mod mixing;
mod oracle;
mod packed;
mod pairs;
mod papers;
mod parts;
mod promises;
mod ranks;
mod recommend;
mod resume;
mod rows;
mod settings;
mod shards;
mod split;
mod stability;
mod steps;
#[cfg(feature = "serde")]
mod stored;
mod stream;
mod threads;
mod told;
mod tune;
