//! Output files, which appear whole or not at all.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::failure::Failure;

/// Writes a file whole or not at all: under a temporary name first, then renamed.
pub(crate) fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&std::fs::File>) -> io::Result<()>,
) -> Result<(), Failure> {
    // Through a link to the file it names.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let attempt = || -> io::Result<()> {
        let file = temporary(folder)?;
        let mut buffered = BufWriter::new(file.as_file());
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().map_err(|error| {
        // The kind alone: the whole error names the temporary file, which means nothing to the user.
        let cause = match error.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        Failure::new(
            format!("{}: {cause}", path.display()),
            "nothing was written; check that the folder exists and can be written to",
        )
    })
}

/// A temporary file that everybody may read who may read other new files: it will be the output.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
