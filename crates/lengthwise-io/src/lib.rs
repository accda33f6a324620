//! Everything that lengthwise keeps in files: it reads lengths from tables, manifests, arrays, texts and audio,
//! and writes and reads plans, cursors, statistics and cost models.
//!
//! # Lengths
//!
//! A plan starts from one column of whole numbers: frames, tokens, points, or whatever a sequence is
//! measured in. These numbers are usually in some file next to the data. A [`Reader`] reads them: from
//! a CSV or TSV table, a manifest of JSON lines, a text file with one length per line, a
//! one-dimensional `NumPy` array, Kaldi's tables, or a column of a Parquet or Arrow file. It also
//! counts: words in a text corpus, samples in a directory of audio.
//!
//! A wrong length is worse than none, because it silently becomes a wrong plan. So nothing is guessed, rounded,
//! clipped or skipped. A cell that is empty, zero, negative, not whole or too large is an [`Error`] that names the
//! file, the line and the value, and whose [`hint`](Error::hint) says what to do. What needs no decision is
//! accepted: `12.0` is 12, a byte order mark is skipped, and so are Windows line ends. Blank lines between values
//! are left out and counted.
//!
//! ```
//! use lengthwise_io::{Format, Options, read_from};
//!
//! let table = "id,frames\na,470\nb,312\n";
//! let column = read_from(table.as_bytes(), "stdin", Format::Csv, &Options::default())?;
//! assert_eq!(column.name.as_deref(), Some("frames"));
//! assert_eq!(column.lengths, [470, 312]);
//!
//! let table = "id,frames\na,470\nb,4.7\n";
//! let error = read_from(table.as_bytes(), "stdin", Format::Csv, &Options::default()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "stdin:3: column `frames` holds `4.7`, which is not a whole number"
//! );
//! # Ok::<(), lengthwise_io::Error>(())
//! ```
//!
//! # Plans
//!
//! A plan file is JSON (one object), JSON lines (one object per batch), NPZ (arrays) or Parquet (a
//! table; feature `parquet`): see [`Form`]. It holds how the plan was made, and a checksum of its
//! content. A file that was cut off or altered is refused, and never becomes other batches.
//! [`read_plan_exact`] also refuses a file whose zip or table was altered outside the checksum. A
//! [`PlanFile`] that was read equals the one that was written.
//!
//! ```
//! use lengthwise::{Budget, Example, Planner, strategy::Blurred};
//! use lengthwise_io::{Form, PlanFile, read_plan_from};
//!
//! let lengths = Example::Bimodal.lengths();
//! let plan = Planner::new(Blurred::default(), Budget::padded(16_000)).plan(&lengths, 3)?;
//! let file = PlanFile::new(plan, &lengths);
//! let mut bytes = Vec::new();
//! file.write(Form::Json, &mut bytes)?;
//! assert_eq!(read_plan_from(&bytes, Form::Json)?, file);
//!
//! bytes[1000] ^= 1;
//! assert!(read_plan_from(&bytes, Form::Json).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Statistics`](lengthwise::shard::Statistics) are a few bytes for every distinct length, with a checksum.
//!
//! A [`Cursor`](lengthwise::Cursor) is one line of JSON, small enough for every checkpoint, and so is a
//! [`StreamState`](lengthwise::stream::StreamState).
//!
//! Files appear whole or not at all ([`save`](save())).

// Each group of modules uses only itself and those before it.
pub mod guard;
mod hex;
pub mod memory;
mod system;
mod text;

mod remedy;

mod error;

mod ids;
mod npy;
mod record;
mod save;

mod cost_model;
mod cursor;
mod read;
mod statistics;
mod stream;

mod plan;

pub use cost_model::{CostModelFile, WorstStep, model_file, model_file_of_budget, read_cost_model};
pub use cursor::{from_json, read_cursor, save_cursor, to_json};
pub use error::Error;
pub use ids::Ids;
pub use plan::{
    Exact, Form, PlanFile, PlanStream, Ranks, SpanPlanFile, StreamedBatch, read_plan,
    read_plan_exact, read_plan_exact_from, read_plan_from,
};
pub use read::{
    BlankLines, Column, Format, IdColumn, Mapped, MappedColumn, MeasuredStep, Options, Progress,
    Reader, Time, Unit, UnknownFormat, UnknownUnit, audio_files, is_packed, read_from, read_path,
    read_steps, read_steps_from, unpacked,
};
pub use remedy::{Remedy, Setting};
pub use save::{Written, save, unfinished};
pub use statistics::{
    is_statistics, read_statistics, save_statistics, statistics_from_bytes, statistics_to_bytes,
};
pub use stream::{read_stream_state, save_stream_state, stream_from_json, stream_to_json};

/// The example of the README is a test too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
