//! What the loss of a batch is a sum over.

use std::iter::Sum;

use crate::data::{lengths::Lengths, pad::Pad};

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
