//! Plans and cursors as files. `UPDATE_EXPECT=1 cargo test` rewrites the expected text.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod arrays;
mod common;
mod cursors;
mod hostile;
mod plans;
mod statistics;
mod streams;
#[cfg(feature = "parquet")]
mod tables;
