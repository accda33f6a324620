//! States of streams as one line of JSON.

mod gaps;

use std::io::{self, Write};
use std::path::Path;

use lengthwise::stream::StreamState;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::hex::hex;
use crate::record::{self, Record, content, is_zero, parsed};
use crate::save::save;

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
    record::checksum(settings, numbers)
}

/// The state as one line of JSON, without a line end. With a window of 4,096 sequences it has about
/// two kilobytes.
///
/// ```
/// use lengthwise::{Budget, stream::Streamer};
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
    const DIGITS: &str = "sixteen digits";
    let value = parsed("state", text)?;
    let record = Record::new("state", &value, StreamState::VERSION)?;
    let or_none = |name: &str| if record.has(name) { record.number(name) } else { Ok(0) };
    let (read, from) = (record.number("read")?, record.number("from")?);
    let held = record.number("held")?;
    let rungs = if record.has("rungs") {
        record.field("rungs", "a list of whole numbers", |value| {
            let number = |rung: &Value| u32::try_from(rung.as_u64()?).ok();
            value.as_array()?.iter().map(number).collect()
        })?
    } else {
        Vec::new()
    };
    let state = StreamState {
        settings: record.text("settings")?,
        seed: record.number("seed")?,
        epoch: record.number("epoch")?,
        steps: record.number("steps")?,
        read,
        left_out: or_none("left_out")?,
        truncated: or_none("truncated")?,
        rungs,
        held: record
            .field("gaps", "what is held", |value| gaps::read(value.as_str()?, held, from, read))?,
        lengths: record.digest("lengths", DIGITS)?,
    };
    record.check(DIGITS, checksum(&state))?;
    Ok(state)
}

/// Reads the state in a file.
pub fn read_stream_state(path: &Path) -> Result<StreamState, Error> {
    let read = || {
        let text = String::from_utf8(content("state", path, MOST_BYTES)?);
        let no_text = |_| Error::unreadable("state", &io::ErrorKind::InvalidData.into());
        stream_from_json(&text.map_err(no_text)?)
    };
    read().map_err(|error| error.of(path))
}

/// Writes a state to a file, whole or not at all.
pub fn save_stream_state(path: &Path, state: &StreamState) -> Result<(), Error> {
    save(path, |file| writeln!(file, "{}", stream_to_json(state)))
}

#[cfg(test)]
mod tests {
    use lengthwise::{Budget, Shapes, stream::Streamer};

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
        assert_eq!(error.to_string(), "the state has version 2, but this release reads version 1");
    }
}
