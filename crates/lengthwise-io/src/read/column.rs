//! The lengths of a file, as they come in.

use std::{fs::File, io::Write, sync::Arc};

use crate::error::Error;
use crate::ids::Ids;
use crate::system::Map;

/// Lengths as read, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The header or the JSON field they were under, if there was one.
    pub name: Option<String>,
    /// One length per sequence, each at least 1; never empty.
    pub lengths: Vec<u32>,
    /// One id per sequence, if ids were asked for.
    pub ids: Option<Ids>,
    /// What was left out without being refused: blank lines before the last value, and files of a
    /// directory that are not audio.
    pub skipped: u64,
    /// If blank lines were left out, the number of the first, from 1.
    pub first_skipped: Option<u64>,
    /// Lengths that come before those in the list. No column that is handed out has any.
    pub(super) spool: Option<Spool>,
}

/// The first capacity of a list of lengths.
const FIRST: usize = 1 << 10;

/// How many lengths are in memory before they go to a file, if they do.
const SPOOLED: usize = 1 << 20;

impl Column {
    /// How many lengths there are so far, wherever they are.
    pub(crate) fn count(&self) -> usize {
        self.spool.as_ref().map_or(0, |spool| spool.count) + self.lengths.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, length: u32) -> Result<(), Error> {
        if self.lengths.len() == self.lengths.capacity() {
            self.grow()?;
        }
        self.lengths.push(length);
        Ok(())
    }

    /// Reserves memory if the number of lengths is not known: for twice as many, so that this is rare,
    /// or else for some more. The planner counts sequences in 32 bits.
    #[cold]
    fn grow(&mut self) -> Result<(), Error> {
        let held = self.lengths.len();
        let left = (u32::MAX as usize).saturating_sub(self.count());
        if left == 0 {
            return Err(Error::too_many());
        }
        if held >= SPOOLED
            && let Some(spool) = &mut self.spool
        {
            spool.add(&self.lengths)?;
            self.lengths.clear();
            return Ok(());
        }
        let [twice, some] = [held, held / 8].map(|more| more.max(FIRST).min(left));
        let made = self.lengths.try_reserve_exact(twice);
        made.or_else(|_| self.lengths.try_reserve_exact(some))
            .map_err(|_| Error::no_memory("lengths", held + some, 4))
    }

    /// Reserves memory for `more` lengths, if needed, of `all` that the file promises: never for more
    /// than those, nor for more than twice what is there and comes now, because a promise may be false.
    pub(crate) fn make_room(&mut self, more: u64, all: u64) -> Result<(), Error> {
        if self.spool.is_some() {
            return Ok(());
        }
        let held = self.lengths.len() as u64;
        let needed = held.saturating_add(more);
        if needed <= self.lengths.capacity() as u64 {
            return Ok(());
        }
        if needed > u64::from(u32::MAX) {
            return Err(Error::too_many());
        }
        let all = all.max(needed);
        let wanted = needed.max(2 * held).min(all);
        let made = self.lengths.try_reserve_exact((wanted - held) as usize);
        made.map_err(|_| Error::no_memory("lengths", all as usize, 4))
    }

    /// Keeps the id of the last sequence, where ids are kept.
    pub(crate) fn push_id(&mut self, id: &str) -> Result<(), Error> {
        let Some(ids) = &mut self.ids else { return Ok(()) };
        ids.add(id).map_err(|_| {
            let count = ids.len() + 1;
            let each = (ids.bytes().len() + id.len()) / count + size_of::<u64>();
            Error::no_memory("ids", count, each)
        })
    }
}

/// Lengths in a temporary file without a name: the system removes it as soon as no process uses it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spool {
    file: Option<Arc<File>>,
    pub(crate) count: usize,
}

/// The same file.
impl PartialEq for Spool {
    fn eq(&self, other: &Self) -> bool {
        let file = |spool: &Self| spool.file.as_ref().map(Arc::as_ptr);
        file(self) == file(other) && self.count == other.count
    }
}

impl Eq for Spool {}

impl Spool {
    pub(crate) fn add(&mut self, lengths: &[u32]) -> Result<(), Error> {
        let folder = std::env::temp_dir();
        let refused = |cause: std::io::Error| {
            let space = 4 * (self.count + lengths.len()) as u64;
            Error::io(cause).spooling(&folder.display().to_string(), space)
        };
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::new(tempfile::tempfile_in(&folder).map_err(refused)?),
        };
        let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        (&*file).write_all(&bytes).map_err(refused)?;
        (self.file, self.count) = (Some(file), self.count + lengths.len());
        Ok(())
    }

    /// All lengths, mapped; nothing if none were written.
    pub(crate) fn map(self) -> Result<Option<Map>, Error> {
        let Some(file) = self.file else { return Ok(None) };
        Map::new(&file, 0, self.count as u64).map(Some).map_err(Error::io)
    }
}
