//! What a plan costs.

use std::iter::Sum;

use crate::base::threads;
use crate::base::workspace::Workspace;
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::plan::arrange::Time;
use crate::plan::epoch::{Plan, SpanPlan};

/// What the loss of a batch, or of all batches of a step, is a sum over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of sequences.
    pub sequences: u64,
    /// The number of positions that are not padding; of two lengths, of the first.
    pub positions: u64,
    /// The number of positions of second lengths that are not padding.
    pub second_positions: u64,
}

impl Counts {
    /// Positions of both lengths.
    pub(crate) fn all_positions(&self) -> u64 {
        self.positions + self.second_positions
    }

    pub(crate) fn of((batch, pad): (&[u32], Pad), lengths: &Lengths) -> Self {
        // A truncated sequence fills its row and no more.
        let filled = |lengths: &Lengths, most: u32| {
            let lengths = lengths.as_slice();
            batch.iter().map(|&sequence| u64::from(lengths[sequence as usize].min(most))).sum()
        };
        let second_positions = lengths.second().map_or(0, |second| filled(second, pad.second));
        let positions = filled(lengths, pad.first);
        Self { sequences: batch.len() as u64, positions, second_positions }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            sequences: sum.sequences + one.sequences,
            positions: sum.positions + one.positions,
            second_positions: sum.second_positions + one.second_positions,
        })
    }
}

/// What one plan costs.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, strategy::Sorted};
///
/// let lengths = Lengths::new([10, 10, 6, 8])?;
/// let measures = Planner::new(Sorted, Budget::sequences(2)).plan(&lengths, 0)?.measure(&lengths);
/// assert_eq!((measures.batches, measures.cells, measures.steps), (2, 36, 18));
/// assert_eq!(measures.padding_rate, 1.0 - 34.0 / 36.0);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Measures {
    /// The number of batches.
    pub batches: u64,
    /// The number of sequences in them.
    pub sequences: u64,
    /// Empty cells ÷ all cells, over the whole plan.
    pub padding_rate: f64,
    /// Paper 2's ZPR: the mean of the batches' own padding rates, weighted by batch size.
    pub mean_batch_padding_rate: f64,
    /// Paper 2's ABL: the mean of the batch lengths, weighted by batch size.
    pub mean_batch_length: f64,
    /// The sum of batch size × batch length; of batch lengths if batches are rows.
    pub cells: u64,
    /// The sum of the batch lengths: what a recurrent network waits for.
    pub steps: u64,
    /// How many different pairs of batch size and batch length there are; of batch lengths if
    /// batches are rows.
    pub shapes: u64,
    /// The correlation of the lengths of successive batches: near 1 when the epoch drifts, 0 when
    /// it is mixed. 0 where it is undefined (fewer than three batches, or all of one length).
    pub lag1_correlation: f64,
    /// The most sequences in any batch.
    pub largest_batch: u64,
    /// The most cells in any batch: what memory must hold.
    pub largest_batch_cells: u64,
    /// Of sequences with two lengths, each side by itself; everything else here is of both together:
    /// cells are those of both rectangles, and a batch length is the sum of both.
    pub sides: Option<[SideMeasures; 2]>,
}

/// What one of two sides of a plan costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideMeasures {
    /// The sum of batch size × batch length.
    pub cells: u64,
    /// Empty cells ÷ all cells.
    pub padding_rate: f64,
}

impl Measures {
    /// From the number of sequences and of positions that are not padding of every batch, and the
    /// number of its rows with what they are padded to. Sides by themselves are not measured.
    pub(crate) fn of_batches(
        filled: impl Iterator<Item = (u64, u64)>,
        all_shapes: impl ExactSizeIterator<Item = (u32, Pad)> + Clone,
    ) -> Self {
        let mut all = Self { batches: all_shapes.len() as u64, ..Self::default() };
        let (mut all_filled, mut weighted_lengths, mut weighted_rates) = (0, 0, 0.0);
        let mut shapes = Vec::with_capacity(all_shapes.len());
        for ((size, batch_filled), (rows, pad)) in filled.zip(all_shapes.clone()) {
            let batch_length = u64::from(pad.first) + u64::from(pad.second);
            let batch_cells = u64::from(rows) * batch_length;
            all.sequences += size;
            all.cells += batch_cells;
            all.steps += batch_length;
            all.largest_batch = size.max(all.largest_batch);
            all.largest_batch_cells = batch_cells.max(all.largest_batch_cells);
            all_filled += batch_filled;
            weighted_rates += size as f64 * (1.0 - batch_filled as f64 / batch_cells as f64);
            weighted_lengths += size * batch_length;
            shapes.push((rows, pad));
        }
        shapes.sort_unstable();
        shapes.dedup();
        all.shapes = shapes.len() as u64;
        all.padding_rate = rate(all_filled, all.cells);
        all.mean_batch_padding_rate = weighted_rates / all.sequences.max(1) as f64;
        all.mean_batch_length = weighted_lengths as f64 / all.sequences.max(1) as f64;
        all.lag1_correlation = lag1_correlation(all_shapes.map(|(_, pad)| pad.joint()));
        all
    }
}

impl Plan {
    /// What the plan costs.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn measure(&self, lengths: &Lengths) -> Measures {
        let counts = self.counts(lengths);
        let filled = counts.iter().map(|counts| (counts.sequences, counts.all_positions()));
        let rows = self.shapes().enumerate().map(|(at, (rows, _))| (rows, self.batches.pad(at)));
        let measures = Measures::of_batches(filled, rows);
        let Some(seconds) = self.second_batch_lengths().filter(|_| lengths.second().is_some())
        else {
            return measures;
        };
        let both = self.iter().zip(seconds);
        let cells = both.map(|(batch, &second)| batch.len() as u64 * u64::from(second)).sum();
        let all: Counts = counts.into_iter().sum();
        let sides = [(measures.cells - cells, all.positions), (cells, all.second_positions)]
            .map(|(cells, filled)| SideMeasures { cells, padding_rate: rate(filled, cells) });
        Measures { sides: Some(sides), ..measures }
    }

    /// How many sequences, and how many positions that are not padding, each batch has.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn counts(&self, lengths: &Lengths) -> Vec<Counts> {
        let one = |(at, batch)| Counts::of((batch, self.batches.pad(at)), lengths);
        self.batches.iter().enumerate().map(one).collect()
    }
}

impl SpanPlan {
    /// How many positions of each batch are not padding, of both lengths if there are two, counted on
    /// the threads of a workspace.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn positions(&self, workspace: &Workspace, lengths: &Lengths) -> Vec<u64> {
        let threads = workspace.threads_for(lengths.len());
        let parts = if threads > 1 { 8 * threads } else { 1 };
        let positions = |batch| Counts::of(batch, lengths).all_positions();
        let counted = threads::each(threads, threads::ranges(self.len(), parts, 1), |range| {
            self.batches.some(range).map(positions).collect::<Vec<u64>>()
        });
        counted.concat()
    }

    /// What the plan costs, by its [`positions`](SpanPlan::positions). Of two lengths, each side by
    /// itself is measured of [gathered](SpanPlan::gathered) plans alone.
    pub fn measure(&self, positions: &[u64]) -> Measures {
        let sizes = self.batches.pads().map(|(size, _)| u64::from(size));
        let packed = self.provenance().packed;
        let rows = self.batches.pads().map(|(size, pad)| (if packed { 1 } else { size }, pad));
        Measures::of_batches(sizes.zip(positions.iter().copied()), rows)
    }
}

impl CostModel {
    /// How many seconds the steps of an epoch take, one batch a step. It is an error if the plan was
    /// restored, needs the lengths it was made for, and was not given [its lengths](Plan::with_lengths).
    pub fn epoch_seconds(&self, plan: &Plan) -> Result<f64, Error> {
        let clock = plan.clock(Time::Seconds(*self))?;
        Ok(plan.batches.padded().map(|(batch, pad)| clock.of(batch, pad)).sum())
    }
}

/// Empty cells ÷ all cells; 0 where there is nothing to measure.
fn rate(filled: u64, cells: u64) -> f64 {
    if cells == 0 { 0.0 } else { 1.0 - filled as f64 / cells as f64 }
}

/// Pearson's correlation of each number with the next.
fn lag1_correlation(numbers: impl ExactSizeIterator<Item = u32> + Clone) -> f64 {
    let pairs = numbers.len().saturating_sub(1);
    if pairs < 2 {
        return 0.0;
    }
    let numbers = numbers.map(f64::from);
    let (before, after) = (numbers.clone().take(pairs), numbers.skip(1));
    let mean_before = before.clone().sum::<f64>() / pairs as f64;
    let mean_after = after.clone().sum::<f64>() / pairs as f64;
    let (mut both, mut square_before, mut square_after) = (0.0, 0.0, 0.0);
    for (x, y) in before.zip(after) {
        let (x, y) = (x - mean_before, y - mean_after);
        both += x * y;
        square_before += x * x;
        square_after += y * y;
    }
    let scale = (square_before * square_after).sqrt();
    if scale > 0.0 { both / scale } else { 0.0 }
}
