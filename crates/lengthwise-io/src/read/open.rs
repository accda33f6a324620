//! Opening files to read, and the progress of reading.

use std::io::{self, Read};
use std::{fs::File, path::Path};

use crate::error::Error;

/// Opens a file. A directory opens without complaint on Unix and fails at the first read with a
/// less helpful message, so it is looked for here.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    if path.is_dir() {
        return Err(is_directory());
    }
    File::open(path).map_err(Error::io)
}

pub(crate) fn is_directory() -> Error {
    Error::new("is a directory").hint_to("name a file in it")
}

/// How far a reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// In a directory of audio.
    Files {
        /// How many files are done.
        done: u64,
        /// How many are found so far.
        found: u64,
    },
    /// In one file, packed or not.
    Bytes {
        /// How many bytes of it are done.
        done: u64,
        /// How many it has; 0 if that is not known, as for a pipe.
        of: u64,
    },
}

/// A file that tells how far it is read. Readers ask for 64 KiB at a time, which is often enough.
pub(crate) struct Told<'a, R> {
    pub(crate) reader: R,
    pub(crate) done: u64,
    pub(crate) of: u64,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

impl<R: Read> Read for Told<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.done += read as u64;
        (self.progress)(Progress::Bytes { done: self.done, of: self.of });
        Ok(read)
    }
}
