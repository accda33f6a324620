//! The batch at one end of an order.

use std::ops::Range;

use crate::limit::{capacity::Open, resolved::ResolvedBudget};

/// Fills a batch from one end of some places of an order.
pub(crate) trait Fill {
    /// The batch at the front.
    fn first(&self, places: Range<usize>) -> Open;

    /// The batch at the back.
    fn last(&self, places: Range<usize>) -> Open;
}

/// For every budget. `grow` gives what a batch is with the sequence at a place, if a shape has room.
pub(crate) struct Growing<'a, F> {
    pub(crate) limit: &'a ResolvedBudget<'a>,
    pub(crate) grow: F,
}

impl<F: Fn(Open, usize) -> Option<Open>> Growing<'_, F> {
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
    fn first(&self, places: Range<usize>) -> Open {
        self.fill(places)
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
    fn first(&self, places: Range<usize>) -> Open {
        self.fill(places)
    }

    fn last(&self, places: Range<usize>) -> Open {
        self.fill(places.rev())
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
