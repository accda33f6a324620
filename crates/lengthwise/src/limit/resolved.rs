//! What a batch may hold under a budget, and how it is filled from one end of an order.

use std::ops::{AddAssign, Range};
use std::sync::{Arc, LazyLock};

use crate::base::workspace::Workspace;
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::capacity::{Capacity, Open, Row, RowCost, Rule};
use crate::limit::cost::CostModel;
use crate::limit::members::Members;
use crate::limit::update::Update;
use crate::shape::rounding::{PairRounding, Rounding};
use crate::shape::shapes::Shapes;

/// A [`Budget`](crate::Budget) resolved for given lengths and shapes: what a batch may hold.
///
/// A strategy that only orders sequences does not need it. A strategy that grows batches itself calls
/// [`admit`](ResolvedBudget::admit) before it adds a sequence, and [`keep`](ResolvedBudget::keep) when
/// a batch is full.
#[derive(Clone, Debug)]
pub struct ResolvedBudget<'a> {
    /// First and second lengths, where they are known and there are some.
    lengths: [&'a [u32]; 2],
    pub(crate) rounding: Arc<Rounding>,
    pair_rounding: Option<Arc<PairRounding>>,
    /// The threads and the memory to group with.
    pub(crate) workspace: &'a Workspace,
    /// The most bytes that grouping and its groups may take.
    pub(crate) memory: Option<u64>,
    capacity: Capacity,
    pub(crate) at_most: u32,
    multiple_of: u32,
    rule: Rule,
    row: Row,
    /// What the sequences of a row may cost together, if the budget is one of seconds and rows are not padded.
    row_cost: Option<RowCost>,
    /// How long batches take, if that is known.
    pub(crate) cost_model: Option<CostModel>,
    /// How much data an optimizer step has, if that is given, and over how many ranks.
    update: Option<Update>,
    ranks: u32,
    /// How many optimizer steps an epoch has, if that is known, and which part of the data of a step these lengths are.
    steps: Option<u32>,
    pub(crate) part: f64,
    /// The lengths of the sequences of each group, if what shares rows are groups.
    members: Option<&'a Members>,
}

/// Where none was given.
static WORKSPACE: LazyLock<Workspace> = LazyLock::new(Workspace::new);

impl<'a> ResolvedBudget<'a> {
    /// For lengths that are not known yet, and exact shapes.
    pub(crate) fn new(capacity: Capacity, at_most: u32, multiple_of: u32, rule: Rule) -> Self {
        Self {
            lengths: [&[]; 2],
            rounding: Arc::new(Rounding::Exact),
            pair_rounding: None,
            workspace: &WORKSPACE,
            memory: None,
            capacity,
            at_most,
            multiple_of,
            rule,
            row: Row { capacity: u32::MAX, at_most: u32::MAX },
            row_cost: None,
            cost_model: None,
            update: None,
            ranks: 1,
            steps: None,
            part: 1.0,
            members: None,
        }
    }

    /// How long batches take, if a cost model was given, or comes with the budget.
    pub fn cost_model(&self) -> Option<CostModel> {
        self.cost_model
    }

    /// What a row may hold, if several sequences share it: limited by the strategy, the budget and the
    /// shapes.
    pub fn row(&self) -> Row {
        self.row
    }

    pub(crate) fn row_cost(&self) -> Option<RowCost> {
        self.row_cost
    }

    /// Refuses rows that hold too much: a strategy may be the user's own.
    pub(crate) fn check_row(&self, row: &[u32], lengths: &Lengths) -> Result<u64, Error> {
        let held = row.iter().flat_map(|&sequence| self.held(lengths, sequence)).copied();
        let sum = held.clone().map(u64::from).sum();
        self.row.check(held.clone().count(), sum)?;
        match self.row_cost {
            Some(RowCost { model, limit, .. }) if model.row_seconds(sum as u32, held) > limit => {
                Err(Error::BadGroups { what: format!("a row takes more than {limit} seconds") })
            }
            _ => Ok(sum),
        }
    }

    /// With a row that keeps the budget too, and that the shapes can round up to.
    pub(crate) fn with_row_within(self, row: Row, shapes: &Shapes, longest: u32) -> Self {
        if let (Some(row_cost), Shapes::Exact) = (self.capacity.row_cost(longest), shapes) {
            let capacity = row.capacity.min(row_cost.most_positions());
            let at_most = row.at_most.min(self.at_most);
            return Self { row: Row { capacity, at_most }, row_cost: Some(row_cost), ..self };
        }
        let longest = self.capacity.longest_alone();
        let capacity = shapes.longest_within(row.capacity.min(longest));
        let at_most = row.at_most.min(self.at_most);
        Self { row: Row { capacity, at_most }, ..self }
    }

    /// The lengths that one place in a row holds: one, or those of a group.
    pub(crate) fn held<'b>(&'b self, lengths: &'b Lengths, sequence: u32) -> &'b [u32] {
        match self.members {
            Some(members) => members.of(sequence),
            None => std::slice::from_ref(&lengths.as_slice()[sequence as usize]),
        }
    }

    /// The longest length that keeps the budget in a group of so many sequences.
    pub(crate) fn longest_of_group(&self, size: u32) -> u32 {
        self.capacity.of_groups(size).longest_alone()
    }

    /// Whether groups share rows.
    pub(crate) fn is_of_members(&self) -> bool {
        self.members.is_some()
    }

    /// For rows that groups share, which have these members.
    pub(crate) fn with_members(self, members: &'a Members) -> Self {
        Self { members: Some(members), ..self }
    }

    /// For groups of so many sequences: what is counted are groups.
    pub(crate) fn of_groups(self, size: u32) -> Self {
        // The greatest common divisor, by Euclid.
        let (mut common, mut rest) = (self.multiple_of, size);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        Self {
            capacity: self.capacity.of_groups(size),
            at_most: self.at_most / size,
            multiple_of: self.multiple_of / common,
            cost_model: self.cost_model.map(|model| model.of_groups(size)),
            ..self
        }
    }

    /// The same for so many optimizer steps, of whose data these lengths are this part.
    pub(crate) fn with_steps(self, steps: u32, part: f64) -> Self {
        Self { steps: Some(steps), part, ..self }
    }

    /// The most cells of a batch, if that and the number of sequences is all that is limited.
    pub(crate) fn cells(&self) -> Option<u64> {
        match (self.capacity, self.rule) {
            (Capacity::Cells(cells), Rule::Printed) => Some(cells),
            _ => None,
        }
    }

    /// For these lengths, rounded in this way.
    pub(crate) fn rounded(mut self, lengths: &'a Lengths, rounding: Arc<Rounding>) -> Self {
        (self.lengths[0], self.rounding) = (lengths.as_slice(), rounding);
        self
    }

    /// For these pairs of lengths, padded to these shapes.
    pub(crate) fn paired(mut self, [first, second]: [&'a Lengths; 2], to: PairRounding) -> Self {
        self.lengths = [first.as_slice(), second.as_slice()];
        self.pair_rounding = Some(Arc::new(to));
        self
    }

    /// What pairs of lengths are padded to, if sequences have two.
    pub(crate) fn pair_rounding(&self) -> Option<&PairRounding> {
        self.pair_rounding.as_deref()
    }

    /// Both lengths of a sequence that has two.
    pub(crate) fn lengths_of(&self, sequence: u32) -> Pad {
        let [first, second] = self.lengths.map(|lengths| lengths[sequence as usize]);
        Pad { first, second }
    }

    /// What a batch of these longest lengths is padded to; these themselves if no shape covers both.
    pub(crate) fn covered(&self, pad: Pad) -> Pad {
        self.pair_rounding().and_then(|rounding| rounding.of(pad)).unwrap_or(pad)
    }

    /// What a sequence is padded to in a batch of its own.
    pub(crate) fn pad_of(&self, sequence: u32) -> Pad {
        match &self.pair_rounding {
            None => Pad::one(self.padded_length(sequence)),
            Some(_) => self.covered(self.lengths_of(sequence)),
        }
    }

    /// Whether a batch of one sequence that is padded to this keeps the budget.
    pub(crate) fn holds_one(&self, pad: Pad) -> bool {
        self.capacity.holds(Open { size: 1, length: pad.first, second: pad.second })
    }

    /// Whether a batch of one group of so many sequences that are padded to this keeps the budget.
    pub(crate) fn holds_group(&self, size: u32, pad: Pad) -> bool {
        let batch = Open { size, length: pad.first, second: pad.second };
        size <= self.at_most && (self.spares_last() || self.capacity.holds(batch))
    }

    /// Whether a row of these lengths keeps the budget.
    pub(crate) fn holds_row(&self, lengths: impl Iterator<Item = u32> + Clone) -> bool {
        let sum: u64 = lengths.clone().map(u64::from).sum();
        let affords = self.row_cost.is_none_or(|RowCost { model, limit, .. }| {
            model.row_seconds(sum as u32, lengths.clone()) <= limit
        });
        affords && self.row.check(lengths.count(), sum).is_ok()
    }

    /// Sets how much data an optimizer step has, if that is given, over how many ranks.
    pub(crate) fn with_update(self, update: Option<Update>, ranks: u32) -> Self {
        Self { update, ranks, ..self }
    }

    /// How many ranks must have equally many batches of every optimizer step.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many optimizer steps an epoch has. If the size of an update was not given, each has as much data
    /// as one full batch of every rank without padding.
    pub fn optimizer_steps(&self, lengths: &Lengths) -> u32 {
        let most = (lengths.count() / self.ranks).max(1);
        match self.steps {
            Some(steps) => steps.min(most),
            None => (self.steps_of(lengths).round() as u32).clamp(1, most),
        }
    }

    /// The same as the data says, before it is rounded.
    pub(crate) fn steps_of(&self, lengths: &Lengths) -> f64 {
        let each = || (0..lengths.count()).map(|sequence| lengths.both(sequence));
        let full = match self.capacity {
            Capacity::Seconds { model, limit } => {
                each().map(|pad| model.part(pad.joint(), limit)).sum()
            }
            Capacity::Cells(cells) => lengths.positions() as f64 / cells as f64,
            Capacity::Sides(sides) => each().map(|pad| sides.part(pad)).sum(),
        };
        let full = full.max(lengths.len() as f64 / f64::from(self.at_most));
        self.update.map_or(full / f64::from(self.ranks), |update| update.steps(lengths))
    }

    /// Whether batch lengths are those of a ladder, or pairs of them those of a grid.
    pub(crate) fn is_on_ladder(&self) -> bool {
        match self.pair_rounding() {
            Some(rounding) => matches!(rounding, PairRounding::Grid(_)),
            None => matches!(*self.rounding, Rounding::Rungs(_)),
        }
    }

    /// What a sequence of this length, and its second if it has two, is padded to in a batch of its own.
    pub(crate) fn pad(&self, sequence: u32, length: u32) -> Pad {
        match &self.pair_rounding {
            None => Pad::one(self.rounding.of(length)),
            Some(_) => self.pad_of(sequence),
        }
    }

    /// Returns the batch with `sequence` added, or `None` if it is full, or if no shape covers both
    /// lengths. An empty batch takes any sequence.
    pub fn admit(&self, open: Open, sequence: u32) -> Option<Open> {
        let grown = match &self.pair_rounding {
            None => Some(open.with(self.padded_length(sequence))),
            Some(_) => self.grown(open, sequence),
        };
        grown.filter(|&grown| self.admits(open, grown))
    }

    /// The batch of two lengths with `sequence`, whatever the budget, if a shape covers it.
    pub(crate) fn grown(&self, open: Open, sequence: u32) -> Option<Open> {
        let both = open.pad().over(self.lengths_of(sequence));
        let pad = match &self.pair_rounding {
            Some(rounding) if open.size > 0 => rounding.of(both)?,
            _ => self.covered(both),
        };
        Some(Open { size: open.size + 1, length: pad.first, second: pad.second })
    }

    /// Whether a batch may grow to this one.
    #[inline(always)]
    pub(crate) fn admits(&self, open: Open, grown: Open) -> bool {
        self.admits_if(open, if self.spares_last() { open } else { grown })
    }

    /// Whether a batch may grow, where the budget must hold `decisive` then.
    #[inline(always)]
    pub(crate) fn admits_if(&self, open: Open, decisive: Open) -> bool {
        open.size == 0 || (open.size < self.at_most && self.capacity.holds(decisive))
    }

    /// Whether the last sequence of a batch may exceed the budget.
    #[inline(always)]
    pub(crate) fn spares_last(&self) -> bool {
        self.rule == Rule::Over
    }

    /// How many sequences stay in a batch that is full at `size`, so that its size is the multiple that
    /// the budget asks for. Never zero.
    pub fn keep(&self, size: u32) -> u32 {
        if size < self.multiple_of { size } else { size - size % self.multiple_of }
    }

    /// How many sequences a full batch of this batch length has; with two lengths, as if the second
    /// were 0.
    pub fn full(&self, batch_length: u32) -> u32 {
        self.full_of(Pad::one(batch_length))
    }

    /// How many sequences a full batch has that is padded to this.
    pub(crate) fn full_of(&self, pad: Pad) -> u32 {
        let fitting = self.capacity.fitting(pad, self.at_most);
        let spared = u32::from(self.spares_last());
        self.keep(fitting.saturating_add(spared).min(self.at_most).max(1))
    }

    /// What a batch costs in the units of the budget: cells or seconds. Two lengths count as their sum.
    pub(crate) fn cost(&self, size: u32, batch_length: u32) -> f64 {
        match self.capacity {
            Capacity::Cells(_) | Capacity::Sides(_) => f64::from(size) * f64::from(batch_length),
            Capacity::Seconds { model, .. } => model.seconds(size, batch_length),
        }
    }

    /// What a sequence is padded to when it is the longest of its batch.
    pub fn padded_length(&self, sequence: u32) -> u32 {
        self.rounding.of(self.lengths[0][sequence as usize])
    }

    /// How many sequences from the front, padded to this each alone, fill `batches` batches at most.
    pub(crate) fn prefix_for(
        &self,
        padded: impl ExactSizeIterator<Item = Pad>,
        batches: u32,
    ) -> usize {
        let at_most = u64::from(self.at_most) * u64::from(batches);
        let pads = padded.take(usize::try_from(at_most).unwrap_or(usize::MAX));
        let most = f64::from(batches);
        let prefix = match self.capacity {
            Capacity::Cells(cells) => {
                let most = cells.saturating_mul(batches.into());
                prefix_within(pads.map(|pad| pad.cells(1)), most)
            }
            Capacity::Sides(sides) => prefix_within(pads.map(|pad| sides.part(pad)), most),
            Capacity::Seconds { model, limit } => {
                prefix_within(pads.map(|pad| model.part(pad.joint(), limit)), most)
            }
        };
        prefix.max(1)
    }
}

/// How many of the numbers from the front have a sum of at most `most`.
fn prefix_within<T>(mut numbers: impl ExactSizeIterator<Item = T>, most: T) -> usize
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

/// Fills a batch from one end of some places of an order.
pub(crate) trait Fill {
    fn fill(&self, places: impl Iterator<Item = usize> + Clone) -> Open;

    /// The batch at the front.
    fn first(&self, places: Range<usize>) -> Open {
        self.fill(places)
    }

    /// The batch at the back.
    fn last(&self, places: Range<usize>) -> Open {
        self.fill(places.rev())
    }
}

/// For every budget. `grow` returns a batch with the sequence at a position added, if a shape covers
/// it.
pub(crate) struct Growing<'a, F> {
    pub(crate) limit: &'a ResolvedBudget<'a>,
    pub(crate) grow: F,
}

impl<F: Fn(Open, usize) -> Option<Open>> Growing<'_, F> {
    /// A full batch with as many of its sequences as stay in it.
    fn kept(&self, full: Open, places: impl Iterator<Item = usize>) -> Open {
        let size = self.limit.keep(full.size);
        if size == full.size {
            return full;
        }
        let batch = places.take(size as usize);
        batch.fold(Open::default(), |open, place| (self.grow)(open, place).unwrap_or(open))
    }
}

impl<F: Fn(Open, usize) -> Option<Open>> Fill for Growing<'_, F> {
    fn fill(&self, places: impl Iterator<Item = usize> + Clone) -> Open {
        let mut open = Open::default();
        for place in places.clone() {
            match (self.grow)(open, place).filter(|&grown| self.limit.admits(open, grown)) {
                Some(grown) => open = grown,
                None => return self.kept(open, places),
            }
        }
        open
    }

    fn last(&self, places: Range<usize>) -> Open {
        if !self.limit.spares_last() {
            return self.fill(places.rev());
        }
        // The batch, and the batch without its last sequence, which is the first here.
        let (mut open, mut others) = (Open::default(), Open::default());
        for place in places.clone().rev() {
            let joined = if open.size == 0 { Some(others) } else { (self.grow)(others, place) };
            let grown = (self.grow)(open, place).zip(joined);
            match grown.filter(|&(_, others)| self.limit.admits_if(open, others)) {
                Some(grown) => (open, others) = grown,
                None => return self.kept(open, places.rev()),
            }
        }
        open
    }
}

/// For cells and sequences of one length: what fits is found only when the batch length grows.
pub(crate) struct ByCells<'a, F> {
    pub(crate) limit: &'a ResolvedBudget<'a>,
    pub(crate) cells: u64,
    pub(crate) padded: F,
}

impl<F: Fn(usize) -> u32> ByCells<'_, F> {
    /// A full batch with as many of its sequences as stay in it.
    fn kept(&self, full: Open, places: impl Iterator<Item = usize>) -> Open {
        let size = self.limit.keep(full.size);
        if size == full.size {
            return full;
        }
        let padded = places.take(size as usize).map(&self.padded);
        Open { size, length: padded.max().unwrap_or(0), second: 0 }
    }
}

impl<F: Fn(usize) -> u32> Fill for ByCells<'_, F> {
    #[inline(always)]
    fn fill(&self, places: impl Iterator<Item = usize> + Clone) -> Open {
        let at_most = u64::from(self.limit.at_most);
        let (mut length, mut size, mut most) = (0, 0, 1);
        for place in places.clone() {
            let padded = (self.padded)(place);
            if padded > length {
                most = (self.cells / u64::from(padded)).min(at_most).max(1) as u32;
            }
            if size >= most {
                return self.kept(Open { size, length, second: 0 }, places);
            }
            length = length.max(padded);
            size += 1;
        }
        Open { size, length, second: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        base::rng::{Purpose, Rng},
        data::lengths::Lengths,
        limit::budget::Budget,
    };

    /// What is found when the batch length grows is what is found for each sequence.
    #[test]
    fn batches_by_cells_are_those_of_every_budget() {
        for epoch in 0..400 {
            let mut random = Rng::new(4, epoch).stream(Purpose::Own(0));
            let most = 1 + random.below(50);
            let lengths: Vec<u32> = (0..60).map(|_| 1 + random.below(most)).collect();
            let lengths = Lengths::new(lengths).unwrap();
            let budget = match epoch % 3 {
                0 => Budget::sequences(1 + random.below(20)),
                1 => Budget::padded(u64::from(most + random.below(300))),
                _ => Budget::padded(u64::from(most + random.below(300))).at_most(7).multiple_of(4),
            };
            let limit = budget.resolve(lengths.max()).unwrap();
            let padded = |place: usize| lengths.as_slice()[place];
            let grow = |open: Open, place: usize| Some(open.with(padded(place)));
            let every = Growing { limit: &limit, grow };
            let cells = ByCells { limit: &limit, cells: limit.cells().unwrap(), padded };
            for start in 0..60 {
                let places = start..start + random.below(61 - start as u32) as usize;
                assert_eq!(cells.first(places.clone()), every.first(places.clone()), "{budget}");
                assert_eq!(cells.last(places.clone()), every.last(places), "{budget}");
            }
        }
    }
}
