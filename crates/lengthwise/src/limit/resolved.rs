//! How much room a batch has under a budget.

use std::{
    borrow::Cow,
    ops::{AddAssign, Deref},
    sync::Arc,
};

use crate::{
    base::workspace::Workspace,
    data::{lengths::Lengths, pad::Pad},
    limit::{
        capacity::{Capacity, Open, Rule},
        row::Row,
    },
    shape::{grid::PairRounding, rounding::Rounding, shapes::Shapes},
};

/// A [`Budget`](crate::Budget) made definite for given lengths and shapes: how much room a batch has.
///
/// A strategy that only orders sequences need not look at it. One that grows batches itself asks
/// [`admit`](ResolvedBudget::admit) before it adds a sequence, and [`keep`](ResolvedBudget::keep) when a batch is full.
#[derive(Clone, Debug)]
pub struct ResolvedBudget<'a> {
    padded: Padded<'a>,
    workspace: Option<&'a Workspace>,
    memory: Option<u64>,
    capacity: Capacity,
    at_most: u32,
    multiple_of: u32,
    rule: Rule,
    row: Row,
    sides: Option<Sided<'a>>,
}

/// What sequences of two lengths need besides.
#[derive(Clone, Debug)]
pub(crate) struct Sided<'a> {
    lengths: &'a Lengths,
    pair_rounding: Arc<PairRounding>,
}

impl Sided<'_> {
    pub(crate) fn pair_rounding(&self) -> &PairRounding {
        &self.pair_rounding
    }
}

/// What each sequence is padded to when it is the longest of its batch.
#[derive(Clone, Debug)]
pub(crate) enum Padded<'a> {
    Given(Cow<'a, [u32]>),
    Rounded(&'a [u32], Arc<Rounding>),
}

impl Padded<'_> {
    fn of(&self, sequence: u32) -> u32 {
        match self {
            Padded::Given(padded) => padded[sequence as usize],
            Padded::Rounded(lengths, rounding) => rounding.of(lengths[sequence as usize]),
        }
    }
}

impl<'a> ResolvedBudget<'a> {
    pub(crate) fn new(
        padded: Cow<'a, [u32]>,
        capacity: Capacity,
        at_most: u32,
        multiple_of: u32,
        rule: Rule,
    ) -> Self {
        let row = Row { capacity: u32::MAX, at_most: u32::MAX };
        let padded = Padded::Given(padded);
        let (workspace, memory, sides) = (None, None, None);
        Self { padded, workspace, memory, capacity, at_most, multiple_of, rule, row, sides }
    }

    /// What a row may hold where several sequences share it: what the strategy itself allows, the
    /// budget and the shapes.
    pub fn row(&self) -> Row {
        self.row
    }

    /// With a row that keeps the budget too, and that the shapes can round up to.
    pub(crate) fn with_row_within(self, row: Row, shapes: &Shapes) -> Self {
        let capacity = shapes.longest_within(row.capacity.min(self.longest_alone()));
        let at_most = row.at_most.min(self.at_most);
        Self { row: Row { capacity, at_most }, ..self }
    }

    /// The longest length that the budget holds alone.
    pub(crate) fn longest_alone(&self) -> u32 {
        self.capacity.longest_alone()
    }

    /// The most cells of a batch, if that and the number of sequences is all that is limited.
    pub(crate) fn cells(&self) -> Option<u64> {
        match (self.capacity, self.rule) {
            (Capacity::Cells(cells), Rule::Printed) => Some(cells),
            _ => None,
        }
    }

    /// The most sequences of a batch.
    pub(crate) fn at_most(&self) -> u32 {
        self.at_most
    }

    /// For these lengths, rounded in this way.
    pub(crate) fn rounded(mut self, lengths: &'a Lengths, rounding: Arc<Rounding>) -> Self {
        self.padded = Padded::Rounded(lengths.as_slice(), rounding);
        self
    }

    /// For these pairs of lengths, padded to these shapes.
    pub(crate) fn paired(mut self, lengths: &'a Lengths, pair_rounding: Arc<PairRounding>) -> Self {
        self.padded = Padded::Rounded(lengths.as_slice(), Arc::new(Rounding::Exact));
        self.sides = Some(Sided { lengths, pair_rounding });
        self
    }

    /// What there is besides if sequences have two lengths.
    pub(crate) fn sides(&self) -> Option<&Sided<'a>> {
        self.sides.as_ref()
    }

    /// Both lengths of a sequence.
    pub(crate) fn lengths_of(&self, sequence: u32) -> Pad {
        self.sides.as_ref().map_or_else(Pad::default, |sides| sides.lengths.both(sequence))
    }

    /// What a batch is padded to whose longest lengths are these; these themselves if no shape
    /// covers both.
    pub(crate) fn covered(&self, pad: Pad) -> Pad {
        self.sides.as_ref().and_then(|sides| sides.pair_rounding.of(pad)).unwrap_or(pad)
    }

    /// What a sequence is padded to in a batch of its own.
    pub(crate) fn pad_of(&self, sequence: u32) -> Pad {
        match &self.sides {
            None => Pad::one(self.padded.of(sequence)),
            Some(_) => self.covered(self.lengths_of(sequence)),
        }
    }

    /// Whether a batch of one sequence that is padded to this keeps the budget.
    pub(crate) fn holds_one(&self, pad: Pad) -> bool {
        self.capacity.holds(Open { size: 1, length: pad.first, second: pad.second })
    }

    /// With these threads and this memory to group with.
    pub(crate) fn within(mut self, workspace: &'a Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// With at most so many bytes to group with, if there is a bound.
    pub(crate) fn with_memory(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    /// The most bytes that grouping and its groups may take.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// The threads and the memory to group with.
    pub(crate) fn workspace(&self) -> Held<'a> {
        self.workspace.map_or_else(|| Held::Own(Workspace::new()), Held::Shared)
    }

    /// How lengths are rounded.
    pub(crate) fn rounding(&self) -> Option<&Rounding> {
        match &self.padded {
            Padded::Given(_) => None,
            Padded::Rounded(_, rounding) => Some(rounding),
        }
    }

    /// Whether batch lengths are those of a ladder, or pairs of them those of a grid.
    pub(crate) fn is_on_ladder(&self) -> bool {
        match &self.sides {
            Some(sides) => matches!(*sides.pair_rounding, PairRounding::Grid(_)),
            None => matches!(self.rounding(), Some(Rounding::Rungs(_))),
        }
    }

    /// What a sequence of this length is padded to when it is the longest of its batch.
    pub(crate) fn padded(&self, sequence: u32, length: u32) -> u32 {
        self.rounding().map_or_else(|| self.padded.of(sequence), |rounding| rounding.of(length))
    }

    /// What a sequence of this length, and its second if it has two, is padded to in a batch of its own.
    pub(crate) fn pad(&self, sequence: u32, length: u32) -> Pad {
        match &self.sides {
            None => Pad::one(self.padded(sequence, length)),
            Some(_) => self.pad_of(sequence),
        }
    }

    /// The batch after `sequence` has joined it, or `None` if it is full, or if no shape has room for
    /// both lengths. An empty batch takes any sequence.
    pub fn admit(&self, open: Open, sequence: u32) -> Option<Open> {
        let grown = match &self.sides {
            None => Some(open.with(self.padded.of(sequence))),
            Some(_) => self.grown(open, sequence),
        };
        grown.filter(|&grown| self.admits(open, grown))
    }

    /// The batch of two lengths after `sequence` has joined it, whatever the budget; nothing if no
    /// shape covers it.
    pub(crate) fn grown(&self, open: Open, sequence: u32) -> Option<Open> {
        let both = open.pad().over(self.lengths_of(sequence));
        let pad = match &self.sides {
            Some(sides) if open.size > 0 => sides.pair_rounding.of(both)?,
            _ => self.covered(both),
        };
        Some(Open { size: open.size + 1, length: pad.first, second: pad.second })
    }

    /// Whether a batch may grow to this one.
    #[inline(always)]
    pub(crate) fn admits(&self, open: Open, grown: Open) -> bool {
        let decisive = match self.rule {
            Rule::Printed => grown,
            Rule::Over => open,
        };
        open.size == 0 || (open.size < self.at_most && self.capacity.holds(decisive))
    }

    /// Whether the last sequence of a batch may exceed the budget.
    #[inline(always)]
    pub(crate) fn spares_last(&self) -> bool {
        self.rule == Rule::Over
    }

    /// Whether a batch whose last sequence is [spared](ResolvedBudget::spares_last) may grow by one that comes
    /// before all of its own; `others` is the grown batch without its last sequence.
    pub(crate) fn admits_before(&self, open: Open, others: Open) -> bool {
        open.size == 0 || (open.size < self.at_most && self.capacity.holds(others))
    }

    /// How many sequences of a batch that is full at `size` stay in it, so that its size is the
    /// multiple that the budget asks for. Never zero.
    pub fn keep(&self, size: u32) -> u32 {
        if size < self.multiple_of { size } else { size - size % self.multiple_of }
    }

    /// How many sequences a full batch of this batch length has; of two lengths, if the second were
    /// nothing.
    pub fn full(&self, batch_length: u32) -> u32 {
        self.full_of(Pad::one(batch_length))
    }

    /// How many sequences a full batch has that is padded to this.
    pub(crate) fn full_of(&self, pad: Pad) -> u32 {
        let fitting = self.capacity.fitting(pad, self.at_most);
        let fitting = match self.rule {
            Rule::Printed => fitting,
            Rule::Over => fitting.saturating_add(1).min(self.at_most),
        };
        self.keep(fitting.max(1))
    }

    /// What a batch costs in the units of the budget: cells or seconds.
    pub(crate) fn cost(&self, size: u32, batch_length: u32) -> f64 {
        match self.capacity {
            Capacity::Cells(_) | Capacity::Sides(_) => f64::from(size) * f64::from(batch_length),
            Capacity::Seconds { model, .. } => model.seconds(size, batch_length),
        }
    }

    /// What a sequence is padded to when it is the longest of its batch.
    pub fn padded_length(&self, sequence: u32) -> u32 {
        self.padded.of(sequence)
    }

    /// How many sequences that are padded to this, each alone, fill `batches` batches: as many from
    /// the front as do not exceed them.
    pub(crate) fn prefix_for(
        &self,
        padded: impl ExactSizeIterator<Item = Pad>,
        batches: u32,
    ) -> usize {
        let pads = padded.take((u64::from(self.at_most) * u64::from(batches)) as usize);
        match self.capacity {
            Capacity::Cells(cells) => prefix_within(
                pads.map(|pad| pad.cells(1)),
                cells.saturating_mul(u64::from(batches)),
            ),
            Capacity::Sides(sides) => {
                prefix_within(pads.map(|pad| sides.part(pad)), f64::from(batches))
            }
            Capacity::Seconds { model, limit } => {
                prefix_within(pads.map(|pad| model.part(pad.joint(), limit)), f64::from(batches))
            }
        }
        .max(1)
    }
}

/// A workspace that was given, or one for this time only.
pub(crate) enum Held<'a> {
    Shared(&'a Workspace),
    Own(Workspace),
}

impl Deref for Held<'_> {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        match self {
            Held::Shared(workspace) => workspace,
            Held::Own(workspace) => workspace,
        }
    }
}

/// How many of the numbers from the front have a sum of at most `most`.
pub(crate) fn prefix_within<T>(mut numbers: impl ExactSizeIterator<Item = T>, most: T) -> usize
where
    T: Copy + Default + PartialOrd + AddAssign,
{
    let count = numbers.len();
    let mut sum = T::default();
    numbers
        .position(|number| {
            sum += number;
            sum > most
        })
        .unwrap_or(count)
}
