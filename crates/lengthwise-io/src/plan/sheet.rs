//! What a file is written from: the batches of a plan, wherever they are, and what goes with them.

use std::{
    io::{self, Write},
    path::Path,
};

use lengthwise::{Chunks, LoosePlan, Made, OverLong, Plan};

#[cfg(feature = "parquet")]
use super::parquet;
use super::{Form, PlanFile, Ranks, npz, write};
use crate::{Error, ids::Ids, save};

/// A plan, in one piece or not.
pub(super) trait Batches {
    fn made(&self) -> &Made;
    fn digest(&self) -> u64;
    /// The number of batches.
    fn len(&self) -> usize;
    /// The number of sequences in all of them.
    fn sequences(&self) -> usize;
    /// The sequences of a batch, and what it is padded to.
    fn batch(&self, batch: usize) -> (&[u32], u32);
    fn over_long(&self) -> (OverLong, &[u32]);

    /// All batches in order.
    fn all(&self) -> impl ExactSizeIterator<Item = (&[u32], u32)> + Clone {
        (0..self.len()).map(|batch| self.batch(batch))
    }

    /// Where each batch ends.
    fn ends(&self) -> impl Iterator<Item = u32> {
        self.all().scan(0, |end, (batch, _)| {
            *end += batch.len() as u32;
            Some(*end)
        })
    }
}

impl Batches for Plan {
    fn made(&self) -> &Made {
        self.made()
    }

    fn digest(&self) -> u64 {
        self.digest()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn sequences(&self) -> usize {
        self.indices().len()
    }

    fn batch(&self, batch: usize) -> (&[u32], u32) {
        (self.get(batch).unwrap_or_default(), self.batch_lengths()[batch])
    }

    fn over_long(&self) -> (OverLong, &[u32]) {
        self.over_long()
    }
}

impl Batches for LoosePlan {
    fn made(&self) -> &Made {
        self.made()
    }

    fn digest(&self) -> u64 {
        self.digest()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn sequences(&self) -> usize {
        self.sequences()
    }

    fn batch(&self, batch: usize) -> (&[u32], u32) {
        self.get(batch).unwrap_or_default()
    }

    fn over_long(&self) -> (OverLong, &[u32]) {
        self.over_long()
    }
}

/// What batches of two lengths have besides.
#[derive(Clone, Copy)]
pub(super) struct Seconds<'a> {
    pub(super) batch_lengths: &'a [u32],
    pub(super) positions: &'a [u64],
}

/// All that a file says.
pub(super) struct Sheet<'a, P> {
    pub(super) plan: &'a P,
    pub(super) positions: &'a [u64],
    pub(super) seconds: Option<Seconds<'a>>,
    pub(super) ids: Option<&'a Ids>,
    pub(super) chunks: Option<&'a Chunks>,
    pub(super) ranks: Option<&'a Ranks>,
}

impl<P: Batches> Sheet<'_, P> {
    pub(super) fn write(&self, form: Form, output: &mut (impl Write + Send)) -> io::Result<()> {
        match form {
            Form::Json => write::json(self, output),
            Form::JsonLines => write::json_lines(self, output),
            Form::Npz => npz::write(self, output),
            #[cfg(feature = "parquet")]
            Form::Parquet => parquet::write(self, output),
        }
    }
}

impl PlanFile {
    pub(super) fn sheet(&self) -> Sheet<'_, Plan> {
        let Self { plan, positions, second_positions, ids, chunks, ranks } = self;
        let (ids, chunks, ranks) = (ids.as_ref(), chunks.as_ref(), ranks.as_ref());
        let seconds = plan.second_batch_lengths();
        let seconds =
            seconds.map(|batch_lengths| Seconds { batch_lengths, positions: second_positions });
        Sheet { plan, positions, seconds, ids, chunks, ranks }
    }
}

/// The file of a plan that is not in one piece: the same bytes as those of [`PlanFile`], written batch
/// by batch. Plans of two lengths are refused.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, Shuffled, Workspace};
/// use lengthwise_io::{Form, LoosePlanFile, PlanFile};
///
/// let (lengths, workspace) = (Example::Speech.lengths(), Workspace::new());
/// let planner = Planner::new(Shuffled, Budget::padded(16_000));
/// let loose = planner.loose_in(&workspace, &lengths, 0)?;
/// let positions = loose.positions(&workspace, &lengths);
/// let (mut one, mut other) = (Vec::new(), Vec::new());
/// LoosePlanFile { plan: &loose, positions: &positions }.write(Form::Npz, &mut one)?;
/// PlanFile::new(planner.plan(&lengths, 0)?, &lengths).write(Form::Npz, &mut other)?;
/// assert!(one == other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LoosePlanFile<'a> {
    /// The batches, and how they were made.
    pub plan: &'a LoosePlan,
    /// How many positions of each batch are not padding.
    pub positions: &'a [u64],
}

impl LoosePlanFile<'_> {
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
        Sheet { plan, positions, seconds, ids, chunks, ranks }.write(form, output)
    }

    /// Writes the file whole or not at all, in the form that its name tells.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let form = Form::of_path(path)?;
        save(path, |file| self.write(form, file))
    }
}
