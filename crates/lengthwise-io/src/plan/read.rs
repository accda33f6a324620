//! Reading plan files of every form. Nothing is believed before the checksum is right, and not everything
//! then: a file can be made by anybody.

use std::{fs, io, path::Path};

use crate::error::Error;
use crate::plan::exact::{self, Exact};
use crate::plan::file::PlanFile;
use crate::plan::form::Form;
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::{json, npz};

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
    let form = Form::of_path(path)?;
    let bytes =
        if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { fs::read(path) };
    bytes
        .map_err(|error| Error::unreadable("plan", &error))
        .and_then(|bytes| from(&bytes, form))
        .map_err(|error| error.of(path))
}

/// Reads the plan in the content of a file as [`read_plan_exact`] does.
pub fn read_plan_exact_from(bytes: &[u8], form: Form) -> Result<(PlanFile, Exact), Error> {
    let file = read_plan_from(bytes, form)?;
    let exact = exact::check(&file, form, bytes)?;
    Ok((file, exact))
}

/// Reads the plan in the content of a file.
pub fn read_plan_from(bytes: &[u8], form: Form) -> Result<PlanFile, Error> {
    match form {
        Form::Json => json::read::json(bytes),
        Form::JsonLines => json::read::json_lines(bytes),
        Form::Npz => npz::read(bytes),
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::read(bytes),
    }
}
