//! Parquet files: a row for each sequence.
//!
//! Nothing in them is packed. What repeats from row to row, the format writes once; snappy packs the
//! sequences, which are in random order, by a hundredth. So each takes four bytes, and no file can
//! claim more rows than that.

mod columns;
mod read;
mod write;

pub(super) use self::{
    read::{memory_of, other_release, read, stream},
    write::write,
};
