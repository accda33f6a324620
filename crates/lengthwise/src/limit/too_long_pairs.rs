//! Sequences of two lengths that exceed the budget even alone.

use std::borrow::Cow;

use crate::{
    data::{lengths::Lengths, over_long::OverLong},
    error::Error,
    limit::{admitted::Admitted, budget::Budget, capacity::Sides},
    shape::shapes::Shapes,
};

impl OverLong {
    /// The pairs to plan with, once the over-long ones are dealt with.
    pub(crate) fn admit_pairs<'a>(
        self,
        first: &'a Lengths,
        second: &Lengths,
        budget: &Budget,
        shapes: &Shapes,
    ) -> Result<Admitted<'a>, Error> {
        let limits = budget.sides_of_one();
        let of = shapes.sides();
        let all = Admitted { lengths: Cow::Borrowed(first), kept: None, over: Vec::new() };
        let alone =
            |sequence: u32| [of[0].alone(first.of(sequence)), of[1].alone(second.of(sequence))];
        let fits = |&sequence: &u32| limits.exceeded(alone(sequence)).is_none();
        // Most often all fit, and the longest of each say so.
        if limits.exceeded([of[0].alone(first.max()), of[1].alone(second.max())]).is_none() {
            return Ok(all);
        }
        let (kept, over): (Vec<u32>, Vec<u32>) = (0..first.count()).partition(fits);
        if over.is_empty() {
            return Ok(all);
        }
        match self {
            OverLong::Alone if kept.is_empty() => Ok(Admitted { kept: Some(kept), over, ..all }),
            OverLong::Alone | OverLong::Drop if !kept.is_empty() => {
                let of = |lengths: &Lengths| {
                    Lengths::new(kept.iter().map(|&at| lengths.of(at)).collect::<Vec<_>>())
                };
                let lengths = of(first)?.with_second(of(second)?);
                Ok(Admitted { lengths: Cow::Owned(lengths), kept: Some(kept), over })
            }
            OverLong::Truncate => {
                let cut = |&sequence: &u32| {
                    let both = [first.of(sequence), second.of(sequence)];
                    if fits(&sequence) { Some(both) } else { cut(both, &limits, of) }
                };
                let Some(cut) =
                    (0..first.count()).map(|at| cut(&at)).collect::<Option<Vec<[u32; 2]>>>()
                else {
                    return Err(self.over_budget_pair(first, second, &over, &limits, alone));
                };
                let side =
                    |at: usize| Lengths::new(cut.iter().map(|both| both[at]).collect::<Vec<_>>());
                let lengths = side(0)?.with_second(side(1)?);
                Ok(Admitted { lengths: Cow::Owned(lengths), kept: None, over })
            }
            _ => Err(self.over_budget_pair(first, second, &over, &limits, alone)),
        }
    }

    /// The error for pairs that exceed these limits alone.
    fn over_budget_pair(
        self,
        first: &Lengths,
        second: &Lengths,
        over: &[u32],
        limits: &Sides,
        alone: impl Fn(u32) -> [u64; 2],
    ) -> Error {
        let index = over[0];
        let (side, cells, limit) = limits.exceeded(alone(index)).unwrap_or(("both", 0, u64::MAX));
        Error::OverBudgetPair {
            index: index as usize,
            lengths: [first.of(index), second.of(index)],
            side,
            cells,
            limit,
            count: over.len(),
            treatment: self.name(),
        }
    }
}

/// A pair cut to what fits: each side to its own limit, then the first to what is left beside the
/// second. `None` if that is nothing.
fn cut([a, b]: [u32; 2], limits: &Sides, of: [&Shapes; 2]) -> Option<[u32; 2]> {
    let within = |shapes: &Shapes, length: u32, limit: u64| {
        length.min(shapes.longest_within(u32::try_from(limit).unwrap_or(u32::MAX)))
    };
    let [first, second] = limits.of_each();
    let b = within(of[1], b, second);
    let beside = limits.sum.unwrap_or(u64::MAX).saturating_sub(of[1].alone(b));
    let a = within(of[0], a, first.min(beside));
    (a > 0 && b > 0).then_some([a, b])
}
