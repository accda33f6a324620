//! Reading plan files. Nothing is believed before the checksum is right, and not everything then: a
//! file can be made by anybody.

use std::{fs, io, path::Path};

use lengthwise::OverLong;
use serde::{Deserialize, de::IgnoredAny};
use xxhash_rust::xxh3::Xxh3;

#[cfg(feature = "parquet")]
use super::parquet;
use super::{
    Form, PlanFile,
    content::{Batches, Content, Seconds, piece_at},
    document::{DealtRead, How, Pieces},
    exact::{self, Exact},
    npz,
    sheet::Sheet,
};
use crate::{Error, hex::from_hex, ids::Ids};

/// Reads the plan in a file of the [`Form`] that its name tells, and refuses one that does not say
/// what was written. [`read_plan_exact`] looks at every byte.
pub fn read_plan(path: &Path) -> Result<PlanFile, Error> {
    read(path, read_plan_from)
}

/// Reads a plan like [`read_plan`], in up to three times the time, and refuses a file that says what
/// was written in other bytes: other readers may not find the same in it. [`Exact`] tells what is
/// known.
pub fn read_plan_exact(path: &Path) -> Result<(PlanFile, Exact), Error> {
    read(path, read_plan_exact_from)
}

fn read<T>(path: &Path, from: impl Fn(&[u8], Form) -> Result<T, Error>) -> Result<T, Error> {
    let form = Form::of_path(path)?;
    let bytes =
        if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { fs::read(path) };
    bytes
        .map_err(|error| Error::unreadable("plan", &error))
        .and_then(|bytes| from(&bytes, form))
        .map_err(|error| error.of(path))
}

/// Reads the plan in the content of a file as [`read_plan_exact`] does.
pub fn read_plan_exact_from(bytes: &[u8], form: Form) -> Result<(PlanFile, Exact), Error> {
    let file = read_plan_from(bytes, form)?;
    let exact = exact::check(&file, form, bytes)?;
    Ok((file, exact))
}

/// Reads the plan in the content of a file.
pub fn read_plan_from(bytes: &[u8], form: Form) -> Result<PlanFile, Error> {
    match form {
        Form::Json => {
            let version = check(bytes, bytes)?;
            parsed::<Document>(bytes)?.file(version)
        }
        Form::JsonLines => {
            let lines = before_last_line(bytes);
            let last = &bytes[lines.len()..];
            let version = check(bytes, last)?;
            parsed::<Last>(last)?.file(version, lines)
        }
        Form::Npz => npz::read(bytes),
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::read(bytes),
    }
}

/// All lines but the last, with their line ends.
fn before_last_line(bytes: &[u8]) -> &[u8] {
    let without_end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let end = without_end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

pub(super) fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| Error::not_a_plan(&error.to_string()))
}

/// The version of a file. One without ids is what it was before there were ids, so that every
/// release reads it; one with ids must not be taken for one without by a release that knows none, and
/// one of two lengths not for one of the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Without ids.
    Plain,
    WithIds,
    /// Of sequences with two lengths, without ids.
    Pairs,
    PairsWithIds,
}

impl Version {
    pub(super) fn of<P>(sheet: &Sheet<P>) -> Self {
        match (&sheet.seconds, sheet.ids) {
            (None, None) => Version::Plain,
            (None, Some(_)) => Version::WithIds,
            (Some(_), None) => Version::Pairs,
            (Some(_), Some(_)) => Version::PairsWithIds,
        }
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Version::Plain => 1,
            Version::WithIds => 2,
            Version::Pairs => 3,
            Version::PairsWithIds => 4,
        }
    }

    pub(super) fn has_ids(self) -> bool {
        matches!(self, Version::WithIds | Version::PairsWithIds)
    }

    pub(super) fn is_of_pairs(self) -> bool {
        matches!(self, Version::Pairs | Version::PairsWithIds)
    }
}

/// What must be known before anything else is believed.
#[derive(Deserialize)]
struct Header {
    version: Option<serde_json::Number>,
    checksum: Option<IgnoredAny>,
}

/// Refuses another version, and content that does not have the checksum at its end.
fn check(bytes: &[u8], last: &[u8]) -> Result<Version, Error> {
    let version = check_version(last)?;
    check_content(bytes, Xxh3::new())?;
    Ok(version)
}

/// Refuses an object of another version, or without a checksum.
pub(super) fn check_version(last: &[u8]) -> Result<Version, Error> {
    let header: Header = parsed(last)?;
    let number = header.version.ok_or_else(|| Error::not_a_plan("its end has no version"))?;
    let version = match number.as_u64() {
        Some(1) => Version::Plain,
        Some(2) => Version::WithIds,
        Some(3) => Version::Pairs,
        Some(4) => Version::PairsWithIds,
        _ => return Err(Error::version("plan", &number.to_string(), "versions 1 to 4")),
    };
    match header.checksum {
        None => Err(Error::damaged("plan", "has no checksum")),
        Some(_) => Ok(version),
    }
}

/// Refuses content that does not have the checksum at its end; `hash` is of what comes before it.
pub(super) fn check_content(bytes: &[u8], mut hash: Xxh3) -> Result<(), Error> {
    let Some((content, checksum)) = unsealed(bytes) else {
        return Err(Error::damaged("plan", "has been altered: it does not end with its checksum"));
    };
    hash.update(content);
    match hash.digest() {
        actual if actual == checksum => Ok(()),
        actual => Err(Error::altered("plan", checksum, actual)),
    }
}

/// The content, and the checksum that was written behind it.
pub(super) fn unsealed(bytes: &[u8]) -> Option<(&[u8], u64)> {
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
    made: How,
    ranks: Option<DealtRead>,
}

impl Document {
    fn file(self, version: Version) -> Result<PlanFile, Error> {
        if self.ids.as_ref().is_some_and(|ids| ids.ends != self.batches.ends) {
            return Err(Error::not_a_plan("its ids are not in lists as long as its batches"));
        }
        let made = self.made.made().map_err(|why| Error::not_a_plan(&why))?;
        let over_long = match made.over_long {
            OverLong::Alone => self.alone,
            OverLong::Drop => self.left_out,
            OverLong::Truncate => self.truncated,
            _ => Vec::new(),
        };
        let chunks =
            self.chunks.map(Pieces::chunks).transpose().map_err(|why| Error::not_a_plan(&why))?;
        Content {
            version,
            digest: self.digest,
            made,
            batches: self.batches,
            batch_lengths: self.batch_lengths,
            positions: self.positions,
            seconds: Seconds::of(self.second_batch_lengths, self.second_positions)?,
            over_long,
            ids: self.ids.map(|ids| ids.all),
            chunks,
            ranks: self.ranks,
        }
        .file()
    }
}

/// The last line of JSON lines.
#[derive(Deserialize)]
pub(super) struct Last {
    pub(super) digest: String,
    pub(super) made: How,
    pub(super) chunks: Option<Pieces>,
    pub(super) ranks: Option<DealtRead>,
}

/// A line before it: a batch, or the over-long sequences.
#[derive(Deserialize)]
pub(super) struct Line {
    pub(super) sequences: Vec<u32>,
    pub(super) ids: Option<Ids>,
    pub(super) offsets: Option<Vec<u32>>,
    pub(super) batch_length: Option<u32>,
    pub(super) second_batch_length: Option<u32>,
    pub(super) positions: Option<u64>,
    pub(super) second_positions: Option<u64>,
    pub(super) over_long: Option<String>,
}

impl Last {
    fn file(self, version: Version, lines: &[u8]) -> Result<PlanFile, Error> {
        let made = self.made.made().map_err(|why| Error::not_a_plan(&why))?;
        let chunks =
            self.chunks.map(Pieces::chunks).transpose().map_err(|why| Error::not_a_plan(&why))?;
        let mut content = Content {
            version,
            digest: self.digest,
            made,
            batches: Batches::default(),
            batch_lengths: Vec::new(),
            positions: Vec::new(),
            over_long: Vec::new(),
            seconds: version.is_of_pairs().then(Seconds::default),
            ids: version.has_ids().then(Ids::default),
            chunks,
            ranks: self.ranks,
        };
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
            if lines.is_empty() {
                break;
            }
            let line = parsed(line).and_then(|line| content.add(line));
            line.map_err(|error| error.at(number as u64 + 1))?;
        }
        content.file()
    }
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
                        None => return wrong("a batch has a piece that is not in the chunks"),
                    }
                }
            }
            _ => return wrong("a batch has pieces, or sequences, where the chunks say otherwise"),
        }
        match (&mut self.seconds, line.second_batch_length, line.second_positions) {
            (None, None, None) => {}
            (Some(seconds), Some(length), Some(positions)) => {
                seconds.batch_lengths.push(length);
                seconds.positions.push(positions);
            }
            _ => return wrong("a batch has a second length, or none, against its version"),
        }
        self.batches.end().map_err(|why| Error::not_a_plan(&why))?;
        self.batch_lengths.push(length);
        self.positions.push(positions);
        Ok(())
    }
}
