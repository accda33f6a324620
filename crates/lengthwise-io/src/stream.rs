//! States of streams as one line of JSON.

mod gaps;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use lengthwise::StreamState;
use serde::Serialize;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::hex::{from_hex, hex};
use crate::save::save;
use crate::text::shortened;

/// No state has more bytes: a sequence that is held takes a few bits.
const MOST_BYTES: u64 = 1 << 30;

/// A state as it is written.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    settings: &'a str,
    seed: u64,
    epoch: u64,
    steps: u64,
    read: u64,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
    #[serde(skip_serializing_if = "is_zero")]
    truncated: u64,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    rungs: &'a [u32],
    from: u64,
    held: usize,
    gaps: String,
    lengths: String,
    checksum: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// XXH3 of all that a state says: the settings, then the numbers, each as a little-endian `u64`.
fn checksum(state: &StreamState) -> u64 {
    let StreamState { settings, seed, epoch, steps, read, left_out, truncated, lengths, .. } =
        state;
    let counts = [state.rungs.len() as u64, state.held.len() as u64];
    let numbers =
        [StreamState::VERSION.into(), *seed, *epoch, *steps, *read, *left_out, *truncated]
            .into_iter()
            .chain([*lengths])
            .chain(counts)
            .chain(state.rungs.iter().copied().map(u64::from))
            .chain(state.held.iter().copied());
    let mut bytes = settings.as_bytes().to_vec();
    bytes.extend(numbers.flat_map(u64::to_le_bytes));
    xxh3_64(&bytes)
}

/// The state as one line of JSON, without a line end. With a window of 4,096 sequences it has about
/// two kilobytes.
///
/// ```
/// use lengthwise::{Budget, Streamer};
/// use lengthwise_io::{stream_from_json, stream_to_json};
///
/// let mut feed = Streamer::new(Budget::padded(100)).window(3).feed()?;
/// feed.push(40)?;
/// let state = feed.state();
/// assert_eq!(stream_from_json(&stream_to_json(&state))?, state);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stream_to_json(state: &StreamState) -> String {
    let document = Document {
        version: StreamState::VERSION,
        settings: &state.settings,
        seed: state.seed,
        epoch: state.epoch,
        steps: state.steps,
        read: state.read,
        left_out: state.left_out,
        truncated: state.truncated,
        rungs: &state.rungs,
        from: state.from(),
        held: state.held.len(),
        gaps: gaps::write(&state.held, state.read),
        lengths: hex(state.lengths),
        checksum: hex(checksum(state)),
    };
    // Strings and numbers always have a JSON form.
    serde_json::to_string(&document).unwrap_or_default()
}

/// The state that [`stream_to_json`] wrote.
pub fn stream_from_json(text: &str) -> Result<StreamState, Error> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| Error::cut_off("state", &error.to_string()))?;
    let Value::Object(fields) = &value else {
        return Err(Error::cut_off("state", "it is no JSON object"));
    };
    match fields.get("version") {
        None => return Err(Error::cut_off("state", "it has no version")),
        Some(version) if version.as_u64() != Some(StreamState::VERSION.into()) => {
            let known = format!("version {}", StreamState::VERSION);
            return Err(Error::version("state", &version.to_string(), &known));
        }
        Some(_) => {}
    }
    let (whole, digits) = ("a whole number from 0 to 18446744073709551615", "sixteen digits");
    let number = |name: &str| field(fields, name, whole, Value::as_u64);
    let or_none = |name: &str| if fields.contains_key(name) { number(name) } else { Ok(0) };
    let digest = |name: &str| field(fields, name, digits, |value| from_hex(value.as_str()?));
    let (read, from, held) = (number("read")?, number("from")?, number("held")?);
    let rungs = if fields.contains_key("rungs") {
        field(fields, "rungs", "a list of whole numbers", |value| {
            let number = |rung: &Value| u32::try_from(rung.as_u64()?).ok();
            value.as_array()?.iter().map(number).collect()
        })?
    } else {
        Vec::new()
    };
    let state = StreamState {
        settings: field(fields, "settings", "a text", |value| value.as_str().map(str::to_owned))?,
        seed: number("seed")?,
        epoch: number("epoch")?,
        steps: number("steps")?,
        read,
        left_out: or_none("left_out")?,
        truncated: or_none("truncated")?,
        rungs,
        held: field(fields, "gaps", "what is held", |value| {
            gaps::read(value.as_str()?, held, from, read)
        })?,
        lengths: digest("lengths")?,
    };
    let (given, found) = (digest("checksum")?, checksum(&state));
    if given != found {
        return Err(Error::altered("state", given, found));
    }
    Ok(state)
}

/// Reads the state in a file.
pub fn read_stream_state(path: &Path) -> Result<StreamState, Error> {
    let read = || {
        let mut text = String::new();
        let unreadable = |error| Error::unreadable("state", &error);
        let file = File::open(path).map_err(unreadable)?;
        file.take(MOST_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        stream_from_json(&text)
    };
    read().map_err(|error| error.of(path))
}

/// Writes a state to a file, whole or not at all.
pub fn save_stream_state(path: &Path, state: &StreamState) -> Result<(), Error> {
    save(path, |file| writeln!(file, "{}", stream_to_json(state)))
}

fn field<T>(
    fields: &Map<String, Value>,
    name: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, Error> {
    let Some(value) = fields.get(name) else {
        return Err(Error::damaged("state", format!("has no `{name}`, which is {expected}")));
    };
    read(value).ok_or_else(|| {
        let given = shortened(&value.to_string(), 40);
        Error::damaged("state", format!("has `{name}` {given}, which is not {expected}"))
    })
}

#[cfg(test)]
mod tests {
    use lengthwise::{Budget, Shapes, Streamer};

    use super::*;

    fn state() -> StreamState {
        let streamer = Streamer::new(Budget::padded(300)).shapes(Shapes::Ladder(4)).window(200);
        let mut running =
            streamer.over((0..).map(|i: u32| 1 + i * i % 97), |&length| length).unwrap();
        _ = running.by_ref().take(100).count();
        running.state()
    }

    #[test]
    fn states_come_back() {
        let state = state();
        let text = stream_to_json(&state);
        assert_eq!(stream_from_json(&text).unwrap(), state);
        let bare = text.len() - gaps::write(&state.held, state.read).len();
        assert!(bare < 400, "{text}");
        let empty = Streamer::new(Budget::padded(300)).feed().unwrap().state();
        assert_eq!(stream_from_json(&stream_to_json(&empty)).unwrap(), empty);
    }

    #[test]
    fn damaged_states_are_refused() {
        let text = stream_to_json(&state());
        for change in [
            text.replace("\"steps\":100", "\"steps\":101"),
            text.replace("\"seed\":0", "\"seed\":1"),
            text.replace("\"seed\":0,", ""),
            text.replace("\"held\":", "\"held\":1"),
            text.replace("\"gaps\":\"", "\"gaps\":\"A"),
            text.replace("\"gaps\":\"", "\"gaps\":\"!"),
            text[..text.len() / 2].to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
        ] {
            let error = stream_from_json(&change).unwrap_err();
            assert!(error.is_damaged(), "{change} {error}");
            assert!(error.hint().is_some());
        }
        let error = stream_from_json(&text.replace("\"version\":1", "\"version\":2")).unwrap_err();
        assert_eq!(error.to_string(), "the state has version 2, and this release reads version 1");
    }
}
