//! Cursors as one line of JSON.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use lengthwise::{Cursor, Segment};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::hex::{from_hex, hex};
use crate::save::save;
use crate::text::shortened;

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

/// XXH3 of all that a cursor says, so that a damaged count of steps is noticed: the settings, then
/// the numbers, each as a little-endian `u64`.
fn checksum(cursor: &Cursor) -> u64 {
    let &Cursor { ref settings, lengths, seed, epoch, plan, ref segments } = cursor;
    let segments =
        segments.iter().flat_map(|segment| [segment.ranks, segment.steps].map(u64::from));
    let numbers = [Cursor::VERSION.into(), lengths, seed, epoch, plan].into_iter().chain(segments);
    let mut bytes = settings.as_bytes().to_vec();
    bytes.extend(numbers.flat_map(u64::to_le_bytes));
    xxh3_64(&bytes)
}

fn pairs<S: Serializer>(segments: &[Segment], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(segments.iter().map(|segment| [segment.ranks, segment.steps]))
}

/// The cursor as one line of JSON, without a line end.
///
/// ```
/// use lengthwise::{Blurred, Budget, Example, Planner};
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
    let value: Value =
        serde_json::from_str(text).map_err(|error| Error::cut_off("cursor", &error.to_string()))?;
    from_value(&value)
}

/// Reads the cursor in a file.
pub fn read_cursor(path: &Path) -> Result<Cursor, Error> {
    let read = || {
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| Error::unreadable("cursor", &error))?;
        file.take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::unreadable("cursor", &error))?;
        if bytes.len() as u64 > MOST_BYTES {
            let what = format!("has more than the {MOST_BYTES} bytes that a cursor can have");
            return Err(Error::damaged("cursor", what));
        }
        match str::from_utf8(&bytes) {
            Ok(text) => from_json(text),
            Err(_) => Err(Error::cut_off("cursor", "it is no text")),
        }
    };
    read().map_err(|error| error.of(path))
}

/// Writes a cursor to a file, whole or not at all.
pub fn save_cursor(path: &Path, cursor: &Cursor) -> Result<(), Error> {
    save(path, |file| writeln!(file, "{}", to_json(cursor)))
}

/// The cursor that a JSON value is. The version comes first: what else there is depends on it.
pub(crate) fn from_value(value: &Value) -> Result<Cursor, Error> {
    let Value::Object(fields) = value else {
        return Err(Error::cut_off("cursor", "it is no JSON object"));
    };
    match fields.get("version") {
        None => return Err(Error::cut_off("cursor", "it has no version")),
        Some(version) if version.as_u64() != Some(Cursor::VERSION.into()) => {
            let known = format!("version {}", Cursor::VERSION);
            return Err(Error::version("cursor", &version.to_string(), &known));
        }
        Some(_) => {}
    }
    if fields.contains_key("batches") {
        return Err(Error::damaged("cursor", "is a plan, and not a cursor".to_owned()));
    }
    let whole = "a whole number from 0 to 18446744073709551615";
    let digits = "sixteen hexadecimal digits";
    let digest = |value: &Value| value.as_str().and_then(from_hex);
    let cursor = Cursor {
        settings: field(fields, "settings", "a text", |value| value.as_str().map(str::to_owned))?,
        lengths: field(fields, "lengths", digits, digest)?,
        seed: field(fields, "seed", whole, Value::as_u64)?,
        epoch: field(fields, "epoch", whole, Value::as_u64)?,
        plan: field(fields, "plan", digits, digest)?,
        segments: field(fields, "segments", "a list of pairs of whole numbers", |value| {
            value.as_array()?.iter().map(segment).collect()
        })?,
    };
    let (given, found) = (field(fields, "checksum", digits, digest)?, checksum(&cursor));
    if given != found {
        return Err(Error::altered("cursor", given, found));
    }
    Ok(cursor)
}

fn segment(value: &Value) -> Option<Segment> {
    let [ranks, steps] = value.as_array()?.as_slice() else { return None };
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    Some(Segment { ranks: number(ranks)?, steps: number(steps)? })
}

fn field<T>(
    fields: &Map<String, Value>,
    name: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, Error> {
    let Some(value) = fields.get(name) else {
        return Err(Error::damaged("cursor", format!("has no `{name}`, which is {expected}")));
    };
    read(value).ok_or_else(|| {
        let given = shortened(&value.to_string(), 40);
        Error::damaged("cursor", format!("has `{name}` {given}, which is not {expected}"))
    })
}
