//! Sequences that exceed the budget even alone: what happens to them, and never silently.

use std::{borrow::Cow, sync::Arc};

use crate::{
    data::{lengths::Lengths, over_long::OverLong, population::Population},
    error::Error,
    limit::{admitted::Admitted, budget::Budget, capacity::Capacity, row::Row},
    shape::shapes::Shapes,
};

impl OverLong {
    /// The lengths to plan with, once the over-long sequences are dealt with.
    pub(crate) fn admit<'a>(
        self,
        lengths: &'a Lengths,
        budget: &Budget,
        shapes: &Shapes,
        row: Option<Row>,
    ) -> Result<Admitted<'a>, Error> {
        let all = Admitted { lengths: Cow::Borrowed(lengths), kept: None, over: Vec::new() };
        budget.check()?;
        if let Some(second) = lengths.second() {
            return self.admit_pairs(lengths, second, budget, shapes);
        }
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
        let (kept, over): (Vec<u32>, Vec<u32>) =
            (0..lengths.count()).partition(|&sequence| lengths.of(sequence) <= longest);
        match self {
            OverLong::Alone if kept.is_empty() => Ok(Admitted { kept: Some(kept), over, ..all }),
            OverLong::Alone | OverLong::Drop if !kept.is_empty() => {
                let left: Vec<u32> = kept.iter().map(|&sequence| lengths.of(sequence)).collect();
                let left = Cow::Owned(Lengths::new(left)?.within(population));
                Ok(Admitted { lengths: left, kept: Some(kept), over })
            }
            OverLong::Truncate if longest > 0 => {
                let cut = lengths.as_slice().iter().map(|&length| length.min(longest));
                let cut = Lengths::new(cut.collect::<Vec<_>>())?.within(population);
                Ok(Admitted { lengths: Cow::Owned(cut), kept: None, over })
            }
            _ if let Some(error) = too_short(shapes, &limit, lengths, over[0]) => Err(error),
            _ => Err(self.refusal(lengths, &over, (&limit, capacity), shapes)),
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
        let (index, length, treatment) = (over[0] as usize, lengths.of(over[0]), self.name());
        let padded = [length, lengths.max()].map(|length| shapes.alone(length));
        match (limit.exceeded((index, length), padded, over.len()), capacity) {
            (Error::OverBudget { cells, count, largest, .. }, Some(capacity)) => {
                Error::OverCapacity { index, length, cells, capacity, count, largest, treatment }
            }
            (Error::OverBudget { cells, limit, count, largest, .. }, None) => {
                Error::OverBudget { index, length, cells, limit, count, largest, treatment }
            }
            (other, _) => other,
        }
    }
}

/// What one sequence may take alone, and the capacity of a row if that is less than the budget.
fn limit_alone(budget: &Budget, row: Option<Row>) -> Option<(Capacity, Option<u32>)> {
    match (budget.limit_of_one(), row) {
        (limit, Some(Row { capacity, .. }))
            if limit.is_none_or(|limit| capacity <= limit.longest_alone()) =>
        {
            Some((Capacity::Cells(capacity.into()), Some(capacity)))
        }
        (limit, _) => limit.map(|limit| (limit, None)),
    }
}

/// That a sequence is above the top of a ladder, if it would keep the budget.
fn too_short(shapes: &Shapes, limit: &Capacity, lengths: &Lengths, over: u32) -> Option<Error> {
    let Shapes::Rungs(rungs) = shapes else { return None };
    let (&top, length) = (rungs.last()?, lengths.of(over));
    let fits = length <= limit.longest_alone();
    (fits && top < length).then_some(Error::LadderTooShort { top, index: over as usize, length })
}

/// Refuses a sequence that is not over-long, but longer than all of those that the statistics know of.
fn known(left: &Population, lengths: &Lengths, longest: u32) -> Result<(), Error> {
    let beyond = |&length: &u32| length <= longest && length > left.longest_known();
    let Some(index) = lengths.as_slice().iter().position(beyond) else { return Ok(()) };
    let what = match (lengths.as_slice()[index], left.longest_known()) {
        (_, 0) => "every length that they know is over-long".to_owned(),
        (length, longest) => format!(
            "sequence {index} of length {length} is not over-long, but longer than {longest}, the \
             longest that they know of such"
        ),
    };
    Err(Error::BadStatistics { what })
}
