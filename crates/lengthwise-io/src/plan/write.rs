//! Writing plan files of every form.

use std::io::{self, Write};
use std::path::Path;

use lengthwise::SpanPlan;

use crate::error::Error;
use crate::plan::file::PlanFile;
use crate::plan::form::Form;
#[cfg(feature = "parquet")]
use crate::plan::parquet;
use crate::plan::sheet::{Batches, Sheet};
use crate::plan::{json, npz};
use crate::save::save;

fn write<P: Batches>(
    sheet: &Sheet<P>,
    form: Form,
    output: &mut (impl Write + Send),
) -> io::Result<()> {
    match form {
        Form::Json => json::write::json(sheet, output),
        Form::JsonLines => json::write::json_lines(sheet, output),
        Form::Npz => npz::write(sheet, output),
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::write(sheet, output),
    }
}

impl PlanFile {
    /// Writes the file to `output`, bit by bit.
    pub fn write(&self, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
        let count = self.plan.indices().len();
        if let Some(ids) = self.ids.as_ref().filter(|ids| ids.len() != count) {
            let what = format!("has {} ids for {count} sequences", ids.len());
            let hint = "give one id for each index in its batches";
            return Err(io::Error::other(Error::of_plan(what).hint_to(hint)));
        }
        write(&self.sheet(), form, output)
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
        let (batches, counted) = (self.plan.len(), self.positions.len());
        if batches != counted {
            let what = format!("has positions of {counted} batches, and {batches} batches");
            return Err(io::Error::other(
                Error::of_plan(what).hint_to("give those of every batch"),
            ));
        }
        let Self { plan, positions } = *self;
        if plan.is_paired() {
            let what = "is of two lengths, and is not written batch by batch";
            let error = Error::of_plan(what).hint_to("gather it, and use `PlanFile`");
            return Err(io::Error::other(error));
        }
        let (seconds, ids, chunks, ranks) = (None, None, None, None);
        write(&Sheet { plan, positions, seconds, ids, chunks, ranks }, form, output)
    }

    /// Writes the file whole or not at all, in the form that its name tells.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let form = Form::of_path(path)?;
        save(path, |file| self.write(form, file))
    }
}
