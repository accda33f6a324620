//! Cursors as one line of JSON.

use std::{io::Write, path::Path};

use lengthwise::{Cursor, Segment};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::error::Error;
use crate::hex::hex;
use crate::record::{self, Record, bounded, parsed};
use crate::save::save;

/// No cursor has more bytes: a change of the world size takes a few.
const MOST_BYTES: u64 = 1 << 20;

/// A cursor as it is written.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    version: u32,
    settings: &'a str,
    lengths: String,
    seed: u64,
    epoch: u64,
    plan: String,
    #[serde(serialize_with = "pairs")]
    segments: &'a [Segment],
    checksum: String,
}

impl<'a> From<&'a Cursor> for Document<'a> {
    fn from(cursor: &'a Cursor) -> Self {
        let &Cursor { ref settings, lengths, seed, epoch, plan, ref segments } = cursor;
        let checksum = hex(checksum(cursor));
        let (lengths, plan, version) = (hex(lengths), hex(plan), Cursor::VERSION);
        Self { version, settings, lengths, seed, epoch, plan, segments, checksum }
    }
}

fn checksum(cursor: &Cursor) -> u64 {
    let &Cursor { ref settings, lengths, seed, epoch, plan, ref segments } = cursor;
    let segments =
        segments.iter().flat_map(|segment| [segment.ranks, segment.steps].map(u64::from));
    let numbers = [Cursor::VERSION.into(), lengths, seed, epoch, plan].into_iter().chain(segments);
    record::checksum(settings, numbers)
}

fn pairs<S: Serializer>(segments: &[Segment], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(segments.iter().map(|segment| [segment.ranks, segment.steps]))
}

/// The cursor as one line of JSON, without a line end.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, strategy::Blurred};
/// use lengthwise_io::{from_json, to_json};
///
/// let lengths = Example::Speech.lengths();
/// let plan = Planner::new(Blurred::default(), Budget::padded(12_800)).plan(&lengths, 0)?;
/// let cursor = plan.schedule(8)?.cursor(30)?;
/// let text = to_json(&cursor);
/// assert!(text.len() < 512);
/// assert_eq!(from_json(&text)?, cursor);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_json(cursor: &Cursor) -> String {
    // Strings and numbers always have a JSON form.
    serde_json::to_string(&Document::from(cursor)).unwrap_or_default()
}

/// The cursor that [`to_json`] wrote.
pub fn from_json(text: &str) -> Result<Cursor, Error> {
    from_value(&parsed("cursor", text)?)
}

/// Reads the cursor in a file.
pub fn read_cursor(path: &Path) -> Result<Cursor, Error> {
    let bytes = bounded("cursor", path, MOST_BYTES, "a cursor");
    let read = bytes.and_then(|bytes| match str::from_utf8(&bytes) {
        Ok(text) => from_json(text),
        Err(_) => Err(Error::cut_off("cursor", "it is not valid UTF-8")),
    });
    read.map_err(|error| error.of(path))
}

/// Writes a cursor to a file, whole or not at all.
pub fn save_cursor(path: &Path, cursor: &Cursor) -> Result<(), Error> {
    save(path, |file| writeln!(file, "{}", to_json(cursor)))
}

pub(crate) fn from_value(value: &Value) -> Result<Cursor, Error> {
    const DIGITS: &str = "sixteen hexadecimal digits";
    let record = Record::new("cursor", value, Cursor::VERSION)?;
    if record.has("batches") {
        return Err(Error::damaged("cursor", "is a plan, not a cursor"));
    }
    let cursor = Cursor {
        settings: record.text("settings")?,
        lengths: record.digest("lengths", DIGITS)?,
        seed: record.number("seed")?,
        epoch: record.number("epoch")?,
        plan: record.digest("plan", DIGITS)?,
        segments: record.field("segments", "a list of pairs of whole numbers", |value| {
            value.as_array()?.iter().map(segment).collect()
        })?,
    };
    record.check(DIGITS, checksum(&cursor))?;
    Ok(cursor)
}

fn segment(value: &Value) -> Option<Segment> {
    let [ranks, steps] = value.as_array()?.as_slice() else { return None };
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    Some(Segment { ranks: number(ranks)?, steps: number(steps)? })
}
