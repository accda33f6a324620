//! What a batch may hold, and a row that several sequences share.

use crate::data::lengths::Pad;
use crate::error::Error;
use crate::limit::cost::CostModel;
use crate::math::largest;

/// Limits on the cells of sequences with two lengths: batch size × batch length, of each side. All
/// given limits hold.
///
/// ```
/// use lengthwise::{Budget, Sides};
///
/// let budget = Budget::sides(Sides { first: Some(16_000), second: Some(2_000), ..Sides::default() });
/// assert_eq!(budget.to_string(), "padded:first=16000,second=2000");
/// assert_eq!("padded:20000,max=16000".parse::<Budget>()?.to_string(), "padded:20000,max=16000");
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The most cells of both together.
    pub sum: Option<u64>,
    /// The most cells of the first.
    pub first: Option<u64>,
    /// The most cells of the second.
    pub second: Option<u64>,
    /// The most cells of the larger of the two.
    pub max: Option<u64>,
}

impl Sides {
    /// The limits with their keys, as in string forms.
    pub(crate) fn keys(&self) -> [(&'static str, Option<u64>); 4] {
        let Self { sum, first, second, max } = *self;
        [("sum", sum), ("first", first), ("second", second), ("max", max)]
    }

    /// The limits of a batch of groups of so many sequences, counted in groups.
    pub(crate) fn of_groups(self, size: u32) -> Self {
        let Self { sum, first, second, max } = self;
        let [sum, first, second, max] =
            [sum, first, second, max].map(|all| all.map(|cells| cells / u64::from(size)));
        Self { sum, first, second, max }
    }

    /// The lengths that are limited, for a sequence of these, each with its limit.
    fn limits(&self, pad: [u64; 2]) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let [first, second] = pad;
        let limits = [
            ("both", first + second, self.sum),
            ("first", first, self.first),
            ("second", second, self.second),
            ("larger", first.max(second), self.max),
        ];
        limits.into_iter().filter_map(|(side, length, limit)| Some((side, length, limit?)))
    }

    fn of(&self, pad: Pad) -> impl Iterator<Item = (&'static str, u64, u64)> {
        self.limits([pad.first, pad.second].map(u64::from))
    }

    pub(crate) fn hold(&self, size: u32, pad: Pad) -> bool {
        self.of(pad).all(|(_, length, limit)| u64::from(size).saturating_mul(length) <= limit)
    }

    /// The most sequences padded to this.
    pub(crate) fn fitting(&self, pad: Pad) -> u64 {
        self.of(pad).map(|(_, length, limit)| limit / length.max(1)).min().unwrap_or(u64::MAX)
    }

    /// Which part of a full batch a sequence is that is padded to this.
    pub(crate) fn part(&self, pad: Pad) -> f64 {
        self.of(pad).map(|(_, length, limit)| length as f64 / limit as f64).fold(0.0, f64::max)
    }

    /// The first limit that a sequence exceeds alone, with what it takes of it.
    pub(crate) fn exceeded(&self, pad: [u64; 2]) -> Option<(&'static str, u64, u64)> {
        self.limits(pad).find(|(_, length, limit)| length > limit)
    }

    /// The limit of the first side by itself, and of the second.
    pub(crate) fn of_each(&self) -> [u64; 2] {
        let least = |side: Option<u64>| side.into_iter().chain(self.max).min().unwrap_or(u64::MAX);
        [least(self.first), least(self.second)]
    }
}

/// When a batch of a dynamic budget is full (paper 2, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The rule as printed: the next sequence would exceed the capacity. It is never exceeded.
    #[default]
    Printed,
    /// The batch has just exceeded the capacity: one sequence more than the printed rule. The batch
    /// counts that the paper reports follow from this one.
    Over,
}

/// What a batch may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Capacity {
    /// Of both rectangles, where there are two.
    Cells(u64),
    /// Of each rectangle.
    Sides(Sides),
    Seconds {
        model: CostModel,
        limit: f64,
    },
}

impl Capacity {
    /// What a batch of groups of so many sequences may hold, counted in groups.
    pub(crate) fn of_groups(self, size: u32) -> Self {
        let cells = |cells: u64| cells / u64::from(size);
        match self {
            Capacity::Cells(u64::MAX) => self,
            Capacity::Cells(all) => Capacity::Cells(cells(all)),
            Capacity::Sides(sides) => Capacity::Sides(sides.of_groups(size)),
            Capacity::Seconds { model, limit } => {
                Capacity::Seconds { model: model.of_groups(size), limit }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn holds(&self, batch: Open) -> bool {
        match *self {
            Capacity::Cells(cells) => batch.pad().cells(batch.size) <= cells,
            Capacity::Sides(sides) => sides.hold(batch.size, batch.pad()),
            Capacity::Seconds { model, limit } => {
                model.seconds(batch.size, batch.pad().joint()) <= limit
            }
        }
    }

    /// The most sequences padded to this that it holds, or `most` if it holds more.
    pub(crate) fn fitting(&self, pad: Pad, most: u32) -> u32 {
        match *self {
            Capacity::Cells(cells) => (cells / pad.cells(1)).min(u64::from(most)) as u32,
            Capacity::Sides(sides) => sides.fitting(pad).min(u64::from(most)) as u32,
            Capacity::Seconds { model, limit } => model.fitting(pad.joint(), limit, most),
        }
    }

    /// What the sequences of a row may cost together, if seconds are limited.
    pub(crate) fn row_cost(&self, longest: u32) -> Option<RowCost> {
        match *self {
            Capacity::Seconds { model, limit } => Some(RowCost::new(model, limit, longest)),
            Capacity::Cells(_) | Capacity::Sides(_) => None,
        }
    }

    /// The longest length that it holds alone; 0 if there is none.
    pub(crate) fn longest_alone(&self) -> u32 {
        match *self {
            Capacity::Cells(cells) => u32::try_from(cells).unwrap_or(u32::MAX),
            Capacity::Sides(_) => u32::MAX,
            Capacity::Seconds { model, limit } => model.longest_alone(limit),
        }
    }

    /// The error for `count` sequences that it does not hold even alone and that are treated so: the
    /// first of them, and what it and the longest of them are padded to.
    pub(crate) fn exceeded(
        &self,
        (index, length): (usize, u32),
        [cells, largest]: [u64; 2],
        (count, treatment): (usize, &'static str),
    ) -> Error {
        if let Capacity::Seconds { model, limit } = *self {
            let padded = [cells, largest].map(|cells| u32::try_from(cells).unwrap_or(u32::MAX));
            let [seconds, largest] = padded.map(|length| model.seconds(1, length));
            let [padded, _] = padded;
            Error::OverBudgetSeconds { index, length, padded, seconds, limit, count, largest }
        } else {
            // Lengths of two sides have an error of their own.
            let limit = if let Capacity::Cells(limit) = *self { limit } else { u64::MAX };
            Error::OverBudget { index, length, cells, limit, count, largest, treatment }
        }
    }
}

/// A batch that is being filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// How many sequences it has.
    pub size: u32,
    /// What they are padded to.
    pub length: u32,
    /// What their second lengths are padded to; 0 where there are none.
    pub second: u32,
}

impl Open {
    pub(crate) fn pad(self) -> Pad {
        Pad { first: self.length, second: self.second }
    }

    /// The batch with one sequence more that is padded to `padded`.
    #[inline(always)]
    pub(crate) fn with(self, padded: u32) -> Self {
        Self { size: self.size + 1, length: self.length.max(padded), second: 0 }
    }
}

/// What the sequences of one row may cost together, if the budget is one of seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCost {
    pub(crate) model: CostModel,
    pub(crate) limit: f64,
    /// What is left for the sequences, whichever is the longest.
    pub(crate) space: f64,
    /// The longest length that fits alone. Longer sequences are truncated to it, and then to their row: so they have one
    /// of their own.
    longest: u32,
}

impl RowCost {
    /// For sequences of up to this length.
    pub(crate) fn new(model: CostModel, limit: f64, longest: u32) -> Self {
        let [a, b, ..] = model.coefficients();
        let space = limit - a - b * f64::from(longest);
        Self { model, limit, space, longest: model.longest_alone(limit) }
    }

    /// No row has more positions.
    pub(crate) fn most_positions(&self) -> u32 {
        largest(u32::MAX, |row| self.model.row_seconds(row, [1]) <= self.limit)
    }

    /// Whether a sequence of this length has a row of its own.
    pub(crate) fn is_alone(&self, length: u32) -> bool {
        length >= self.longest
    }

    /// Which part of a row a sequence of this length is; all of it if it fits only alone.
    pub(crate) fn part(&self, length: u32) -> f64 {
        let [_, _, c, d] = self.model.coefficients();
        let (alone, length) = (self.is_alone(length), f64::from(length));
        let own = (c * length + d * length * length) / self.space;
        if self.space > 0.0 && own < 1.0 && !alone { own } else { 1.0 }
    }
}

/// What one row may hold, if several sequences share it one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The most positions.
    pub capacity: u32,
    /// The most sequences.
    pub at_most: u32,
}

impl Row {
    /// Refuses rows that hold too much: a strategy may be the user's own.
    pub(crate) fn check(self, count: usize, sum: u64) -> Result<(), Error> {
        let what = if sum > u64::from(self.capacity) {
            format!("a row holds {sum} positions of {}", self.capacity)
        } else if count > self.at_most as usize {
            format!("a row holds {count} sequences of {}", self.at_most)
        } else {
            return Ok(());
        };
        Err(Error::BadGroups { what })
    }
}
