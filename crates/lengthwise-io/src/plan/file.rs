//! A plan, and what its file says besides.

use lengthwise::{Chunks, Cursor, Lengths, Plan, Schedule, measure::Counts};
use serde::{Deserialize, Serialize, Serializer};

use crate::cursor;
use crate::error::Error;
use crate::ids::Ids;
use crate::record::is_zero;

/// A plan, and what its file says besides.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The batches, and how they were made.
    pub plan: Plan,
    /// How many positions of each batch are not padding.
    pub positions: Vec<u64>,
    /// The same of second lengths; empty if sequences have one.
    pub second_positions: Vec<u64>,
    /// The id of the sequence at each position of the plan, if sequences have ids; for a chunk, the id
    /// of the sequence it is from. There are as many as indices in the batches.
    pub ids: Option<Ids>,
    /// The chunks that the batches name, if sequences were cut.
    pub chunks: Option<Chunks>,
    /// How the batches were assigned to ranks, if they were.
    pub ranks: Option<Ranks>,
}

/// How the batches of a file were assigned to ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranks {
    /// The number of ranks.
    pub world_size: u32,
    /// The rank whose batches these are; all ranks' if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How many batches each rank takes in a step.
    pub accumulate: u32,
    /// How many steps these batches are.
    pub steps: u64,
    /// How many steps of the epoch come after them.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps_left: u64,
    /// Where the epoch stood before them, if it was begun before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_cursor")]
    pub cursor: Option<Cursor>,
    /// The counts of all ranks together, step by step.
    #[serde(serialize_with = "write_counts")]
    pub step_counts: Vec<Counts>,
    /// How much the steps differ in length, compared with random steps of as many sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_mix: Option<f64>,
    /// The sequences in no step, because the tail is dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// The sequences of all ranks that occurred before, once for each repetition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<u32>,
}

#[expect(clippy::ref_option, reason = "serde asks for a reference")]
fn write_cursor<S: Serializer>(cursor: &Option<Cursor>, serializer: S) -> Result<S::Ok, S::Error> {
    cursor.as_ref().map(cursor::Document::from).serialize(serializer)
}

/// [`Counts`] as they are in files: a list for each number.
#[derive(Serialize, Deserialize)]
pub(super) struct StepCounts {
    pub(super) sequences: Vec<u64>,
    pub(super) positions: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) second_positions: Option<Vec<u64>>,
}

fn write_counts<S: Serializer>(counts: &[Counts], serializer: S) -> Result<S::Ok, S::Error> {
    let list = |number: fn(&Counts) -> u64| counts.iter().map(number).collect();
    let pairs = counts.iter().any(|step| step.second_positions > 0);
    let lists = StepCounts {
        sequences: list(|step| step.sequences),
        positions: list(|step| step.positions),
        second_positions: pairs.then(|| list(|step| step.second_positions)),
    };
    lists.serialize(serializer)
}

/// Rounded to four digits: it is an estimate.
fn digits(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

impl Ranks {
    /// What a file says of a schedule for all ranks, or for one of them.
    ///
    /// # Panics
    ///
    /// When `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn of(schedule: &Schedule, rank: Option<u32>, lengths: &Lengths) -> Self {
        Self {
            world_size: schedule.world_size(),
            rank,
            accumulate: schedule.accumulate(),
            steps: schedule.len() as u64,
            steps_left: 0,
            cursor: None,
            step_counts: schedule.counts(lengths),
            step_mix: Some(digits(schedule.step_mix(lengths).log_length))
                .filter(|mix| mix.is_finite()),
            dropped: schedule.dropped(),
            repeated: schedule.repeated(),
        }
    }
}

impl PlanFile {
    /// The file of a plan.
    ///
    /// # Panics
    ///
    /// When `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn new(plan: Plan, lengths: &Lengths) -> Self {
        let counts = plan.counts(lengths);
        let positions = counts.iter().map(|counts| counts.positions).collect();
        let second_positions = match plan.second_batch_lengths() {
            Some(_) => counts.iter().map(|counts| counts.second_positions).collect(),
            None => Vec::new(),
        };
        Self { plan, positions, second_positions, ids: None, chunks: None, ranks: None }
    }

    /// Adds the id of everything in the batches: `id` returns that of an index, which is a chunk if
    /// chunks were planned.
    #[must_use]
    pub fn ids<'a>(self, id: impl Fn(u32) -> &'a str) -> Self {
        Self { ids: Some(self.plan.indices().iter().map(|&index| id(index)).collect()), ..self }
    }

    /// Adds the chunks that were planned.
    #[must_use]
    pub fn chunks(self, chunks: Chunks) -> Self {
        Self { chunks: Some(chunks), ..self }
    }

    /// Adds how the batches were assigned to ranks.
    #[must_use]
    pub fn ranks(self, ranks: Ranks) -> Self {
        Self { ranks: Some(ranks), ..self }
    }
}

/// Two files are equal if their content is equal.
impl PartialEq for PlanFile {
    fn eq(&self, other: &Self) -> bool {
        let pieces = |file: &Self| file.chunks.as_ref().map(Pieces::new);
        self.plan == other.plan
            && self.plan.provenance() == other.plan.provenance()
            && self.positions == other.positions
            && self.second_positions == other.second_positions
            && self.ids == other.ids
            && pieces(self) == pieces(other)
            && self.ranks == other.ranks
    }
}

/// Where the pieces are from that the batches name by index.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pieces {
    pub(super) sequences: Vec<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) lengths: Vec<u32>,
}

impl Pieces {
    pub(super) fn new(chunks: &Chunks) -> Self {
        let pieces = (0..chunks.len() as u32).filter_map(|piece| chunks.get(piece));
        Self {
            sequences: pieces.clone().map(|piece| piece.sequence).collect(),
            offsets: pieces.map(|piece| piece.offset).collect(),
            lengths: chunks.lengths().as_slice().to_vec(),
        }
    }

    /// The sequences are cut once more, and must come to the same pieces.
    pub(super) fn chunks(self) -> Result<Chunks, Error> {
        let wrong = || Error::not_a_plan("the chunks are not parts of the sequences");
        let mut whole: Vec<u32> = Vec::new();
        for (&sequence, &length) in self.sequences.iter().zip(&self.lengths) {
            if sequence as usize == whole.len() {
                whole.push(0);
            }
            let count = whole.len();
            match whole.last_mut() {
                Some(last) if sequence as usize + 1 == count => {
                    *last = last.checked_add(length).ok_or_else(wrong)?;
                }
                _ => return Err(wrong()),
            }
        }
        // A sequence of several pieces begins with one of full size. If there is none, any size
        // that is long enough does.
        let size = self.lengths.iter().copied().max().unwrap_or_default();
        let cut = |lengths: Lengths| Chunks::new(&lengths, size);
        let chunks = Lengths::new(whole).and_then(cut).map_err(|_| wrong())?;
        if Pieces::new(&chunks) == self { Ok(chunks) } else { Err(wrong()) }
    }
}

/// The piece of a sequence that begins at an offset. Pieces rise by sequence, then by offset.
pub(super) fn piece_at(chunks: &Chunks, at: (u32, u32)) -> Option<u32> {
    let of = |piece: u32| chunks.get(piece).map(|piece| (piece.sequence, piece.offset));
    let (mut low, mut high) = (0, chunks.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        if of(middle)? < at {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (of(low) == Some(at)).then_some(low)
}
