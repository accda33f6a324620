//! Reading a plan batch by batch: no more of it is in memory than one batch, and a few bytes about
//! each of the others.

use std::fmt;
use std::path::{Path, PathBuf};

use lengthwise::Provenance;

use crate::error::Error;
use crate::guard::guarded;
use crate::plan::batchwise::{About, StreamedBatch, Table, whole};
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::{form::Form, json::Lines, npz, whole::opened};

/// The batches of a plan file, one after another: NPZ, Parquet and JSON lines. JSON is one object and
/// is read as a whole; so are plans with ids or chunks, plans of two lengths, and plans that were
/// assigned to ranks ([`read_plan`](crate::read_plan)).
///
/// The file is checked at its end: if it was altered, the last item is an error, and you must not use
/// what came before. For JSON lines the checksum is checked, for the others the digest too.
///
/// ```no_run
/// use std::path::Path;
/// use lengthwise_io::PlanStream;
///
/// let mut sequences = 0;
/// for batch in PlanStream::open(Path::new("plan.npz"))? {
///     sequences += batch?.sequences.len();
/// }
/// # Ok::<(), lengthwise_io::Error>(())
/// ```
pub struct PlanStream {
    path: PathBuf,
    about: About,
    source: Source,
    done: bool,
}

enum Source {
    Lines(Box<Lines>),
    Table(Box<Table>),
}

impl PlanStream {
    /// Opens a file of the [`Form`] that its name tells.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let of_table = |(about, table)| (about, Source::Table(Box::new(table)));
        let (about, source) = opened(path, |file, form| match form {
            Form::Json => Err(whole("is one JSON object, and cannot be read batch by batch")),
            Form::JsonLines => {
                Lines::open(file).map(|(about, lines)| (about, Source::Lines(Box::new(lines))))
            }
            Form::Npz => npz::stream(file).map(of_table),
            #[cfg(feature = "parquet")]
            Form::Parquet => parquet::read::stream(file).map(of_table),
        })?;
        Ok(Self { path: path.to_owned(), about, source, done: false })
    }

    /// How many bytes it takes to [open](PlanStream::open) a file, found without taking them: a few bytes
    /// for each batch, and for each over-long sequence. Of JSON lines it is one line.
    pub fn memory_of(path: &Path) -> Result<u64, Error> {
        opened(path, |file, form| match form {
            Form::Json | Form::JsonLines => Ok(0),
            Form::Npz => npz::memory_of(file),
            #[cfg(feature = "parquet")]
            Form::Parquet => parquet::read::memory_of(file),
        })
    }

    /// How the plan was made, according to the file; it is verified at the end.
    pub fn provenance(&self) -> &Provenance {
        &self.about.made
    }

    /// The digest of the plan, according to the file; it is verified at the end.
    pub fn digest(&self) -> u64 {
        self.about.digest
    }

    /// How many bytes are held for batches that are to come.
    pub fn memory(&self) -> u64 {
        match &self.source {
            Source::Lines(lines) => lines.last.len() as u64,
            Source::Table(table) => table.memory(),
        }
    }

    /// Refuses lines of more than this many bytes, in JSON lines. The line of the over-long sequences
    /// takes about three times its bytes in memory, and grows with their number.
    #[must_use]
    pub fn longest_line(mut self, bytes: u64) -> Self {
        if let Source::Lines(lines) = &mut self.source {
            lines.longest = bytes;
        }
        self
    }

    /// Whether the over-long sequences are known before the batches; of JSON lines they are not.
    pub fn knows_over_long(&self) -> bool {
        matches!(self.source, Source::Table(_))
    }

    /// The sequences that exceed the budget even alone; of JSON lines they are known at the end.
    pub fn over_long(&self) -> &[u32] {
        &self.about.over_long
    }
}

impl fmt::Debug for PlanStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanStream").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Iterator for PlanStream {
    type Item = Result<StreamedBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let About { made, digest, over_long } = &mut self.about;
        let next = match &mut self.source {
            Source::Lines(lines) => lines.next(made, over_long),
            Source::Table(table) => guarded(|| table.next(*digest), Error::gave_up),
        };
        self.done = !matches!(next, Ok(Some(_)));
        next.map_err(|error| error.of(&self.path)).transpose()
    }
}
