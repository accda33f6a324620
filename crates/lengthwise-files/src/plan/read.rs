//! Reading plan files. Nothing is believed before the checksum is right, and not everything then: a
//! file can be made by anybody.

use std::{fmt, fs, io, path::Path};

use lengthwise::{Chunks, Made, OverLong, Plan};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor},
};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Form, PlanFile, VERSION,
    document::{DealtRead, How, Pieces, Wrong, digest},
};
use crate::{
    Error,
    hex::{from_hex, hex},
};

/// Reads the plan in a `.json` or `.jsonl` file, and refuses one that is not as it was written.
pub fn read_plan(path: &Path) -> Result<PlanFile, Error> {
    let form = Form::of_path(path)?;
    let bytes =
        if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { fs::read(path) };
    bytes
        .map_err(|error| Error::unreadable("plan", &error))
        .and_then(|bytes| read_plan_from(&bytes, form))
        .map_err(|error| error.of(path))
}

/// Reads the plan in the content of a file.
pub fn read_plan_from(bytes: &[u8], form: Form) -> Result<PlanFile, Error> {
    let lines = match form {
        Form::Json => &[],
        Form::JsonLines => before_last_line(bytes),
    };
    let last = &bytes[lines.len()..];
    check(bytes, last)?;
    match form {
        Form::Json => parsed::<Document>(last)?.file(),
        Form::JsonLines => parsed::<Last>(last)?.file(lines),
    }
}

/// All lines but the last, with their line ends.
fn before_last_line(bytes: &[u8]) -> &[u8] {
    let without_end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let end = without_end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

fn not_a_plan(why: &str) -> Error {
    Error::cut_off("plan", why)
}

fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| not_a_plan(&error.to_string()))
}

/// What must be known before anything else is believed.
#[derive(Deserialize)]
struct Header {
    version: Option<serde_json::Number>,
    checksum: Option<IgnoredAny>,
}

/// Refuses another version, and content that does not have the checksum at its end.
fn check(bytes: &[u8], last: &[u8]) -> Result<(), Error> {
    let header: Header = parsed(last)?;
    match header.version {
        None => return Err(not_a_plan("its end has no version")),
        Some(version) if version.as_u64() != Some(VERSION.into()) => {
            return Err(Error::version("plan", &version.to_string(), VERSION));
        }
        Some(_) => {}
    }
    if header.checksum.is_none() {
        return Err(Error::damaged("plan", "has no checksum"));
    }
    let Some((content, checksum)) = unsealed(bytes) else {
        return Err(Error::damaged("plan", "has been altered: it does not end with its checksum"));
    };
    match xxh3_64(content) {
        actual if actual == checksum => Ok(()),
        actual => Err(Error::altered("plan", checksum, actual)),
    }
}

/// The content, and the checksum that was written behind it.
fn unsealed(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let bytes = bytes.strip_suffix(b"\"}\n")?;
    let (bytes, digits) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    let checksum = from_hex(str::from_utf8(digits).ok()?)?;
    Some((bytes.strip_suffix(b",\"checksum\":\"")?, checksum))
}

/// A JSON file.
#[derive(Deserialize)]
struct Document {
    digest: String,
    batches: Batches,
    batch_lengths: Vec<u32>,
    #[serde(default)]
    left_out: Vec<u32>,
    #[serde(default)]
    truncated: Vec<u32>,
    #[serde(default)]
    alone: Vec<u32>,
    chunks: Option<Pieces>,
    positions: Vec<u64>,
    made: How,
    ranks: Option<DealtRead>,
}

impl Document {
    fn file(self) -> Result<PlanFile, Error> {
        let made = self.made.made().map_err(|why| not_a_plan(&why))?;
        let over_long = match made.over_long {
            OverLong::Alone => self.alone,
            OverLong::Drop => self.left_out,
            OverLong::Truncate => self.truncated,
            _ => Vec::new(),
        };
        let chunks = self.chunks.map(Pieces::chunks).transpose().map_err(|why| not_a_plan(&why))?;
        Content {
            digest: self.digest,
            made,
            batches: self.batches,
            batch_lengths: self.batch_lengths,
            positions: self.positions,
            over_long,
            chunks,
            ranks: self.ranks,
        }
        .file()
    }
}

/// The last line of JSON lines.
#[derive(Deserialize)]
struct Last {
    digest: String,
    made: How,
    chunks: Option<Pieces>,
    ranks: Option<DealtRead>,
}

/// A line before it: a batch, or the over-long sequences.
#[derive(Deserialize)]
struct Line {
    sequences: Vec<u32>,
    offsets: Option<Vec<u32>>,
    batch_length: Option<u32>,
    positions: Option<u64>,
    over_long: Option<String>,
}

impl Last {
    fn file(self, lines: &[u8]) -> Result<PlanFile, Error> {
        let made = self.made.made().map_err(|why| not_a_plan(&why))?;
        let chunks = self.chunks.map(Pieces::chunks).transpose().map_err(|why| not_a_plan(&why))?;
        let mut content = Content {
            digest: self.digest,
            made,
            batches: Batches::default(),
            batch_lengths: Vec::new(),
            positions: Vec::new(),
            over_long: Vec::new(),
            chunks,
            ranks: self.ranks,
        };
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            if lines.is_empty() {
                break;
            }
            let line = parsed(line).and_then(|line| content.add(line));
            line.map_err(|error| error.at(number + 1))?;
        }
        content.file()
    }
}

/// What a file of either form holds.
struct Content {
    digest: String,
    made: Made,
    batches: Batches,
    batch_lengths: Vec<u32>,
    positions: Vec<u64>,
    over_long: Vec<u32>,
    chunks: Option<Chunks>,
    ranks: Option<DealtRead>,
}

impl Content {
    fn add(&mut self, line: Line) -> Result<(), Error> {
        let wrong = |why: &str| Err(not_a_plan(why));
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
        match (&self.chunks, line.offsets) {
            (None, None) => self.batches.indices.extend(line.sequences),
            (Some(chunks), Some(offsets)) if offsets.len() == line.sequences.len() => {
                for at in line.sequences.into_iter().zip(offsets) {
                    match piece_at(chunks, at) {
                        Some(piece) => self.batches.indices.push(piece),
                        None => return wrong("a batch has a piece that is not in the chunks"),
                    }
                }
            }
            _ => return wrong("a batch has pieces, or sequences, where the chunks say otherwise"),
        }
        self.batches.end().map_err(|why| not_a_plan(&why))?;
        self.batch_lengths.push(length);
        self.positions.push(positions);
        Ok(())
    }

    fn file(self) -> Result<PlanFile, Error> {
        let Self { made, batches, batch_lengths, positions, over_long, chunks, .. } = self;
        if let Some(chunks) = &chunks {
            let beyond = |&&piece: &&u32| piece as usize >= chunks.len();
            if let Some(piece) = batches.indices.iter().chain(&over_long).find(beyond) {
                let of = chunks.len();
                return Err(not_a_plan(&format!("it has piece {piece}, and chunks of {of}")));
            }
        }
        let plan = Plan::restore(made, batches.indices, batches.ends, batch_lengths, over_long)
            .map_err(|error| not_a_plan(&error.to_string()))?;
        if plan.len() != positions.len() {
            let (batches, counted) = (plan.len(), positions.len());
            return Err(not_a_plan(&format!("{batches} batches and positions of {counted}")));
        }
        let written = digest("digest", &self.digest).map_err(|why| not_a_plan(&why))?;
        if plan.digest() != written {
            let (written, actual) = (hex(written), hex(plan.digest()));
            let what =
                format!("has been altered: its digest is {written}, its batches have {actual}");
            return Err(Error::damaged("plan", what));
        }
        let ranks = self.ranks.map(|ranks| ranks.ranks(plan.len())).transpose()?;
        Ok(PlanFile { plan, positions, chunks, ranks })
    }
}

/// The piece of a sequence that begins at an offset. Pieces rise by sequence, then by offset.
fn piece_at(chunks: &Chunks, at: (u32, u32)) -> Option<u32> {
    let of = |piece: u32| chunks.get(piece).map(|piece| (piece.sequence, piece.offset));
    let (mut low, mut high) = (0, chunks.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        if of(middle)? < at {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (of(low) == Some(at)).then_some(low)
}

/// Batches one after another, as a plan keeps them: a list for each would take more room than what
/// is in it.
#[derive(Default)]
struct Batches {
    indices: Vec<u32>,
    ends: Vec<u32>,
}

impl Batches {
    /// Ends a batch with what is there.
    fn end(&mut self) -> Result<(), Wrong> {
        let end = u32::try_from(self.indices.len()).map_err(|_| "too many sequences".to_owned())?;
        self.ends.push(end);
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Batches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(All)
    }
}

struct All;

impl<'de> Visitor<'de> for All {
    type Value = Batches;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of batches")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batches, A::Error> {
        let mut batches = Batches::default();
        while list.next_element_seed(Next(&mut batches))?.is_some() {}
        Ok(batches)
    }
}

/// Reads one batch behind those that are there.
struct Next<'a>(&'a mut Batches);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Next<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of sequences")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(sequence) = list.next_element()? {
            self.0.indices.push(sequence);
        }
        self.0.end().map_err(serde::de::Error::custom)
    }
}
