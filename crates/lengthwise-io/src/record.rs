//! Files that are one JSON object with a version and a checksum: cursors, and states of streams.

use std::{fs::File, io::Read, path::Path};

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::hex::from_hex;
use crate::text::shortened;

/// An object of a known version.
pub(crate) struct Record<'a> {
    subject: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Record<'a> {
    /// The version comes first: what else there is depends on it.
    pub(crate) fn new(
        subject: &'static str,
        value: &'a Value,
        version: u32,
    ) -> Result<Self, Error> {
        let Value::Object(fields) = value else {
            return Err(Error::cut_off(subject, "it is not a JSON object"));
        };
        match fields.get("version") {
            None => Err(Error::cut_off(subject, "it has no version")),
            Some(given) if given.as_u64() != Some(version.into()) => {
                Err(Error::version(subject, &given.to_string(), &format!("version {version}")))
            }
            Some(_) => Ok(Self { subject, fields }),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// What `read` makes of a field; `expected` is what it should be.
    pub(crate) fn field<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, Error> {
        let Some(value) = self.fields.get(name) else {
            let what = format!("has no `{name}`, expected {expected}");
            return Err(Error::damaged(self.subject, what));
        };
        read(value).ok_or_else(|| {
            let given = shortened(&value.to_string(), 40);
            let what = format!("has `{name}` {given}, expected {expected}");
            Error::damaged(self.subject, what)
        })
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, Error> {
        self.field(name, "a whole number from 0 to 18446744073709551615", Value::as_u64)
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, Error> {
        self.field(name, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// A fingerprint; `digits` is what such fields are said to be.
    pub(crate) fn digest(&self, name: &str, digits: &str) -> Result<u64, Error> {
        self.field(name, digits, |value| from_hex(value.as_str()?))
    }

    /// Refuses another checksum than the one that was written.
    pub(crate) fn check(&self, digits: &str, found: u64) -> Result<(), Error> {
        match self.digest("checksum", digits)? {
            given if given == found => Ok(()),
            given => Err(Error::altered(self.subject, given, found)),
        }
    }
}

/// XXH3 of all that a record says, so that a damaged count is noticed: the settings, then the numbers, each as
/// a little-endian `u64`.
pub(crate) fn checksum(settings: &str, numbers: impl Iterator<Item = u64>) -> u64 {
    let mut bytes = settings.as_bytes().to_vec();
    bytes.extend(numbers.flat_map(u64::to_le_bytes));
    xxh3_64(&bytes)
}

pub(crate) fn parsed(subject: &'static str, text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::cut_off(subject, &error.to_string()))
}

/// The content of a file of no more bytes than `what` can have.
pub(crate) fn bounded(
    subject: &'static str,
    path: &Path,
    most: u64,
    what: &str,
) -> Result<Vec<u8>, Error> {
    let bytes = content(subject, path, most + 1)?;
    if bytes.len() as u64 <= most {
        return Ok(bytes);
    }
    Err(Error::damaged(
        subject,
        format!("has more than {most} bytes, the most that {what} can have"),
    ))
}

/// The content of a file, of which no more than `most` bytes are read.
pub(crate) fn content(subject: &'static str, path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| Error::unreadable(subject, &error))?;
    Ok(bytes)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
