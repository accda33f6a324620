//! What all forms but JSON say in one object, all but the numbers; and what must be known of an object before
//! anything in it is believed: its version and its checksum.

use lengthwise::Provenance;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::hex::{from_hex, hex};
use crate::plan::content::{AssignedRead, Content, Sheet, Version};
use crate::plan::file::{Pieces, Ranks};

pub(super) fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|error| Error::not_a_plan(error.to_string()))
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
    let Some((content, checksum)) = split_seal(bytes) else {
        return Err(Error::damaged("plan", "has been altered: it does not end with its checksum"));
    };
    hash.update(content);
    match hash.digest() {
        actual if actual == checksum => Ok(()),
        actual => Err(Error::altered("plan", checksum, actual)),
    }
}

/// The content, and the checksum that was written behind it.
fn split_seal(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let bytes = bytes.strip_suffix(b"\"}\n")?;
    let (bytes, digits) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    let checksum = from_hex(str::from_utf8(digits).ok()?)?;
    Some((bytes.strip_suffix(b",\"checksum\":\"")?, checksum))
}

/// The object as it is written, but for its checksum.
#[derive(Serialize)]
struct HeaderWritten<'a> {
    version: u32,
    digest: String,
    made: &'a Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_long: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Pieces>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<&'a Ranks>,
}

/// Which numbers have no other place in the file, and go into the object.
#[derive(Clone, Copy, Default)]
pub(super) struct Remaining {
    pub(super) over_long: bool,
    pub(super) chunks: bool,
}

pub(super) fn unsealed<'a>(file: &Sheet<'a>, rest: Remaining) -> impl Serialize + use<'a> {
    HeaderWritten {
        version: file.version().number(),
        digest: hex(file.digest),
        made: file.made,
        over_long: Some(file.over_long.1).filter(|list| rest.over_long && !list.is_empty()),
        chunks: file.chunks.filter(|_| rest.chunks).map(Pieces::new),
        ranks: file.ranks,
    }
}

/// The object with its checksum, on a line. `hash` is of the numbers that are elsewhere.
pub(super) fn text(file: &Sheet, rest: Remaining, mut hash: Xxh3) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(&unsealed(file, rest))?;
    // The checksum goes into the object, before the brace that closes it.
    text.pop();
    hash.update(text.as_bytes());
    let checksum = hex(hash.digest());
    Ok(format!("{text},\"checksum\":\"{checksum}\"}}\n"))
}

/// The object as it is read.
#[derive(Deserialize)]
struct HeaderRead {
    digest: String,
    made: Provenance,
    #[serde(default)]
    over_long: Vec<u32>,
    chunks: Option<Pieces>,
    ranks: Option<AssignedRead>,
}

/// An object of a version that can be read, and nothing more is known of it yet.
pub(super) struct Unchecked<'a>(&'a [u8], Version);

impl<'a> Unchecked<'a> {
    pub(super) fn new(text: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(text, check_version(text)?))
    }

    /// The content of a file without its batches and ids. `hash` is of the numbers that are elsewhere.
    pub(super) fn content(self, hash: Xxh3) -> Result<Content, Error> {
        check_content(self.0, hash)?;
        self.unchecked()
    }

    /// Refuses a plan of two lengths, which does not come batch by batch.
    pub(super) fn check_one_length(&self) -> Result<(), Error> {
        if !self.1.has_pairs {
            return Ok(());
        }
        Err(Error::of_plan("has two lengths, and cannot be read batch by batch")
            .hint_to("read it as a whole: leave out {memory}"))
    }

    /// The content before anything is known of the checksum.
    pub(super) fn unchecked(&self) -> Result<Content, Error> {
        let HeaderRead { digest, made, over_long, chunks, ranks } = parsed(self.0)?;
        let content = Content::new(self.1, digest, made, chunks, ranks)?;
        Ok(Content { over_long, ..content })
    }
}
