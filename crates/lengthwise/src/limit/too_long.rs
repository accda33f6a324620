//! Sequences that exceed the budget even alone: what happens to them, and never silently.

use std::{borrow::Cow, sync::Arc};

use crate::data::lengths::Lengths;
use crate::data::over_long::OverLong;
use crate::data::population::Population;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::capacity::{Capacity, Row, Sides};
use crate::shape::shapes::Shapes;

/// Lengths without over-long sequences.
pub(crate) struct Admitted<'a> {
    pub(crate) lengths: Cow<'a, Lengths>,
    /// Which sequences these are, if not all. If none, every sequence stands alone.
    pub(crate) kept: Option<Vec<u32>>,
    /// The over-long ones.
    pub(crate) over: Vec<u32>,
}

impl<'a> Admitted<'a> {
    fn all(lengths: &'a Lengths) -> Self {
        Self { lengths: Cow::Borrowed(lengths), kept: None, over: Vec::new() }
    }
}

impl OverLong {
    /// The lengths to plan with, after the over-long sequences were treated.
    pub(crate) fn admit<'a>(
        self,
        lengths: &'a Lengths,
        budget: &Budget,
        shapes: &Shapes,
        row: Option<Row>,
    ) -> Result<Admitted<'a>, Error> {
        budget.check()?;
        if let Some(second) = lengths.second() {
            return self.admit_pairs(lengths, second, &budget.sides_of_one(), shapes.sides());
        }
        let all = Admitted::all(lengths);
        let Some((limit, capacity)) = limit_alone(budget, row) else { return Ok(all) };
        // A limit above every length is none.
        let longest = match limit.longest_alone() {
            u32::MAX => return Ok(all),
            longest => shapes.longest_within(longest),
        };
        let population = self.population(lengths, longest)?;
        if lengths.max() <= longest {
            if lengths.part().is_none_or(|all| all.longest <= longest) {
                return Ok(all);
            }
            let lengths = Cow::Owned(lengths.clone().within(population));
            return Ok(Admitted { lengths, ..all });
        }
        let fits = |&sequence: &u32| lengths.of(sequence) <= longest;
        let cut = || {
            let cut = lengths.as_slice().iter().map(|&length| length.min(longest));
            (longest > 0).then(|| [cut.collect(), Vec::new()])
        };
        let admitted = self.divide(lengths, fits, cut, |over| {
            too_short(shapes, &limit, lengths, over[0])
                .unwrap_or_else(|| self.refusal(lengths, over, (&limit, capacity), shapes))
        })?;
        match admitted.lengths {
            Cow::Owned(left) => {
                Ok(Admitted { lengths: Cow::Owned(left.within(population)), ..admitted })
            }
            Cow::Borrowed(_) => Ok(admitted),
        }
    }

    /// The same for pairs of lengths.
    fn admit_pairs<'a>(
        self,
        first: &'a Lengths,
        second: &Lengths,
        limits: &Sides,
        of: [&Shapes; 2],
    ) -> Result<Admitted<'a>, Error> {
        let alone = |[a, b]: [u32; 2]| [of[0].alone(a), of[1].alone(b)];
        // Most often all fit, and the longest of each say so.
        if limits.exceeded(alone([first.max(), second.max()])).is_none() {
            return Ok(Admitted::all(first));
        }
        let both = |sequence: u32| [first.of(sequence), second.of(sequence)];
        let fits = |&sequence: &u32| limits.exceeded(alone(both(sequence))).is_none();
        let cut = || {
            let cut = (0..first.count()).map(|sequence| {
                let both = both(sequence);
                if fits(&sequence) { Some(both) } else { cut_pair(both, limits, of) }
            });
            let cut = cut.collect::<Option<Vec<[u32; 2]>>>()?;
            Some([0, 1].map(|side| cut.iter().map(|both| both[side]).collect()))
        };
        self.divide(first, fits, cut, |over| {
            let lengths = both(over[0]);
            let exceeded = limits.exceeded(alone(lengths));
            let (side, cells, limit) = exceeded.unwrap_or(("both", 0, u64::MAX));
            let (index, count, treatment) = (over[0] as usize, over.len(), self.name());
            Error::OverBudgetPair { index, lengths, side, cells, limit, count, treatment }
        })
    }

    /// Divides the sequences into those that fit and the others. `cut` gives all lengths cut to what
    /// fits, first and second, if there is anything left of each; `refuse` the error.
    fn divide(
        self,
        lengths: &Lengths,
        fits: impl Fn(&u32) -> bool,
        cut: impl Fn() -> Option<[Vec<u32>; 2]>,
        refuse: impl Fn(&[u32]) -> Error,
    ) -> Result<Admitted<'_>, Error> {
        let (kept, over): (Vec<u32>, Vec<u32>) = (0..lengths.count()).partition(fits);
        let owned = |[first, second]: [Vec<u32>; 2]| -> Result<_, Error> {
            let first = Lengths::new(first)?;
            let is_one = second.is_empty();
            Ok(Cow::Owned(if is_one { first } else { first.with_second(Lengths::new(second)?) }))
        };
        match self {
            _ if over.is_empty() => Ok(Admitted::all(lengths)),
            OverLong::Alone if kept.is_empty() => {
                Ok(Admitted { kept: Some(kept), over, ..Admitted::all(lengths) })
            }
            OverLong::Alone | OverLong::Drop if !kept.is_empty() => {
                let of = |lengths: &Lengths| kept.iter().map(|&at| lengths.of(at)).collect();
                let left = [of(lengths), lengths.second().map_or_else(Vec::new, of)];
                Ok(Admitted { lengths: owned(left)?, kept: Some(kept), over })
            }
            OverLong::Truncate => {
                let cut = cut().ok_or_else(|| refuse(&over))?;
                Ok(Admitted { lengths: owned(cut)?, kept: None, over })
            }
            _ => Err(refuse(&over)),
        }
    }

    /// What the lengths are a part of, without what is over-long there.
    fn population(self, lengths: &Lengths, longest: u32) -> Result<Option<Arc<Population>>, Error> {
        let population = match lengths.part().map(|all| all.within(longest, self)) {
            // What is over-long here has an index, which says more.
            Some(Err(error)) if lengths.max() <= longest => return Err(error),
            Some(Ok(Some(left))) => Some(Arc::new(left)),
            _ => lengths.part().cloned(),
        };
        if let Some(left) = &population {
            known(left, lengths, longest)?;
        }
        Ok(population)
    }

    /// The error for sequences that exceed a limit alone, or the capacity of a row.
    fn refusal(
        self,
        lengths: &Lengths,
        over: &[u32],
        (limit, capacity): (&Capacity, Option<u32>),
        shapes: &Shapes,
    ) -> Error {
        let (length, treatment) = (lengths.of(over[0]), self.name());
        let padded = [length, lengths.max()].map(|length| shapes.alone(length));
        let error = limit.exceeded((over[0] as usize, length), padded, (over.len(), treatment));
        match (error, capacity) {
            (Error::OverBudget { index, cells, count, largest, .. }, Some(capacity)) => {
                Error::OverCapacity { index, length, cells, capacity, count, largest, treatment }
            }
            (error, _) => error,
        }
    }
}

/// What one sequence may take alone, and the capacity of a row if that is less than the budget.
fn limit_alone(budget: &Budget, row: Option<Row>) -> Option<(Capacity, Option<u32>)> {
    match row {
        Some(Row { capacity, .. }) if capacity <= budget.longest_alone() => {
            Some((Capacity::Cells(capacity.into()), Some(capacity)))
        }
        _ => budget.limit_of_one().map(|limit| (limit, None)),
    }
}

/// That a sequence is above the top of a ladder, if it would keep the budget.
fn too_short(shapes: &Shapes, limit: &Capacity, lengths: &Lengths, over: u32) -> Option<Error> {
    let Shapes::Rungs(rungs) = shapes else { return None };
    let (&top, length) = (rungs.last()?, lengths.of(over));
    let fits = length <= limit.longest_alone();
    (fits && top < length).then_some(Error::LadderTooShort { top, index: over as usize, length })
}

/// Refuses a sequence that is not over-long, but longer than the longest in the statistics.
fn known(left: &Population, lengths: &Lengths, longest: u32) -> Result<(), Error> {
    let beyond = |&length: &u32| length <= longest && length > left.longest_known();
    let Some(index) = lengths.as_slice().iter().position(beyond) else { return Ok(()) };
    let what = match (lengths.as_slice()[index], left.longest_known()) {
        (_, 0) => "all their lengths are over-long".to_owned(),
        (length, longest) => format!(
            "sequence {index} of length {length} is not over-long, but longer than {longest}, the \
             longest of them that is not"
        ),
    };
    Err(Error::BadStatistics { what })
}

/// A pair cut to what fits, if that is something: the second, then the first to what is left beside it.
pub(crate) fn cut_pair([a, b]: [u32; 2], limits: &Sides, of: [&Shapes; 2]) -> Option<[u32; 2]> {
    let within = |shapes: &Shapes, length: u32, limit: u64| {
        length.min(shapes.longest_within(u32::try_from(limit).unwrap_or(u32::MAX)))
    };
    let [first, second] = limits.of_each();
    let b = within(of[1], b, second);
    let beside = limits.sum.unwrap_or(u64::MAX).saturating_sub(of[1].alone(b));
    let a = within(of[0], a, first.min(beside));
    (a > 0 && b > 0).then_some([a, b])
}
