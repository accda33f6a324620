//! Output files, which appear whole or not at all.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::Error;

/// Writes a file whole or not at all: under a temporary name first, then renamed when all of it is
/// on the disk.
pub fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), Error> {
    // Through a link to the file it names.
    let real = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match real.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let attempt = || -> io::Result<()> {
        let file = temporary(folder)?;
        let mut buffered = BufWriter::new(file.as_file());
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        // A crash after the renaming must not leave a name without its content.
        file.as_file().sync_all()?;
        file.persist(real).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().map_err(|error| Error::unwritten(&error).of(path))
}

/// A temporary file that everybody may read who may read other new files: it will be the output.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
