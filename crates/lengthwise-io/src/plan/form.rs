//! The forms of a plan file.

use std::path::Path;

use crate::error::Error;

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
    /// date of an array, is looked at by [`read_plan_exact`](crate::read_plan_exact) alone: what NumPy saves again is the same
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
    /// number of bytes in 32 bits, then of the object up to `,"checksum"`. [`read_plan_exact`](crate::read_plan_exact) looks at
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
