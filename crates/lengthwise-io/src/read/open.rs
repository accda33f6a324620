//! Opening files to read.

use std::fs::File;
use std::path::Path;

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
