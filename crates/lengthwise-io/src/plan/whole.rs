//! Writing plan files of every form, and reading them. Nothing is trusted before the checksum is right,
//! and not everything after that: anyone can make a file.

use std::io::{self, Read, Write};
use std::{fs::File, path::Path};

use lengthwise::SpanPlan;

use crate::error::Error;
use crate::guard::guarded;
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::{batchwise::unreadable, content::Sheet, file::PlanFile, form::Form, json, npz};
use crate::save::save;

fn write(sheet: &Sheet, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
    match form {
        Form::Json => json::write(sheet, output),
        Form::JsonLines => json::write_lines(sheet, output),
        Form::Npz => npz::write(sheet, output),
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::write(sheet, output),
    }
}

fn refused(what: impl Into<String>, hint: &'static str) -> io::Error {
    io::Error::other(Error::of_plan(what).hint_to(hint))
}

impl PlanFile {
    /// Writes the file to `output`, bit by bit.
    pub fn write(&self, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
        let count = self.plan.indices().len();
        if let Some(ids) = self.ids.as_ref().filter(|ids| ids.len() != count) {
            let what = format!("has {} ids for {count} sequences", ids.len());
            return Err(refused(what, "give one id for each index in its batches"));
        }
        write(&Sheet::of_file(self), form, output)
    }

    /// Writes the file whole or not at all, in the form that its name tells.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let form = Form::of_path(path)?;
        save(path, |file| self.write(form, file))
    }
}

/// The file of a plan that is not contiguous in memory: the same bytes as those of [`PlanFile`],
/// written batch by batch. Plans of two lengths are refused.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, Workspace, strategy::Shuffled};
/// use lengthwise_io::{Form, SpanPlanFile, PlanFile};
///
/// let (lengths, workspace) = (Example::Speech.lengths(), Workspace::new());
/// let planner = Planner::new(Shuffled, Budget::padded(16_000));
/// let loose = planner.spans_in(&workspace, &lengths, 0)?;
/// let positions = loose.positions(&workspace, &lengths);
/// let (mut one, mut other) = (Vec::new(), Vec::new());
/// SpanPlanFile { plan: &loose, positions: &positions }.write(Form::Npz, &mut one)?;
/// PlanFile::new(planner.plan(&lengths, 0)?, &lengths).write(Form::Npz, &mut other)?;
/// assert!(one == other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SpanPlanFile<'a> {
    /// The batches, and how they were made.
    pub plan: &'a SpanPlan,
    /// How many positions of each batch are not padding.
    pub positions: &'a [u64],
}

impl SpanPlanFile<'_> {
    /// Writes the file to `output`, bit by bit.
    pub fn write(&self, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
        let Self { plan, positions } = *self;
        let (batches, counted) = (plan.len(), positions.len());
        if batches != counted {
            let what = format!("has positions of {counted} batches, and {batches} batches");
            return Err(refused(what, "give those of every batch"));
        }
        if plan.is_paired() {
            let what = "has two lengths, and cannot be written batch by batch";
            return Err(refused(what, "gather it, and use `PlanFile`"));
        }
        write(&Sheet::of_spans(plan, positions), form, output)
    }

    /// Writes the file whole or not at all, in the form that its name tells.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let form = Form::of_path(path)?;
        save(path, |file| self.write(form, file))
    }
}

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
        "has the right content, but other bytes than were written, from byte {} on: it was altered, or \
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
