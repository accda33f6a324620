//! What the forms that are not text say in JSON: all but the numbers, and the checksum.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{
    content::{Batches, Content},
    document::{Dealt, DealtRead, How, Pieces},
    read::{Version, check_content, check_version, parsed},
    sheet::Sheet,
};
use crate::{Error, hex::hex};

/// The object as it is written, but for its checksum.
#[derive(Serialize)]
struct Header<'a> {
    version: u32,
    digest: String,
    made: How,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_long: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Pieces>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<Dealt<'a>>,
}

/// Which numbers have no other place in the file, and go into the object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// None.
    Nothing,
    /// The over-long sequences, and the pieces.
    #[cfg(feature = "parquet")]
    OverLongAndChunks,
}

/// The object with its checksum, on a line. `hash` is of the numbers that are elsewhere.
pub(super) fn text<P: super::sheet::Batches>(
    file: &Sheet<P>,
    rest: Rest,
    mut hash: Xxh3,
) -> serde_json::Result<String> {
    let Sheet { plan, chunks, ranks, .. } = *file;
    let all = rest != Rest::Nothing;
    let header = Header {
        version: Version::of(file).number(),
        digest: hex(plan.digest()),
        made: How::new(plan.made()),
        over_long: Some(plan.over_long().1).filter(|list| all && !list.is_empty()),
        chunks: chunks.filter(|_| all).map(Pieces::new),
        ranks: ranks.map(Dealt::new),
    };
    let mut text = serde_json::to_string(&header)?;
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
    made: How,
    #[serde(default)]
    over_long: Vec<u32>,
    chunks: Option<Pieces>,
    ranks: Option<DealtRead>,
}

/// An object of a version that can be read, and nothing more is known of it yet.
pub(super) struct Unchecked<'a>(&'a [u8], Version);

impl<'a> Unchecked<'a> {
    pub(super) fn new(text: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(text, check_version(text)?))
    }

    /// The content of a file without its batches and ids. `hash` is of the numbers that are elsewhere.
    pub(super) fn content(self, hash: Xxh3) -> Result<Content, Error> {
        self.check(hash)?;
        self.unchecked()
    }

    /// Refuses a plan of two lengths, which does not come batch by batch.
    pub(super) fn check_one_length(&self) -> Result<(), Error> {
        if !self.1.is_of_pairs() {
            return Ok(());
        }
        Err(Error::of_plan("is of two lengths, and does not come batch by batch")
            .hint_to("read it as a whole: leave out {memory}"))
    }

    /// Refuses an object that does not have the checksum at its end.
    pub(super) fn check(&self, hash: Xxh3) -> Result<(), Error> {
        check_content(self.0, hash)
    }

    /// The content before anything is known of the checksum.
    pub(super) fn unchecked(&self) -> Result<Content, Error> {
        let header: HeaderRead = parsed(self.0)?;
        let wrong = |why: String| Error::not_a_plan(&why);
        Ok(Content {
            version: self.1,
            digest: header.digest,
            made: header.made.made().map_err(wrong)?,
            batches: Batches::default(),
            batch_lengths: Vec::new(),
            positions: Vec::new(),
            seconds: None,
            over_long: header.over_long,
            ids: None,
            chunks: header.chunks.map(Pieces::chunks).transpose().map_err(wrong)?,
            ranks: header.ranks,
        })
    }
}
