//! Writing plan files of every form.

use std::io::{self, Write};
use std::path::Path;

use lengthwise::SpanPlan;

use crate::error::Error;
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::{content::Sheet, file::PlanFile, form::Form, json, npz};
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

/// The file of a plan that is not in one piece: the same bytes as those of [`PlanFile`], written batch
/// by batch. Plans of two lengths are refused.
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
            let what = "is of two lengths, and is not written batch by batch";
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
