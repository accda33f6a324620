//! A file with all indices in one place, and a table of its batches, which is read batch by batch.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::plan::batchwise::{About, StreamedBatch, Xxh3Debug, add};
use crate::plan::header::Unchecked;
use crate::plan::seal::check_digest;

/// The indices of a file, some at a time.
pub(super) trait Indices: fmt::Debug + Send {
    /// Adds at least one to the list; false at their end.
    fn more(&mut self, into: &mut Vec<u32>) -> Result<bool, Error>;
}

/// A file with all indices in one place, and a table of the batches.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) header: Vec<u8>,
    pub(super) indices: Box<dyn Indices>,
    /// How many indices there are.
    pub(super) count: usize,
    pub(super) ends: Vec<u32>,
    pub(super) lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
    pub(super) over_long: Vec<u32>,
    /// The checksum up to the indices, and what it goes on with behind them.
    pub(super) hash: Xxh3Debug,
    pub(super) behind: fn(&Table, &mut Xxh3),
    /// The digest up to the indices.
    pub(super) digest: Xxh3Debug,
    /// Indices that were read, and where those of the next batch begin.
    pub(super) waiting: Vec<u32>,
    pub(super) start: usize,
    pub(super) next: usize,
}

impl Table {
    /// Refuses a table that does not fit together, and gives what is known before the batches.
    pub(super) fn opened(mut self) -> Result<(About, Self), Error> {
        let mut about = About::new(&Unchecked::new(&self.header)?)?;
        let (batches, lengths, positions) =
            (self.ends.len(), self.lengths.len(), self.positions.len());
        if batches != lengths || batches != positions {
            let why = format!("{batches} batches, {lengths} batch lengths, {positions} positions");
            return Err(Error::not_a_plan(&why));
        }
        let last = self.ends.last().map_or(0, |&end| end as usize);
        if last != self.count
            || !self.ends.is_sorted_by(|a, b| a < b)
            || self.ends.first() == Some(&0)
        {
            let why =
                format!("its batches do not end one after another, at {} at last", self.count);
            return Err(Error::not_a_plan(&why));
        }
        let mut hash = Xxh3::new();
        hash.update(&(batches as u32).to_le_bytes());
        add(&mut hash, self.ends.iter().map(|end| end.to_le_bytes()));
        add(&mut hash, self.lengths.iter().map(|length| length.to_le_bytes()));
        self.digest = Xxh3Debug(hash);
        if self.over_long.is_empty() {
            self.over_long.clone_from(&about.over_long);
        } else {
            about.over_long.clone_from(&self.over_long);
        }
        Ok((about, self))
    }

    /// The next batch; nothing at the end, if the checksum and the digest are right.
    pub(super) fn next(&mut self, digest: u64) -> Result<Option<StreamedBatch>, Error> {
        let Some(&end) = self.ends.get(self.next) else {
            return self.finish(digest).map(|()| None);
        };
        let before = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        let size = (end - before) as usize;
        while self.waiting.len() - self.start < size {
            if self.start > 0 {
                self.waiting.drain(..self.start);
                self.start = 0;
            }
            let held = self.waiting.len();
            if !self.indices.more(&mut self.waiting)? {
                return Err(Error::not_a_plan("it has fewer sequences than its batches"));
            }
            let new = || self.waiting[held..].iter().map(|index| index.to_le_bytes());
            add(&mut self.hash.0, new());
            add(&mut self.digest.0, new());
        }
        let sequences = self.waiting[self.start..self.start + size].to_vec();
        self.start += size;
        let (length, positions) = (self.lengths[self.next], self.positions[self.next]);
        if length == 0 {
            return Err(Error::not_a_plan(&format!("batch {} is empty", self.next)));
        }
        self.next += 1;
        Ok(Some(StreamedBatch { sequences, length, positions }))
    }

    /// Refuses what does not have its checksum and its digest.
    fn finish(&mut self, digest: u64) -> Result<(), Error> {
        let mut rest = Vec::new();
        if self.start < self.waiting.len() || self.indices.more(&mut rest)? {
            return Err(Error::not_a_plan("it has more sequences than its batches"));
        }
        let mut hash = self.hash.0.clone();
        (self.behind)(self, &mut hash);
        Unchecked::new(&self.header)?.check(hash)?;
        check_digest(digest, self.digest.0.digest())
    }
}
