//! The command as its users see it: exit code, standard output, standard error and files.
//! `UPDATE_EXPECT=1 cargo test` rewrites the expected text.
//!
//! One binary: each one more would link all that reads Parquet and Arrow once more.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod balance;
mod bounded;
mod common;
mod compare;
mod contributing;
mod cost;
mod floors;
mod groups;
mod help;
mod input;
mod inspect;
mod interrupt;
mod memory;
mod overwrite;
mod packed;
mod pairs;
mod plan;
mod ranks;
mod refusals;
mod report;
mod shards;
mod stream;
mod terminal;
mod verify;
mod words;
