//! JSON files, and JSON lines. They are written bit by bit: the text is never in memory as a whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take, Write};

use lengthwise::{Chunk, Chunks, OverLong, Provenance};
use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::hex::hex;
use crate::ids::Ids;
use crate::plan::batchwise::{About, MORE, StreamedBatch, unreadable, whole};
use crate::plan::content::{AssignedRead, Batches, Content, Seconds, Sheet};
use crate::plan::file::{Pieces, PlanFile, Ranks, piece_at};
use crate::plan::header::{Remaining, Unchecked, check_content, check_version, parsed, unsealed};

/// The whole of a JSON file, as it is read.
#[derive(Deserialize)]
struct Document {
    digest: String,
    batches: Batches,
    ids: Option<Batches<Ids>>,
    batch_lengths: Vec<u32>,
    second_batch_lengths: Option<Vec<u32>>,
    #[serde(default)]
    left_out: Vec<u32>,
    #[serde(default)]
    truncated: Vec<u32>,
    #[serde(default)]
    alone: Vec<u32>,
    chunks: Option<Pieces>,
    positions: Vec<u64>,
    second_positions: Option<Vec<u64>>,
    made: Provenance,
    ranks: Option<AssignedRead>,
}

pub(super) fn read(bytes: &[u8]) -> Result<PlanFile, Error> {
    let version = check_version(bytes)?;
    check_content(bytes, Xxh3::new())?;
    let file: Document = parsed(bytes)?;
    if file.ids.as_ref().is_some_and(|ids| ids.ends != file.batches.ends) {
        return Err(Error::not_a_plan("its ids are not in lists as long as its batches"));
    }
    let mut content = Content::new(version, file.digest, file.made, file.chunks, file.ranks)?;
    content.over_long = match content.made.over_long {
        OverLong::Alone => file.alone,
        OverLong::Drop => file.left_out,
        OverLong::Truncate => file.truncated,
        _ => Vec::new(),
    };
    content.seconds = Seconds::of(file.second_batch_lengths, file.second_positions)?;
    content.batches = file.batches;
    content.batch_lengths = file.batch_lengths;
    content.positions = file.positions;
    content.ids = file.ids.map(|ids| ids.all);
    content.file()
}

/// A line but the last: a batch, or the over-long sequences. Of pieces it names the sequences they are from,
/// and where they begin.
#[derive(Serialize, Deserialize)]
struct Line {
    sequences: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<Vec<u32>>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    lengths: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_batch_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    positions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_positions: Option<u64>,
    #[serde(skip_serializing)]
    over_long: Option<String>,
}

/// The line of the over-long sequences, as it is written.
#[derive(Serialize)]
struct OverLongs<'a> {
    over_long: String,
    sequences: &'a [u32],
}

pub(super) fn read_lines(bytes: &[u8]) -> Result<PlanFile, Error> {
    let (lines, last) = bytes.split_at(last_start(bytes).unwrap_or(0));
    let last = Unchecked::new(last)?;
    check_content(bytes, Xxh3::new())?;
    let mut content = last.unchecked()?;
    content.over_long = Vec::new();
    content.seconds = content.version.has_pairs.then(Seconds::default);
    content.ids = content.version.has_ids.then(Ids::default);
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    for (number, line) in (1..).zip(lines.split(|&byte| byte == b'\n')) {
        if lines.is_empty() {
            break;
        }
        parsed(line).and_then(|line| content.add(line)).map_err(|error| error.at(number))?;
    }
    content.file()
}

/// Where the last of several lines begins.
fn last_start(bytes: &[u8]) -> Option<usize> {
    let without_end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    without_end.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1)
}

impl Content {
    fn add(&mut self, line: Line) -> Result<(), Error> {
        let wrong = |why: &str| Err(Error::not_a_plan(why));
        if let Some(treatment) = line.over_long {
            if treatment != self.made.over_long.to_string() || !self.over_long.is_empty() {
                return wrong("its over-long sequences are not treated as it was made");
            }
            self.over_long = line.sequences;
            return Ok(());
        }
        let (Some(length), Some(positions)) = (line.batch_length, line.positions) else {
            return wrong("a line is neither a batch nor the over-long sequences");
        };
        match (&mut self.ids, line.ids) {
            (None, None) => {}
            (Some(all), Some(ids)) if ids.len() == line.sequences.len() => {
                ids.iter().for_each(|id| all.push(id));
            }
            (Some(_), Some(ids)) => {
                let (ids, count) = (ids.len(), line.sequences.len());
                return wrong(&format!("a batch has {ids} ids for {count} sequences"));
            }
            _ => return wrong("a batch has ids, or none, where its version says otherwise"),
        }
        match (&self.chunks, line.offsets) {
            (None, None) => self.batches.all.extend(line.sequences),
            (Some(chunks), Some(offsets)) if offsets.len() == line.sequences.len() => {
                for at in line.sequences.into_iter().zip(offsets) {
                    match piece_at(chunks, at) {
                        Some(piece) => self.batches.all.push(piece),
                        None => {
                            return wrong("a batch has a chunk that is not in the list of chunks");
                        }
                    }
                }
            }
            _ => return wrong("a batch has chunks, or sequences, against the list of chunks"),
        }
        match (&mut self.seconds, line.second_batch_length, line.second_positions) {
            (None, None, None) => {}
            (Some(seconds), Some(length), Some(positions)) => {
                seconds.batch_lengths.push(length);
                seconds.positions.push(positions);
            }
            _ => return wrong("a batch has a second length, or none, against its version"),
        }
        self.batches.end().map_err(Error::not_a_plan)?;
        self.batch_lengths.push(length);
        self.positions.push(positions);
        Ok(())
    }
}

/// JSON lines that are read batch by batch.
pub(super) struct Lines {
    /// All lines but the last.
    others: Take<BufReader<File>>,
    pub(super) last: Vec<u8>,
    hash: Xxh3,
    number: u64,
    text: Vec<u8>,
    pub(super) longest: u64,
}

/// The last line is looked for in so many bytes.
const LONGEST_LAST: u64 = 1 << 26;

impl Lines {
    pub(super) fn open(mut file: File) -> Result<(About, Self), Error> {
        let (start, last) = last_line(&mut file).map_err(|error| unreadable(&error))?;
        let header = Unchecked::new(&last)?;
        header.check_one_length()?;
        let about = About { over_long: Vec::new(), ..About::new(&header)? };
        file.rewind().map_err(|error| unreadable(&error))?;
        let others = BufReader::with_capacity(1 << 20, file).take(start);
        let (hash, text) = (Xxh3::new(), Vec::new());
        let lines = Self { others, last, hash, number: 0, text, longest: u64::MAX };
        Ok((about, lines))
    }

    /// The next batch; nothing at the end, if the checksum is right.
    pub(super) fn next(
        &mut self,
        made: &Provenance,
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
                check_content(&self.last, self.hash.clone())?;
                return Ok(None);
            }
            self.hash.update(&self.text);
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

    /// How long the line is that was begun, and what memory it takes.
    fn too_long(&mut self) -> Error {
        let rest = self.others.skip_until(b'\n').unwrap_or_default() as u64;
        let all = self.longest + rest;
        let [all, more] = [all, 3 * rest].map(|bytes| bytes.div_ceil(100_000) as f64 / 10.0);
        let what = format!("has a line of {all} MB, over the bound on memory");
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
        if let Some(at) = last_start(&bytes).or((start == 0).then_some(0)) {
            return Ok((start + at as u64, bytes.split_off(at)));
        }
        if window >= LONGEST_LAST {
            // No last line is that long where no ranks are in it.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        window *= 16;
    }
}

/// The whole of a JSON file but for its checksum, as it is written.
#[derive(Serialize)]
struct Written<'a, 's> {
    version: u32,
    digest: String,
    #[serde(serialize_with = "batches")]
    batches: &'a Sheet<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<OfBatches<'a, 's>>,
    #[serde(serialize_with = "batch_lengths")]
    batch_lengths: &'a Sheet<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_batch_lengths: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    left_out: &'a [u32],
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    truncated: &'a [u32],
    /// Over-long sequences in batches of their own, which exceed the budget.
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    alone: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Pieces>,
    positions: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    second_positions: Option<&'a [u64]>,
    made: &'a Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<&'a Ranks>,
}

fn batches<S: Serializer>(sheet: &Sheet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sheet.all().map(|(batch, _)| batch))
}

fn batch_lengths<S: Serializer>(sheet: &Sheet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sheet.all().map(|(_, length)| length))
}

/// The ids of each batch, as lists in a list.
struct OfBatches<'a, 's>(&'a Sheet<'s>, &'a Ids);

impl Serialize for OfBatches<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_batch = |places| self.1.range(places).collect::<Ids>();
        serializer.collect_seq(self.0.places().map(of_batch))
    }
}

pub(super) fn write(file: &Sheet, output: &mut impl Write) -> io::Result<()> {
    let &Sheet { seconds, over_long: (treatment, over_long), .. } = file;
    let if_treated = |by| if treatment == by { over_long } else { &[] };
    let document = Written {
        version: file.version().number(),
        digest: hex(file.digest),
        batches: file,
        ids: file.ids.map(|ids| OfBatches(file, ids)),
        batch_lengths: file,
        second_batch_lengths: seconds.map(|seconds| seconds.batch_lengths),
        left_out: if_treated(OverLong::Drop),
        truncated: if_treated(OverLong::Truncate),
        alone: if_treated(OverLong::Alone),
        chunks: file.chunks.map(Pieces::new),
        positions: file.positions,
        second_positions: seconds.map(|seconds| seconds.positions),
        made: file.made,
        ranks: file.ranks,
    };
    let mut output = Sealing::new(output);
    serde_json::to_writer(&mut output, &document)?;
    output.seal()
}

pub(super) fn write_lines(file: &Sheet, output: &mut impl Write) -> io::Result<()> {
    let &Sheet { positions, seconds, ids, chunks, over_long: (treatment, over_long), .. } = file;
    let mut output = Sealing::new(output);
    let batches = file.all().zip(positions).zip(file.places());
    for (at, (((batch, batch_length), &positions), places)) in batches.enumerate() {
        let of_pieces = |what: fn(Chunk) -> u32| {
            let pieces =
                |chunks: &Chunks| batch.iter().filter_map(|&at| chunks.get(at)).map(what).collect();
            chunks.map(pieces)
        };
        let line = Line {
            sequences: of_pieces(|piece| piece.sequence).unwrap_or_else(|| batch.to_vec()),
            ids: ids.map(|ids| ids.range(places).collect()),
            offsets: of_pieces(|piece| piece.offset),
            lengths: of_pieces(|piece| piece.length),
            batch_length: Some(batch_length),
            second_batch_length: seconds.map(|seconds| seconds.batch_lengths[at]),
            positions: Some(positions),
            second_positions: seconds.and_then(|seconds| seconds.positions.get(at).copied()),
            over_long: None,
        };
        output.line(&line)?;
    }
    if !over_long.is_empty() {
        output.line(&OverLongs { over_long: treatment.to_string(), sequences: over_long })?;
    }
    let last = unsealed(file, Remaining { over_long: false, chunks: true });
    serde_json::to_writer(&mut output, &last)?;
    output.seal()
}

/// Hashes what it passes on, and adds the checksum to the object that comes last. So the last byte
/// stays here until it is known whether it closes that object.
struct Sealing<W> {
    output: W,
    hash: Xxh3,
    waiting: Vec<u8>,
}

/// How much is passed on at once.
const BUFFER: usize = 1 << 16;

impl<W: Write> Sealing<W> {
    fn new(output: W) -> Self {
        Self { output, hash: Xxh3::new(), waiting: Vec::with_capacity(2 * BUFFER) }
    }

    /// Passes on all but the last byte.
    fn pass_on(&mut self) -> io::Result<()> {
        let Some(last) = self.waiting.pop() else { return Ok(()) };
        self.hash.update(&self.waiting);
        self.output.write_all(&self.waiting)?;
        self.waiting.clear();
        self.waiting.push(last);
        Ok(())
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, line)?;
        writeln!(self)
    }

    fn seal(mut self) -> io::Result<()> {
        self.pass_on()?;
        writeln!(self.output, ",\"checksum\":\"{}\"}}", hex(self.hash.digest()))
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > BUFFER {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
