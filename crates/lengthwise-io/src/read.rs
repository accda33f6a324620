//! Reads the lengths of sequences from files, and the times of measured training steps.
//!
//! A plan of training batches starts from one column of whole numbers: frames, tokens, points,
//! whatever a sequence is measured in. Those numbers already sit in some file next to the data,
//! and this crate takes them from there: a CSV or TSV table, a manifest of JSON lines, a plain
//! text file with one length a line, a one-dimensional `NumPy` array, Kaldi's tables, a column of
//! a Parquet or Arrow file; or it counts what is there, in a text corpus or a directory of audio.
//! There is one reader per format, and every reader keeps the lengths only, and ids if a
//! [`Reader`] is asked for them; the rest of the file streams past. Files packed by gzip or zstd
//! are read as if they were not.
//!
//! A wrong length is worse than no length, because it turns into a wrong plan without a word.
//! So nothing is guessed, rounded, clipped or skipped: a cell that is empty, zero, negative, not
//! whole or too large stops the reading with an [`Error`] that names the file, the line and the
//! value, and whose [`hint`](Error::hint) says what to do about it. What needs no decision is
//! let through: `12.0` is 12, a byte order mark is skipped, and Windows line ends are no one's fault.
//! Blank lines between values are left out and counted, for whoever wants to look after them.
//!
//! ```
//! use lengthwise_io::read::{Format, Options, read_from};
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
//! # Ok::<(), lengthwise_io::read::Error>(())
//! ```

#[cfg(feature = "arrow")]
mod arrow;
mod audio;
mod blanks;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod cells;
mod columns;
mod delimited;
mod format;
mod ids;
mod jsonl;
mod kaldi;
mod lines;
mod map;
mod mapped;
mod npy;
mod number;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
mod progress;
mod reader;
mod records;
mod request;
mod spool;
mod steps;
mod tail;
mod text;
mod time;
#[cfg(feature = "tokenizers")]
mod tokens;
mod unit;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use crate::error::Error;
pub use crate::ids::Ids;
pub use format::{Format, UnknownFormat};
pub use ids::IdColumn;
pub use mapped::{Mapped, MappedColumn};
pub use progress::Progress;
pub use reader::{BlankLines, Reader};
pub use steps::MeasuredStep;
pub use time::Time;
pub use unit::{Unit, UnknownUnit};

/// Where in a file the lengths are. A [`Reader`] takes these and more.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The column of a table or the field of a JSON object that holds the lengths; a table also
    /// takes the number of the column, from 1, and JSON a path with dots. `None` takes the only
    /// column, or the first that has one of the usual names.
    pub column: Option<String>,
    /// The format; `None` goes by the file name. [`read_from`] has its own and ignores this one.
    pub format: Option<Format>,
}

/// Lengths as read, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The header or the JSON field they were under, if there was one.
    pub name: Option<String>,
    /// One length per sequence, each at least 1; never empty.
    pub lengths: Vec<u32>,
    /// One id per sequence, if ids were asked for.
    pub ids: Option<Ids>,
    /// What was left out without being refused: blank lines before the last value, and files of a
    /// directory that are not audio.
    pub skipped: u64,
    /// If blank lines were left out, the number of the first, from 1.
    pub first_skipped: Option<u64>,
    /// Lengths that come before those in the list. No column that is handed out has any.
    spool: Option<spool::Spool>,
}

/// Reads the lengths in the file at `path`.
///
/// ```
/// # use std::path::Path;
/// # use lengthwise_io::read::{Options, read_path};
/// let error = read_path(Path::new("no/such/file.csv"), &Options::default()).unwrap_err();
/// assert!(error.to_string().starts_with("no/such/file.csv: "));
/// ```
pub fn read_path(path: &Path, options: &Options) -> Result<Column, Error> {
    Reader::from(options).read_path(path)
}

/// Reads lengths from any reader, such as standard input. Messages call it `source`.
pub fn read_from(
    reader: impl Read,
    source: &str,
    format: Format,
    options: &Options,
) -> Result<Column, Error> {
    Reader::from(options).read_from(reader, source, format)
}

/// The audio files below a folder that its lengths are read from, in the order of their paths.
pub fn audio_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    audio::files(folder)
}

/// What a reader has, unpacked if it is packed by gzip or zstd. Its first four bytes are waited for.
pub fn unpacked(reader: impl Read) -> std::io::Result<impl Read> {
    packed::Unpacked::new(reader)
}

/// Whether bytes begin as those of gzip and zstd do.
pub fn is_packed(start: &[u8]) -> bool {
    packed::is(start)
}

/// Reads measured training steps from the CSV file at `path`, which has the columns `batch_size`,
/// `batch_length` and `seconds`.
pub fn read_steps(path: &Path) -> Result<Vec<MeasuredStep>, Error> {
    let source = path.display().to_string();
    let file = reader::open(path).map_err(|error| error.in_source(&source))?;
    read_steps_from(file, &source)
}

/// Reads measured training steps as CSV from any reader. Messages call it `source`.
///
/// ```
/// use lengthwise_io::read::read_steps_from;
///
/// let table = "batch_size,batch_length,seconds\n16,400,0.0125\n";
/// let steps = read_steps_from(table.as_bytes(), "stdin")?;
/// assert_eq!((steps[0].batch_size, steps[0].batch_length), (16, 400));
/// # Ok::<(), lengthwise_io::read::Error>(())
/// ```
pub fn read_steps_from(reader: impl Read, source: &str) -> Result<Vec<MeasuredStep>, Error> {
    steps::read(reader).map_err(|error| error.in_source(source))
}
