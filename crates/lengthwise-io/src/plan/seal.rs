//! What must be known of a plan file before anything in it is believed: its version and its checksum.

use serde::{Deserialize, de::IgnoredAny};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::hex::{from_hex, hex};

pub(super) fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| Error::not_a_plan(error.to_string()))
}

/// The version of a file: 1, and 2 with ids; 3 and 4 of sequences with two lengths. A release that knows
/// no ids, or no second lengths, must not take a file that has them for one that has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) has_pairs: bool,
    pub(super) has_ids: bool,
}

impl Version {
    pub(super) fn number(self) -> u32 {
        1 + u32::from(self.has_ids) + 2 * u32::from(self.has_pairs)
    }
}

#[derive(Deserialize)]
struct Header {
    version: Option<serde_json::Number>,
    checksum: Option<IgnoredAny>,
}

/// Refuses an object of another version, or without a checksum.
pub(super) fn check_version(last: &[u8]) -> Result<Version, Error> {
    let header: Header = parsed(last)?;
    let number = header.version.ok_or_else(|| Error::not_a_plan("its end has no version"))?;
    let version = match number.as_u64() {
        Some(number @ 1..=4) => Version { has_pairs: number > 2, has_ids: number % 2 == 0 },
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
fn unsealed(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let bytes = bytes.strip_suffix(b"\"}\n")?;
    let (bytes, digits) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    let checksum = from_hex(str::from_utf8(digits).ok()?)?;
    Some((bytes.strip_suffix(b",\"checksum\":\"")?, checksum))
}

/// Refuses batches that do not have the digest that was written.
pub(super) fn check_digest(written: u64, actual: u64) -> Result<(), Error> {
    if written == actual {
        return Ok(());
    }
    let [written, actual] = [written, actual].map(hex);
    let what = format!("has been altered: its digest is {written}, its batches have {actual}");
    Err(Error::damaged("plan", what))
}
