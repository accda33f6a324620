//! A temporary file of lengths, for more of them than are to be in memory.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use crate::error::Error;
use crate::read::map::Map;

/// Lengths in a temporary file without a name: it is gone as soon as nobody uses it, however that
/// comes about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spool {
    file: Option<Arc<File>>,
    count: usize,
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
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Writes lengths behind those that are there.
    pub(crate) fn add(&mut self, lengths: &[u32]) -> Result<(), Error> {
        let folder = std::env::temp_dir();
        let refused = |cause: std::io::Error| {
            let error = Error::io(cause);
            let space = 4 * (self.count + lengths.len()) as u64;
            error.spooling(&folder.display().to_string(), space)
        };
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::new(tempfile::tempfile_in(&folder).map_err(refused)?),
        };
        let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_ne_bytes()).collect();
        (&*file).write_all(&bytes).map_err(refused)?;
        (self.file, self.count) = (Some(file), self.count + lengths.len());
        Ok(())
    }

    /// All lengths, mapped; nothing if none were written.
    pub(crate) fn map(self) -> Result<Option<Map>, Error> {
        let Some(file) = self.file else { return Ok(None) };
        Map::new(&file, 0, self.count).map(Some).map_err(Error::io)
    }
}
