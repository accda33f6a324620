//! Plans that are read batch by batch: what is known before the batches, and a batch.

use std::{fmt, io};

use lengthwise::Provenance;
use xxhash_rust::xxh3::Xxh3;

use crate::{error::Error, plan::header::Unchecked};

/// One batch of a [`PlanStream`](crate::PlanStream).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamedBatch {
    /// Its sequences.
    pub sequences: Vec<u32>,
    /// What they are padded to.
    pub length: u32,
    /// How many of its positions are not padding.
    pub positions: u64,
}

/// What is known before the batches.
pub(super) struct About {
    pub(super) made: Provenance,
    pub(super) digest: u64,
    pub(super) over_long: Vec<u32>,
}

impl About {
    /// What the object says that is not yet checked.
    pub(super) fn new(header: &Unchecked) -> Result<Self, Error> {
        let content = header.unchecked()?;
        if content.chunks.is_some() || content.ranks.is_some() {
            return Err(whole(MORE));
        }
        let digest = content.digest()?;
        Ok(Self { made: content.made, digest, over_long: content.over_long })
    }
}

pub(super) fn unreadable(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::not_a_plan("it ends early"),
        _ => Error::unreadable("plan", error),
    }
}

/// A plan that cannot be read batch by batch.
pub(super) fn whole(why: &str) -> Error {
    Error::of_plan(why).hint_to(
        "read it as a whole (without {memory}), or write the plan to a file .npz, .parquet or .jsonl",
    )
}

pub(super) const MORE: &str =
    "has ids or pieces, or was dealt to ranks, and does not come batch by batch";

/// A hash that says nothing of itself.
#[derive(Clone)]
pub(super) struct Xxh3Debug(pub(super) Xxh3);

impl fmt::Debug for Xxh3Debug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Xxh3")
    }
}

/// Adds numbers to a hash.
pub(super) fn add<const SIZE: usize>(hash: &mut Xxh3, numbers: impl Iterator<Item = [u8; SIZE]>) {
    let mut bytes = Vec::with_capacity(1 << 13);
    for number in numbers {
        bytes.extend_from_slice(&number);
        if bytes.len() >= 1 << 13 {
            hash.update(&bytes);
            bytes.clear();
        }
    }
    hash.update(&bytes);
}
