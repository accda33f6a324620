//! Reading JSON and JSON lines.

use lengthwise::{OverLong, Provenance};
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::ids::Ids;
use crate::plan::content::{AssignedRead, Batches, Content, Seconds};
use crate::plan::pieces::{Pieces, piece_at};
use crate::plan::seal::{check_content, check_version, parsed};
use crate::plan::{file::PlanFile, header::Unchecked};

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

pub(in crate::plan) fn json(bytes: &[u8]) -> Result<PlanFile, Error> {
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

/// A line but the last: a batch, or the over-long sequences.
#[derive(Deserialize)]
pub(in crate::plan) struct Line {
    pub(in crate::plan) sequences: Vec<u32>,
    pub(in crate::plan) ids: Option<Ids>,
    pub(in crate::plan) offsets: Option<Vec<u32>>,
    pub(in crate::plan) batch_length: Option<u32>,
    pub(in crate::plan) second_batch_length: Option<u32>,
    pub(in crate::plan) positions: Option<u64>,
    pub(in crate::plan) second_positions: Option<u64>,
    pub(in crate::plan) over_long: Option<String>,
}

pub(in crate::plan) fn json_lines(bytes: &[u8]) -> Result<PlanFile, Error> {
    let lines = before_last_line(bytes);
    let last = Unchecked::new(&bytes[lines.len()..])?;
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

/// All lines but the last, with their line ends.
fn before_last_line(bytes: &[u8]) -> &[u8] {
    let without_end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let end = without_end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
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
        self.batches.end().map_err(Error::not_a_plan)?;
        self.batch_lengths.push(length);
        self.positions.push(positions);
        Ok(())
    }
}
