//! Plans, cursors, statistics and cost models as files.
//!
//! A plan file is JSON (one object), JSON lines (one object a batch), NPZ (arrays) or Parquet (a
//! table; feature `parquet`): see [`Form`]. It says how the plan was made, and has a checksum of all
//! that it says: a file that was cut off, or says something else, is refused, and never becomes other
//! batches. [`read_plan_exact`] also refuses one whose zip or table was altered in what the checksum is
//! not of. A [`PlanFile`] that was read equals the one that was written, and its plan can be dealt to
//! ranks as if it had just been made.
//!
//! ```
//! use lengthwise::{Blurred, Budget, Example, Planner};
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
//! [`Statistics`](lengthwise::Statistics) are a few bytes for every distinct length, with a checksum.
//!
//! A [`Cursor`](lengthwise::Cursor) is one line of JSON, small enough for every checkpoint, and so is a
//! [`StreamState`](lengthwise::StreamState).
//!
//! Files appear whole or not at all ([`save`](save())).

mod cost_model;
mod cursor;
mod error;
pub mod guard;
mod hex;
mod ids;
mod plan;
pub mod read;
mod remedy;
mod save;
mod statistics;
mod stream;
mod text;

pub use cost_model::{CostModelFile, WorstStep, model_file, model_file_of_budget, read_cost_model};
pub use cursor::{from_json, read_cursor, save_cursor, to_json};
pub use error::Error;
pub use ids::Ids;
pub use plan::{
    Exact, Form, LoosePlanFile, PlanFile, PlanStream, Ranks, StreamedBatch, read_plan,
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
