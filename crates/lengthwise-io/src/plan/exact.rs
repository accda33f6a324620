//! Whether a file is, to the byte, what is written for what it says.
//!
//! The checksum is of what a file says. Of NPZ and Parquet files that is not all: a zip has names and
//! dates, and a table describes its columns, and other readers go by these. Equal plans are equal
//! files, so what was read is written again, and compared.

use std::io::{self, Write};

use crate::error::Error;
use crate::plan::file::PlanFile;
use crate::plan::form::Form;
#[cfg(feature = "parquet")]
use crate::plan::parquet;

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
pub(super) fn check(file: &PlanFile, form: Form, bytes: &[u8]) -> Result<Exact, Error> {
    if matches!(form, Form::Json | Form::JsonLines) {
        return Ok(Exact::Checksum);
    }
    let Some(byte) = difference(file, form, bytes) else { return Ok(Exact::Bytes) };
    if let Some(version) = other_release(form, bytes) {
        return Ok(Exact::Content { version });
    }
    let what = format!(
        "says what it should, but is not as it was written, from byte {byte} on: it was altered, or \
         another program has saved it again"
    );
    Err(Error::damaged("plan", what))
}

/// The first byte that is not as we write it, if there is one.
fn difference(file: &PlanFile, form: Form, bytes: &[u8]) -> Option<usize> {
    let mut compared = Compared { bytes, at: 0 };
    // It fails where they differ.
    match file.write(form, &mut compared) {
        Ok(()) if compared.at == bytes.len() => None,
        _ => Some(compared.at),
    }
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

/// The release that a file says it is from, if it is another: its Parquet library may write the same
/// in other bytes. NPZ files do not say, and are the same in every release.
fn other_release(form: Form, bytes: &[u8]) -> Option<String> {
    match form {
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            let version = parquet::version(bytes)?;
            let number = |part: &str| part.parse::<u32>().is_ok();
            let is_version = version.split('.').count() == 3 && version.split('.').all(number);
            (is_version && version != env!("CARGO_PKG_VERSION")).then_some(version)
        }
        _ => {
            _ = bytes;
            None
        }
    }
}
