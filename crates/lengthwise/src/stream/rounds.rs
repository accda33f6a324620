//! What lengths of a stream are padded to, and which of them fit no batch.

use crate::cut::rungs;
use crate::data::lengths::Lengths;
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::resolved::ResolvedBudget;
use crate::shape::rounding::Rounding;
use crate::shape::shapes::Shapes;

/// Shapes, budget and over-long sequences made definite for a stream, whose lengths are not known.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    shapes: Shapes,
    budget: Budget,
    over_long: OverLong,
    limit: ResolvedBudget<'static>,
    /// The longest length that fits a batch alone.
    longest: u32,
    /// The rungs of a ladder, given or learned; empty before they are.
    rungs: Vec<u32>,
}

impl Rounds {
    pub(crate) fn new(budget: Budget, shapes: &Shapes, over_long: OverLong) -> Result<Self, Error> {
        budget.check()?;
        if budget.is_of_sides() {
            return Err(Error::NoSecond { what: format!("budget `{budget}`") });
        }
        // Refuses what makes no sense; the lengths do not matter.
        shapes.rounding(&Lengths::new([1])?)?;
        let rungs = match shapes {
            Shapes::Rungs(rungs) => rungs.clone(),
            _ => Vec::new(),
        };
        if budget.depends_on_longest() && rungs.is_empty() {
            let expected = "`sequences`, `padded` or `cost`: nobody knows the longest length of a \
                            stream, unless shapes are rungs that are given";
            return Err(Error::bad_value("the budget of a stream", &budget, expected));
        }
        let limit = budget.resolve(rungs.last().copied().unwrap_or(1))?;
        let longest = shapes.longest_within(budget.longest_alone());
        Ok(Self { shapes: shapes.clone(), budget, over_long, limit, longest, rungs })
    }

    /// The length with which the sequence at this position is planned; none if it is left out.
    pub(crate) fn admit(&self, position: u64, length: u32) -> Result<Option<u32>, Error> {
        let index = usize::try_from(position).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(Error::BadLength { index, given: "0".to_owned() });
        }
        let whole = || match self.shapes {
            Shapes::Multiple(multiple) if length.checked_next_multiple_of(multiple).is_none() => {
                Err(Error::LengthOverflow { length, multiple })
            }
            _ => Ok(Some(length)),
        };
        match self.over_long {
            _ if length <= self.longest => whole(),
            OverLong::Alone => whole(),
            OverLong::Drop => Ok(None),
            OverLong::Truncate if self.longest > 0 => Ok(Some(self.longest)),
            _ => Err(self.over_budget(index, length)),
        }
    }

    fn over_budget(&self, index: usize, length: u32) -> Error {
        let padded = self.shapes.alone(length);
        match self.budget.limit_of_one() {
            Some(limit) if length > limit.longest_alone() || self.rungs.is_empty() => {
                limit.exceeded((index, length), [padded, padded], (1, "error"))
            }
            _ => {
                let top = self.rungs.last().copied().unwrap_or_default();
                Error::LadderTooShort { top, index, length }
            }
        }
    }

    /// Whether rungs are learned from the stream.
    fn learns(&self) -> bool {
        matches!(self.shapes, Shapes::Ladder(_))
    }

    pub(crate) fn must_learn(&self) -> bool {
        self.learns() && self.rungs.is_empty()
    }

    /// Learns rungs from the lengths of the first window.
    pub(crate) fn learn(&mut self, lengths: impl Iterator<Item = u32>) -> Result<(), Error> {
        let lengths: Vec<u32> = lengths.filter(|&length| length <= self.longest).collect();
        if !lengths.is_empty()
            && let Rounding::Rungs(rungs) =
                rungs::rounding(&self.shapes, &Lengths::new(lengths)?, &self.budget)?
        {
            self.rungs = rungs.edges().to_vec();
        }
        Ok(())
    }

    pub(crate) fn learned(&self) -> &[u32] {
        if self.learns() { &self.rungs } else { &[] }
    }

    /// Goes on with rungs that were learned before.
    pub(crate) fn know(&mut self, rungs: &[u32]) {
        if self.learns() {
            self.rungs = rungs.to_vec();
        }
    }

    /// Adds a rung for a sequence that is longer than all that the ladder was learned from: an eighth
    /// above it, so that there are few of them however long they become.
    pub(crate) fn extend(&mut self, length: u32) {
        if length <= self.longest
            && self.learns()
            && self.rungs.last().is_some_and(|&top| top < length)
        {
            self.rungs.push(length.saturating_add(length / 8).min(self.longest));
        }
    }

    /// What the longest of a batch is padded to, and how many sequences such a batch has.
    pub(crate) fn padded_and_full(&self, length: u32) -> (u32, u32) {
        let padded = match self.shapes {
            // Those of two lengths were refused.
            Shapes::Exact | Shapes::Each(..) => length,
            Shapes::Multiple(multiple) => length.next_multiple_of(multiple),
            Shapes::Ladder(_) | Shapes::Rungs(_) => {
                let rung = self.rungs.partition_point(|&rung| rung < length);
                self.rungs.get(rung).copied().unwrap_or(length)
            }
        };
        (padded, self.limit.full(padded))
    }
}
