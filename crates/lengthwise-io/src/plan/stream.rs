//! Reading a plan batch by batch: no more of it is in memory than one batch, and a few bytes about
//! each of the others.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take},
    path::{Path, PathBuf},
};

use lengthwise::Made;
use xxhash_rust::xxh3::Xxh3;

#[cfg(feature = "parquet")]
use super::parquet;
use super::{
    Form,
    content::Content,
    document::{Wrong, digest},
    header::Unchecked,
    npz,
    read::{Last, Line, check_content, parsed},
};
use crate::{Error, guard::guarded, hex::hex};

/// One batch of a [`PlanStream`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamedBatch {
    /// Its sequences.
    pub sequences: Vec<u32>,
    /// What they are padded to.
    pub length: u32,
    /// How many of its positions are not padding.
    pub positions: u64,
}

/// The batches of a plan file, one after another: NPZ, Parquet and JSON lines. JSON is one object,
/// and is read as a whole, as are plans with ids or pieces, of two lengths, and those that were dealt
/// to ranks ([`read_plan`](super::read_plan)).
///
/// What it hands out is checked when all of it was: if the file is not what was written, the last
/// item is an error, and what came before is not to be believed. Of JSON lines the checksum is looked
/// at, of the others the digest too.
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
#[derive(Debug)]
pub struct PlanStream {
    path: PathBuf,
    made: Made,
    digest: u64,
    over_long: Vec<u32>,
    source: Source,
    done: bool,
}

#[derive(Debug)]
enum Source {
    Lines(Box<Lines>),
    Table(Box<Table>),
}

impl PlanStream {
    /// Opens a file of the [`Form`] that its name tells.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let form = Form::of_path(path)?;
        let open = || {
            if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { File::open(path) }
        };
        let opened = open().map_err(|error| unreadable(&error)).and_then(|file| match form {
            Form::Json => {
                Err(whole("is one object of JSON, which has no batches to come one by one"))
            }
            Form::JsonLines => Lines::open(file),
            Form::Npz => guarded(|| npz::stream(file), Error::gave_up).and_then(Table::opened),
            #[cfg(feature = "parquet")]
            Form::Parquet => {
                guarded(|| parquet::stream(file), Error::gave_up).and_then(Table::opened)
            }
        });
        let (about, source) = opened.map_err(|error| error.of(path))?;
        let About { made, digest, over_long } = about;
        Ok(Self { path: path.to_owned(), made, digest, over_long, source, done: false })
    }

    /// How many bytes it takes to [open](PlanStream::open) a file, found without taking them: a few bytes
    /// for each batch, and for each over-long sequence. Of JSON lines it is one line.
    pub fn memory_of(path: &Path) -> Result<u64, Error> {
        let form = Form::of_path(path)?;
        if path.is_dir() {
            return Err(unreadable(&io::ErrorKind::IsADirectory.into()).of(path));
        }
        let file = File::open(path).map_err(|error| unreadable(&error).of(path))?;
        let bytes = match form {
            Form::Json | Form::JsonLines => Ok(0),
            Form::Npz => guarded(|| npz::memory_of(file), Error::gave_up),
            #[cfg(feature = "parquet")]
            Form::Parquet => guarded(|| parquet::memory_of(file), Error::gave_up),
        };
        bytes.map_err(|error| error.of(path))
    }

    /// How the plan was made, as the file says: believe it at the end.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// The digest of the plan, as the file says: believe it at the end.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// How many bytes are held for batches that are to come.
    pub fn memory(&self) -> u64 {
        match &self.source {
            Source::Lines(lines) => lines.last.len() as u64,
            Source::Table(table) => {
                (16 * table.ends.len() + 8 * table.over_long.len() + table.header.len()) as u64
            }
        }
    }

    /// Refuses lines of more than so many bytes, of JSON lines. A line of the over-long sequences takes
    /// about three times its bytes in memory, and is as long as they are many.
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
        &self.over_long
    }
}

impl Iterator for PlanStream {
    type Item = Result<StreamedBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let Self { made, over_long, source, .. } = self;
        let next = match source {
            Source::Lines(lines) => lines.next(made, over_long),
            Source::Table(table) => guarded(|| table.next(self.digest), Error::gave_up),
        };
        self.done = !matches!(next, Ok(Some(_)));
        next.map_err(|error| error.of(&self.path)).transpose()
    }
}

/// What is known before the batches.
struct About {
    made: Made,
    digest: u64,
    over_long: Vec<u32>,
}

fn unreadable(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::not_a_plan("it ends early"),
        _ => Error::unreadable("plan", error),
    }
}

/// A plan that cannot be read batch by batch.
fn whole(why: &str) -> Error {
    Error::of_plan(why).hint_to(
        "read it as a whole (without {memory}), or write the plan to a file .npz, .parquet or .jsonl",
    )
}

const MORE: &str = "has ids or pieces, or was dealt to ranks, and does not come batch by batch";

/// The lines of a file of JSON lines.
#[derive(Debug)]
struct Lines {
    /// All lines but the last.
    others: Take<BufReader<File>>,
    last: Vec<u8>,
    hash: Xxh3Debug,
    number: u64,
    text: Vec<u8>,
    /// The most bytes of a line.
    longest: u64,
}

/// The last line is looked for in so many bytes.
const LONGEST_LAST: u64 = 1 << 26;

impl Lines {
    fn open(mut file: File) -> Result<(About, Source), Error> {
        let (start, last) = last_line(&mut file).map_err(|error| unreadable(&error))?;
        Unchecked::new(&last)?.check_one_length()?;
        let about: Last = parsed(&last)?;
        if about.chunks.is_some() || about.ranks.is_some() {
            return Err(whole(MORE));
        }
        let wrong = |why: Wrong| Error::not_a_plan(&why);
        let made = about.made.made().map_err(wrong)?;
        let digest = digest("digest", &about.digest).map_err(wrong)?;
        file.rewind().map_err(|error| unreadable(&error))?;
        let others = BufReader::with_capacity(1 << 20, file).take(start);
        let hash = Xxh3Debug(Xxh3::new());
        let lines = Self { others, last, hash, number: 0, text: Vec::new(), longest: u64::MAX };
        Ok((About { made, digest, over_long: Vec::new() }, Source::Lines(Box::new(lines))))
    }

    fn next(
        &mut self,
        made: &Made,
        over_long: &mut Vec<u32>,
    ) -> Result<Option<StreamedBatch>, Error> {
        loop {
            self.text.clear();
            let read = (&mut self.others).take(self.longest).read_until(b'\n', &mut self.text);
            let read = read.map_err(|error| unreadable(&error))?;
            if read as u64 == self.longest && !self.text.ends_with(b"\n") {
                return Err(self.too_long().at(self.number + 1));
            }
            if read == 0 {
                check_content(&self.last, self.hash.0.clone())?;
                return Ok(None);
            }
            self.hash.0.update(&self.text);
            self.number += 1;
            let number = self.number;
            let line: Line = parsed(&self.text).map_err(|error| error.at(number))?;
            if line.ids.is_some() || line.offsets.is_some() || line.second_batch_length.is_some() {
                return Err(whole(MORE));
            }
            match (line.over_long, line.batch_length, line.positions) {
                (Some(treatment), ..) if treatment == made.over_long.to_string() => {
                    *over_long = line.sequences;
                }
                (None, Some(length), Some(positions))
                    if length > 0 && !line.sequences.is_empty() =>
                {
                    let sequences = line.sequences;
                    return Ok(Some(StreamedBatch { sequences, length, positions }));
                }
                _ => {
                    let why = "a line is neither a batch nor the over-long sequences";
                    return Err(Error::not_a_plan(why).at(number));
                }
            }
        }
    }
}

impl Lines {
    /// How long the line is that was begun, and what memory it takes.
    fn too_long(&mut self) -> Error {
        let rest = self.others.skip_until(b'\n').unwrap_or_default() as u64;
        let all = self.longest + rest;
        let [all, more] = [all, 3 * rest].map(|bytes| bytes.div_ceil(100_000) as f64 / 10.0);
        let what = format!("has a line of {all} MB, which the bound on memory leaves no room for");
        Error::of_plan(what)
            .hint_with("raise the bound by {} MB or more ({memory})", &[&more.to_string()])
    }
}

/// Where the last line begins, and the line.
fn last_line(file: &mut File) -> io::Result<(u64, Vec<u8>)> {
    let size = file.metadata()?.len();
    let mut window = 1 << 16;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(size - start).read_to_end(&mut bytes)?;
        let without_end = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let found = without_end.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
        if let Some(at) = found.or((start == 0).then_some(0)) {
            return Ok((start + at as u64, bytes.split_off(at)));
        }
        if window >= LONGEST_LAST {
            // No last line is that long where no ranks are in it.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        window *= 16;
    }
}

/// A hash that says nothing of itself.
#[derive(Clone)]
pub(super) struct Xxh3Debug(pub(super) Xxh3);

impl std::fmt::Debug for Xxh3Debug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Xxh3")
    }
}

/// The indices of a file, some at a time.
pub(super) trait Indices: std::fmt::Debug + Send {
    /// Adds at least one to the list; false at their end.
    fn more(&mut self, into: &mut Vec<u32>) -> Result<bool, Error>;
}

/// A file with all indices in one place, and a table of the batches.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) header: Vec<u8>,
    pub(super) indices: Box<dyn Indices>,
    /// How many indices there are.
    pub(super) count: usize,
    pub(super) ends: Vec<u32>,
    pub(super) lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
    pub(super) over_long: Vec<u32>,
    /// The checksum up to the indices, and what it goes on with behind them.
    pub(super) hash: Xxh3Debug,
    pub(super) behind: fn(&Table, &mut Xxh3),
    /// The digest up to the indices.
    pub(super) digest: Xxh3Debug,
    /// Indices that were read, and where those of the next batch begin.
    pub(super) waiting: Vec<u32>,
    pub(super) start: usize,
    pub(super) next: usize,
}

impl Table {
    fn opened(mut self) -> Result<(About, Source), Error> {
        let Content { digest: written, made, over_long, chunks, ranks, .. } =
            Unchecked::new(&self.header)?.unchecked()?;
        if chunks.is_some() || ranks.is_some() {
            return Err(whole(MORE));
        }
        let digest = digest("digest", &written).map_err(|why| Error::not_a_plan(&why))?;
        let (batches, lengths, positions) =
            (self.ends.len(), self.lengths.len(), self.positions.len());
        if batches != lengths || batches != positions {
            let why = format!("{batches} batches, {lengths} batch lengths, {positions} positions");
            return Err(Error::not_a_plan(&why));
        }
        let last = self.ends.last().map_or(0, |&end| end as usize);
        if last != self.count
            || !self.ends.is_sorted_by(|a, b| a < b)
            || self.ends.first() == Some(&0)
        {
            let why =
                format!("its batches do not end one after another, at {} at last", self.count);
            return Err(Error::not_a_plan(&why));
        }
        let mut hash = Xxh3::new();
        hash.update(&(batches as u32).to_le_bytes());
        add(&mut hash, self.ends.iter().map(|end| end.to_le_bytes()));
        add(&mut hash, self.lengths.iter().map(|length| length.to_le_bytes()));
        self.digest = Xxh3Debug(hash);
        if self.over_long.is_empty() {
            self.over_long = over_long;
        }
        let over_long = self.over_long.clone();
        Ok((About { made, digest, over_long }, Source::Table(Box::new(self))))
    }

    fn next(&mut self, digest: u64) -> Result<Option<StreamedBatch>, Error> {
        let Some(&end) = self.ends.get(self.next) else {
            return self.finish(digest).map(|()| None);
        };
        let before = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        let size = (end - before) as usize;
        while self.waiting.len() - self.start < size {
            if self.start > 0 {
                self.waiting.drain(..self.start);
                self.start = 0;
            }
            let held = self.waiting.len();
            if !self.indices.more(&mut self.waiting)? {
                return Err(Error::not_a_plan("it has fewer sequences than its batches"));
            }
            let new = || self.waiting[held..].iter().map(|index| index.to_le_bytes());
            add(&mut self.hash.0, new());
            add(&mut self.digest.0, new());
        }
        let sequences = self.waiting[self.start..self.start + size].to_vec();
        self.start += size;
        let (length, positions) = (self.lengths[self.next], self.positions[self.next]);
        if length == 0 {
            return Err(Error::not_a_plan(&format!("batch {} is empty", self.next)));
        }
        self.next += 1;
        Ok(Some(StreamedBatch { sequences, length, positions }))
    }

    /// Refuses what does not have its checksum and its digest.
    fn finish(&mut self, digest: u64) -> Result<(), Error> {
        let mut rest = Vec::new();
        if self.start < self.waiting.len() || self.indices.more(&mut rest)? {
            return Err(Error::not_a_plan("it has more sequences than its batches"));
        }
        let mut hash = self.hash.0.clone();
        (self.behind)(self, &mut hash);
        Unchecked::new(&self.header)?.check(hash)?;
        match self.digest.0.digest() {
            actual if actual == digest => Ok(()),
            actual => {
                let (written, actual) = (hex(digest), hex(actual));
                let what =
                    format!("has been altered: its digest is {written}, its batches have {actual}");
                Err(Error::damaged("plan", what))
            }
        }
    }
}

/// Adds numbers to a hash.
pub(super) fn add<const SIZE: usize>(hash: &mut Xxh3, numbers: impl Iterator<Item = [u8; SIZE]>) {
    let mut bytes = Vec::with_capacity(1 << 13);
    for number in numbers {
        bytes.extend_from_slice(&number);
        if bytes.len() >= 1 << 13 {
            hash.update(&bytes);
            bytes.clear();
        }
    }
    hash.update(&bytes);
}
