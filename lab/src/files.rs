//! Files that appear whole or not at all.

use std::{io::Write as _, path::Path};

use crate::error::Error;

/// Writes a file, or leaves what was there as it was.
pub fn save(path: &Path, data: &[u8]) -> Result<(), Error> {
    lengthwise_io::save(path, |file| file.write_all(data))
        .map_err(|error| Error::with_hint(error.to_string(), error.hint()))
}

/// Writes a file of a training, which can go on later if this cannot be done now.
pub(crate) fn keep(path: &Path, data: &[u8]) -> Result<(), Error> {
    save(path, data).map_err(|error| error.also("then run the same command again: it continues"))
}
