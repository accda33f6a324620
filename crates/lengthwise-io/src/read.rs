//! Reads the lengths of sequences from files, and the times of measured training steps.
//!
//! There is one reader per format, and every reader keeps the lengths only, and ids if a [`Reader`] is asked for
//! them; the rest of the file streams past. Files packed by gzip or zstd are read as if they were not.
//!
//! Each group of modules uses only itself and those before it: what a length is (`number`, `time`, `unit`);
//! where lengths go (`column`, `map`); what is asked for (`columns`, `request`); lines,
//! records and cells; how a format is guessed (`guess`); one module for each format; and `reader`, which chooses by the format.

mod format;
mod number;
mod open;
mod packed;
mod time;
#[cfg(feature = "tokenizers")]
mod tokens;
mod unit;

mod column;
mod mapped;

mod columns;
mod request;

#[cfg(any(feature = "arrow", feature = "parquet"))]
mod cells;
mod lines;
mod records;

mod guess;

#[cfg(feature = "arrow")]
mod arrow;
mod audio;
mod delimited;
mod jsonl;
mod kaldi;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod steps;
mod text;

mod reader;

pub use self::{
    audio::audio_files,
    column::Column,
    columns::IdColumn,
    format::{Format, UnknownFormat},
    mapped::{Mapped, MappedColumn},
    open::Progress,
    packed::{is_packed, unpacked},
    reader::{Options, Reader, read_from, read_path},
    request::BlankLines,
    steps::{MeasuredStep, read_steps, read_steps_from},
    time::Time,
    unit::{Unit, UnknownUnit},
};
