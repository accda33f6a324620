//! One program for all tests: each would link the crate again.

mod api;
mod balance;
mod beyond;
mod common;
mod cost;
mod distribution;
mod errors;
mod invariants;
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
mod settings;
mod shards;
mod stability;
mod steps;
mod stream;
mod threads;
mod tune;
