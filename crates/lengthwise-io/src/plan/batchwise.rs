//! Plans that are read batch by batch: what is known before the batches, a batch, and a file with a table
//! of its batches.

use std::{collections::VecDeque, io};

use lengthwise::Provenance;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::npy::Number;
use crate::plan::content::check_digest;
use crate::plan::header::{Unchecked, check_content};

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
        "read it as a whole (leave out {memory}), or write the plan to a file .npz, .parquet or .jsonl",
    )
}

pub(super) const MORE: &str =
    "has ids or chunks, or was assigned to ranks, and cannot be read batch by batch";

fn add<N: Number>(hash: &mut Xxh3, numbers: &[N]) {
    let mut bytes = Vec::new();
    for block in numbers.chunks(1 << 11) {
        bytes.clear();
        for number in block {
            number.put(&mut bytes);
        }
        hash.update(&bytes);
    }
}

/// The indices of a file, some at a time.
pub(super) type Indices = Box<dyn Iterator<Item = Result<Vec<u32>, Error>> + Send>;

/// What is said of each batch.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) ends: Vec<u32>,
    pub(super) lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
}

/// A file with all indices in one place, and a table of the batches.
pub(super) struct Table {
    header: Vec<u8>,
    indices: Indices,
    rows: Rows,
    over_long: Vec<u32>,
    /// The checksum up to the indices, and whether it goes on with the rest behind them.
    hash: Xxh3,
    hashes_rest: bool,
    /// The digest up to the indices.
    digest: Xxh3,
    /// Indices that were read, from those of the next batch on.
    waiting: VecDeque<u32>,
    next: usize,
}

impl Table {
    /// A table of `count` indices, if it fits together, and what is known before the batches. `hash` is
    /// of what comes before the indices; without one they are the first, and all else comes behind.
    pub(super) fn open(
        header: Vec<u8>,
        (count, indices): (usize, Indices),
        rows: Rows,
        over_long: Vec<u32>,
        hash: Option<Xxh3>,
    ) -> Result<(About, Self), Error> {
        let mut about = About::new(&Unchecked::new(&header)?)?;
        let Rows { ends, lengths, positions } = &rows;
        let batches = ends.len();
        if [lengths.len(), positions.len()] != [batches; 2] {
            let (lengths, positions) = (lengths.len(), positions.len());
            let why = format!("{batches} batches, {lengths} batch lengths, {positions} positions");
            return Err(Error::not_a_plan(why));
        }
        let last = ends.last().map_or(0, |&end| end as usize);
        if last != count || !ends.is_sorted_by(|a, b| a < b) || ends.first() == Some(&0) {
            let why = format!("its batches do not end one after another, at {count} at last");
            return Err(Error::not_a_plan(why));
        }
        let mut digest = Xxh3::new();
        digest.update(&(batches as u32).to_le_bytes());
        add(&mut digest, ends);
        add(&mut digest, lengths);
        if !over_long.is_empty() {
            about.over_long = over_long;
        }
        let (hashes_rest, hash) = (hash.is_none(), hash.unwrap_or_default());
        let (waiting, next) = (VecDeque::new(), 0);
        let over_long = about.over_long.clone();
        let table =
            Self { header, indices, rows, over_long, hash, hashes_rest, digest, waiting, next };
        Ok((about, table))
    }

    pub(super) fn memory(&self) -> u64 {
        (16 * self.rows.ends.len() + 8 * self.over_long.len() + self.header.len()) as u64
    }

    /// The next batch; nothing at the end, if the checksum and the digest are right.
    pub(super) fn next(&mut self, digest: u64) -> Result<Option<StreamedBatch>, Error> {
        let Rows { ends, lengths, positions } = &self.rows;
        let Some(&end) = ends.get(self.next) else {
            return self.finish(digest).map(|()| None);
        };
        let before = if self.next == 0 { 0 } else { ends[self.next - 1] };
        let size = (end - before) as usize;
        while self.waiting.len() < size {
            let Some(more) = self.indices.next().transpose()? else {
                return Err(Error::not_a_plan("it has fewer sequences than its batches"));
            };
            for hash in [&mut self.hash, &mut self.digest] {
                add(hash, &more);
            }
            self.waiting.extend(more);
        }
        let sequences = self.waiting.drain(..size).collect();
        let (length, positions) = (lengths[self.next], positions[self.next]);
        if length == 0 {
            return Err(Error::not_a_plan(format!("batch {} is empty", self.next)));
        }
        self.next += 1;
        Ok(Some(StreamedBatch { sequences, length, positions }))
    }

    /// Refuses what does not have its checksum and its digest.
    fn finish(&mut self, digest: u64) -> Result<(), Error> {
        if !self.waiting.is_empty() || self.indices.next().transpose()?.is_some() {
            return Err(Error::not_a_plan("it has more sequences than its batches"));
        }
        let mut hash = self.hash.clone();
        if self.hashes_rest {
            let Rows { ends, lengths, positions } = &self.rows;
            add(&mut hash, ends);
            add(&mut hash, lengths);
            add(&mut hash, positions);
            add(&mut hash, &self.over_long);
        }
        check_content(&self.header, hash)?;
        check_digest(digest, self.digest.digest())
    }
}
