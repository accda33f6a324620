//! Plans, cursors and statistics as files. `UPDATE_EXPECT=1 cargo test` rewrites the expected text.

mod arrays;
mod common;
mod cursors;
mod hostile;
mod plans;
mod statistics;
mod streams;
#[cfg(feature = "parquet")]
mod tables;
