//! Reading plan files of every form. Nothing is believed before the checksum is right, and not everything
//! then: a file can be made by anybody.

use std::io::{self, Read, Write};
use std::{fs::File, path::Path};

use crate::error::Error;
use crate::guard::guarded;
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::{batchwise::unreadable, file::PlanFile, form::Form, json, npz};

/// Reads the plan in a file of the [`Form`] that its name tells, and refuses one that does not say
/// what was written. [`read_plan_exact`] looks at every byte.
pub fn read_plan(path: &Path) -> Result<PlanFile, Error> {
    read(path, read_plan_from)
}

/// Reads a plan like [`read_plan`], in up to three times the time, and refuses a file that says what
/// was written in other bytes: other readers may not find the same in it. [`Exact`] tells what is
/// known.
pub fn read_plan_exact(path: &Path) -> Result<(PlanFile, Exact), Error> {
    read(path, read_plan_exact_from)
}

fn read<T>(path: &Path, from: impl Fn(&[u8], Form) -> Result<T, Error>) -> Result<T, Error> {
    opened(path, |mut file, form| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        from(&bytes, form)
    })
}

/// What `read` makes of a file of the form that its name tells.
pub(super) fn opened<T>(
    path: &Path,
    read: impl Fn(File, Form) -> Result<T, Error>,
) -> Result<T, Error> {
    let form = Form::of_path(path)?;
    let file =
        if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { File::open(path) };
    file.map_err(|error| unreadable(&error))
        .and_then(|file| guarded(|| read(file, form), Error::gave_up))
        .map_err(|error| error.of(path))
}

/// Reads the plan in the content of a file as [`read_plan_exact`] does.
pub fn read_plan_exact_from(bytes: &[u8], form: Form) -> Result<(PlanFile, Exact), Error> {
    let file = read_plan_from(bytes, form)?;
    let exact = check_bytes(&file, form, bytes)?;
    Ok((file, exact))
}

/// Reads the plan in the content of a file.
pub fn read_plan_from(bytes: &[u8], form: Form) -> Result<PlanFile, Error> {
    let read = || match form {
        Form::Json => json::read(bytes),
        Form::JsonLines => json::read_lines(bytes),
        Form::Npz => npz::read(bytes),
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::read::read(bytes),
    };
    guarded(read, Error::gave_up)
}

/// How much of a plan file is known to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exact {
    /// Every byte, by the checksum alone: nothing in the file is outside of it.
    Checksum,
    /// Every byte, by comparison with what this release writes.
    Bytes,
    /// What it says, and no more: it names another release as its writer.
    Content {
        /// The version of that release.
        version: String,
    },
}

/// Refuses a file that says what `file` is, but not in the bytes that are written for it.
///
/// The checksum is of what a file says. Of NPZ and Parquet files that is not all: a zip has names and
/// dates, and a table describes its columns, and other readers go by these. Equal plans are equal
/// files, so what was read is written again, and compared.
fn check_bytes(file: &PlanFile, form: Form, bytes: &[u8]) -> Result<Exact, Error> {
    if matches!(form, Form::Json | Form::JsonLines) {
        return Ok(Exact::Checksum);
    }
    let mut compared = Compared { bytes, at: 0 };
    // It fails where they differ.
    if file.write(form, &mut compared).is_ok() && compared.at == bytes.len() {
        return Ok(Exact::Bytes);
    }
    // NPZ files do not say which release they are from, and are the same in every one.
    #[cfg(feature = "parquet")]
    if form == Form::Parquet
        && let Some(version) = parquet::read::other_release(bytes)
    {
        return Ok(Exact::Content { version });
    }
    let what = format!(
        "says what it should, but is not as it was written, from byte {} on: it was altered, or \
         another program has saved it again",
        compared.at
    );
    Err(Error::damaged("plan", what))
}

/// Takes nothing but these bytes.
struct Compared<'a> {
    bytes: &'a [u8],
    /// How many of them came.
    at: usize,
}

impl Write for Compared<'_> {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        let expected = &self.bytes[self.at..];
        let same = expected.iter().zip(written).take_while(|(one, other)| one == other).count();
        self.at += same;
        if same < written.len() { Err(io::Error::other("another byte")) } else { Ok(same) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
