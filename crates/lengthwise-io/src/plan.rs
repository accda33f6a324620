//! Plans as files: JSON, JSON lines, NPZ or Parquet, with how they were made and a checksum.

mod content;
mod document;
mod exact;
mod header;
mod ids;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod sheet;
mod stream;
mod write;

use std::{
    io::{self, Write},
    path::Path,
};

use lengthwise::{Chunks, Counts, Cursor, Lengths, Plan, Schedule};

pub use exact::Exact;
pub use read::{read_plan, read_plan_exact, read_plan_exact_from, read_plan_from};
pub use sheet::LoosePlanFile;
pub use stream::{PlanStream, StreamedBatch};

use crate::{Error, ids::Ids, save};

/// In which form a plan is written.
///
/// A file has version 1, or version 2 if it has ids: a release that knows nothing of ids refuses it,
/// and reads all others. Where sequences have two lengths it has version 3, or 4 with ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// One object. If there are ids, `ids` has a list for each list in `batches`.
    Json,
    /// One object a batch, with its `ids` if there are any, then one about all of them.
    JsonLines,
    /// Arrays for `numpy.load`, in a zip that is not packed.
    ///
    /// | array | type | what |
    /// |---|---|---|
    /// | `indices` | `uint32` | the sequences of all batches, one batch after another |
    /// | `ends` | `uint32` | where each batch ends in `indices` |
    /// | `batch_lengths` | `uint32` | what each batch is padded to |
    /// | `positions` | `uint64` | how many positions of each batch are not padding |
    /// | `second_batch_lengths`, `second_positions` | `uint32`, `uint64` | the same of the second of two lengths, if there are two |
    /// | `piece_sequences`, `piece_offsets`, `piece_lengths` | `uint32` | if pieces were planned: where they are from, and how long |
    /// | `over_long` | `uint32` | the over-long sequences, if there are any |
    /// | `id_bytes` | `uint8` | if there are ids: that of every entry of `indices`, in UTF-8, one after another |
    /// | `id_ends` | `uint64` | and where each ends in `id_bytes` |
    /// | `header` | `uint8` | one object in JSON: the rest |
    ///
    /// The header ends with the checksum: XXH3 (64 bits) of the bytes of the arrays in this order,
    /// little-endian, then of the header up to `,"checksum"`. What a zip says besides, such as the
    /// date of an array, is looked at by [`read_plan_exact`] alone: what NumPy saves again is the same
    /// plan, in other bytes.
    ///
    /// NumPy has no texts of various lengths: one long id would make all of them as long, and zeros at
    /// the end of an id would be lost. This gives them back:
    ///
    /// ```python
    /// raw, ends = plan["id_bytes"].tobytes(), plan["id_ends"].tolist()
    /// ids = [raw[start:end].decode() for start, end in zip([0, *ends], ends)]
    /// ```
    Npz,
    /// A table with a row for each sequence, in the order of the plan, without nulls.
    ///
    /// | column | type | what |
    /// |---|---|---|
    /// | `batch` | `uint32` | the number of its batch, from 0 |
    /// | `batch_length` | `uint32` | what its batch is padded to |
    /// | `batch_positions` | `uint64` | how many positions of its batch are not padding |
    /// | `second_batch_length`, `second_batch_positions` | `uint32`, `uint64` | the same of the second of two lengths, if there are two |
    /// | `sequence` | `uint32` | its number |
    /// | `offset`, `length` | `uint32` | if pieces were planned: where in its sequence this one begins, and how long it is |
    /// | `id` | string | the id of its sequence, if there are ids |
    ///
    /// The rest is one object in JSON, under `lengthwise` in the metadata of the file. It ends with
    /// the checksum: XXH3 (64 bits) of the columns in this order, little-endian, each id behind its
    /// number of bytes in 32 bits, then of the object up to `,"checksum"`. [`read_plan_exact`] looks at
    /// the rest of the file too.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Form {
    /// The form that the name of a file tells: `.json`, `.jsonl`, `.npz` or `.parquet`.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let (what, hint) = match extension.as_deref() {
            Some("json") => return Ok(Form::Json),
            Some("jsonl") => return Ok(Form::JsonLines),
            Some("npz") => return Ok(Form::Npz),
            #[cfg(feature = "parquet")]
            Some("parquet") => return Ok(Form::Parquet),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => (
                "this build neither reads nor writes Parquet files",
                "name the file .json, .jsonl or .npz, or build with the feature `parquet`",
            ),
            _ => ("unknown format of a plan", "name the file .json, .jsonl, .npz or .parquet"),
        };
        Err(Error::of_plan(what).hint_to(hint).of(path))
    }
}

/// A plan, and what its file says besides.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The batches, and how they were made.
    pub plan: Plan,
    /// How many positions of each batch are not padding.
    pub positions: Vec<u64>,
    /// The same of second lengths; empty if sequences have one.
    pub second_positions: Vec<u64>,
    /// The id of the sequence at each place of the plan, if sequences have ids; of a piece, that of
    /// the sequence it is from. There are as many as indices in the batches.
    pub ids: Option<Ids>,
    /// Where the pieces are from that the batches name, if sequences were cut.
    pub chunks: Option<Chunks>,
    /// How the batches were dealt to ranks, if they were.
    pub ranks: Option<Ranks>,
}

/// How the batches of a file were dealt to ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The number of ranks.
    pub world_size: u32,
    /// The rank whose batches these are; all ranks' if there is none.
    pub rank: Option<u32>,
    /// How many batches each rank takes in a step.
    pub accumulate: u32,
    /// How many steps these batches are.
    pub steps: u64,
    /// How many steps of the epoch come after them.
    pub steps_left: u64,
    /// Where the epoch stood before them, if it was begun before.
    pub cursor: Option<Cursor>,
    /// The counts of all ranks together, step by step.
    pub step_counts: Vec<Counts>,
    /// The sequences in no step, because the tail is dropped.
    pub dropped: Vec<u32>,
    /// The sequences of all ranks that were met before, as often as they were.
    pub repeated: Vec<u32>,
}

impl Ranks {
    /// What a file says of a schedule for all ranks, or for one of them.
    ///
    /// # Panics
    ///
    /// When `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn of(schedule: &Schedule, rank: Option<u32>, lengths: &Lengths) -> Self {
        Self {
            world_size: schedule.world_size(),
            rank,
            accumulate: schedule.accumulate(),
            steps: schedule.len() as u64,
            steps_left: 0,
            cursor: None,
            step_counts: schedule.counts(lengths),
            dropped: schedule.dropped(),
            repeated: schedule.repeated(),
        }
    }

    /// How many batches these steps have, if they can be counted.
    fn batches(&self) -> Option<u64> {
        let ranks = if self.rank.is_some() { 1 } else { self.world_size };
        self.steps.checked_mul(u64::from(ranks) * u64::from(self.accumulate))
    }
}

impl PlanFile {
    /// The file of a plan.
    ///
    /// # Panics
    ///
    /// When `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn new(plan: Plan, lengths: &Lengths) -> Self {
        let counts = plan.counts(lengths);
        let positions = counts.iter().map(|counts| counts.positions).collect();
        let second_positions = match plan.second_batch_lengths() {
            Some(_) => counts.iter().map(|counts| counts.second_positions).collect(),
            None => Vec::new(),
        };
        Self { plan, positions, second_positions, ids: None, chunks: None, ranks: None }
    }

    /// With the id of everything in the batches: `id` gives that of an index, which is a piece where
    /// pieces were planned.
    #[must_use]
    pub fn ids<'a>(mut self, id: impl Fn(u32) -> &'a str) -> Self {
        self.ids = Some(self.plan.indices().iter().map(|&index| id(index)).collect());
        self
    }

    /// With where the pieces are from that were planned.
    #[must_use]
    pub fn chunks(mut self, chunks: Chunks) -> Self {
        self.chunks = Some(chunks);
        self
    }

    /// With how the batches were dealt to ranks.
    #[must_use]
    pub fn ranks(mut self, ranks: Ranks) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Writes the file to `output`, bit by bit.
    pub fn write(&self, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
        let count = self.plan.indices().len();
        if let Some(ids) = self.ids.as_ref().filter(|ids| ids.len() != count) {
            let what = format!("has {} ids for {count} sequences", ids.len());
            let hint = "give one id for each index in its batches";
            return Err(io::Error::other(Error::of_plan(what).hint_to(hint)));
        }
        self.sheet().write(form, output)
    }

    /// Writes the file whole or not at all, in the form that its name tells.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let form = Form::of_path(path)?;
        save(path, |file| self.write(form, file))
    }
}

/// Two files are equal when they say the same.
impl PartialEq for PlanFile {
    fn eq(&self, other: &Self) -> bool {
        let pieces = |file: &Self| file.chunks.as_ref().map(document::Pieces::new);
        self.plan == other.plan
            && self.plan.made() == other.plan.made()
            && self.positions == other.positions
            && self.second_positions == other.second_positions
            && self.ids == other.ids
            && pieces(self) == pieces(other)
            && self.ranks == other.ranks
    }
}
