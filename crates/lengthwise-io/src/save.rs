//! Output files, which appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::system::as_other_files;

/// Writes a file whole or not at all: under a temporary name first, then renamed when all of it is
/// on the disk.
pub fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), Error> {
    Written::new(path, write)?.keep()
}

/// A file that is written, and has not its name yet. If it is not [kept](Written::keep), it is gone.
///
/// With several of them, all can be written before the first appears.
#[derive(Debug)]
pub struct Written {
    file: NamedTempFile,
    /// The name that it gets, and the one that was given, which may be a link to it.
    real: PathBuf,
    path: PathBuf,
}

impl Written {
    /// Writes the file beside its place.
    pub fn new(
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Self, Error> {
        Self::begin(path)?.filled(write)
    }

    /// An empty file beside its place.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        // Through a link to the file it names, which need not be there yet.
        let linked = |_| path.read_link().map(|target| path.with_file_name(target));
        let real = path.canonicalize().or_else(linked).unwrap_or_else(|_| path.to_owned());
        if real.metadata().is_ok_and(|there| !there.is_file()) {
            let error = Error::of_subject("file", "exists, but is not a regular file");
            return Err(error.hint_to("name another file").of(path));
        }
        let folder = real.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let attempt = || -> io::Result<NamedTempFile> {
            let file = temporary(folder)?;
            if let Ok(there) = real.metadata() {
                file.as_file().set_permissions(there.permissions())?;
            }
            Ok(file)
        };
        let file = attempt().map_err(|error| Error::unwritten(&error).of(path))?;
        Ok(Self { file, real, path: path.to_owned() })
    }

    /// The name under which it is written.
    pub fn temporary(&self) -> &Path {
        self.file.path()
    }

    /// The same file with its content, which is on the disk.
    pub fn filled(
        self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Self, Error> {
        let attempt = || -> io::Result<()> {
            let mut buffered = BufWriter::new(self.file.as_file());
            write(&mut buffered)?;
            buffered.flush()?;
            drop(buffered);
            // A crash after the renaming must not leave a name without its content.
            self.file.as_file().sync_all()
        };
        // What cannot be written in this form says so itself; all else is the system's.
        let own = |error: io::Error| match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::unwritten(&error),
        };
        attempt().map_err(|error| own(error).of(&self.path))?;
        Ok(self)
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<(), Error> {
        let Self { file, real, path } = self;
        file.persist(real).map_err(|error| Error::unwritten(&error.error).of(&path))?;
        Ok(())
    }
}

/// A temporary file with the permissions of other new files: it will be the output.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    as_other_files(&mut builder);
    builder.tempfile_in(folder)
}

/// How files of this process begin that have not their names yet.
fn prefix() -> String {
    format!(".lengthwise-{}-", std::process::id())
}

/// Whether this is the name of a file that this process has not finished: remove such files if you end
/// the process early.
pub fn unfinished(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(&prefix()))
}
