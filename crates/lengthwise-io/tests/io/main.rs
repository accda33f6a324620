//! Everything that goes through files, in one program: each test program links Parquet and Arrow anew.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod files;
mod read;
