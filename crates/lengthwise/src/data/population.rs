//! The distribution that some lengths are a part of, as plans look at it.

use std::sync::Arc;

use crate::data::over_long::OverLong;
use crate::data::statistics::{Statistics, class_start};
use crate::error::Error;

/// The distribution that some lengths are a part of: what decides rungs, scales and limits.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) statistics: Arc<Statistics>,
    /// Lengths, or the ends of classes, rising, with how many sequences there are of each. At most
    /// `u32::MAX` in all: of more, every so many count as one.
    pub(crate) histogram: Vec<(u32, u32)>,
    pub(crate) shortest: u32,
    pub(crate) longest: u32,
}

impl Population {
    pub(crate) fn new(statistics: Arc<Statistics>) -> Self {
        let longest = statistics.max();
        let classes = statistics.histogram().iter();
        // The last class is known to end at the longest length.
        let classes = classes.map(|&(end, count)| (end.min(longest), count)).collect();
        Self::of(statistics, classes, longest)
    }

    fn of(statistics: Arc<Statistics>, classes: Vec<(u32, u64)>, longest: u32) -> Self {
        let fits = |&shift: &u32| {
            let counts = classes.iter().map(|&(_, count)| u128::from(count.div_ceil(1 << shift)));
            counts.sum::<u128>() <= u128::from(u32::MAX)
        };
        let shift = (0..u64::BITS).find(fits).unwrap_or(u64::BITS - 1);
        let counted = |(end, count): (u32, u64)| (end, count.div_ceil(1 << shift) as u32);
        let histogram = classes.into_iter().map(counted).collect();
        let shortest = statistics.min().min(longest);
        Self { statistics, histogram, shortest, longest }
    }

    pub(crate) fn count(&self) -> usize {
        self.histogram.iter().map(|&(_, count)| count as usize).sum()
    }

    /// The longest length; 0 if none is left.
    pub(crate) fn longest_known(&self) -> u32 {
        if self.histogram.is_empty() { 0 } else { self.longest }
    }

    /// What is left if sequences over `longest` are treated in the given way; `None` if there are none
    /// of them. Every shard gets the same result, whether it has such sequences itself or not.
    pub(crate) fn within(&self, longest: u32, over_long: OverLong) -> Result<Option<Self>, Error> {
        if self.longest <= longest {
            return Ok(None);
        }
        if over_long == OverLong::Error || longest == 0 {
            let what = format!("the budget and the shapes allow at most {longest}");
            return Err(Error::OverLongElsewhere { longest: self.longest, what });
        }
        let exact = self.statistics.is_exact();
        let mut classes: Vec<(u32, u64)> = Vec::with_capacity(self.histogram.len());
        let mut last = 0;
        for &(end, count) in self.statistics.histogram() {
            let first = if exact { end } else { class_start(end) };
            match end {
                end if end <= longest => classes.push((end, count)),
                // Some of the class may be short enough; where sequences are truncated, all are.
                _ if first <= longest || over_long == OverLong::Truncate => last += count,
                _ => {}
            }
        }
        match classes.last_mut() {
            Some(end) if end.0 == longest => end.1 += last,
            _ if last > 0 => classes.push((longest, last)),
            _ => {}
        }
        let longest = classes.last().map_or(longest, |&(end, _)| end);
        Ok(Some(Self::of(Arc::clone(&self.statistics), classes, longest)))
    }

    /// At most this many lengths, distributed like all.
    pub(crate) fn sample(&self, most: usize) -> Vec<u32> {
        sample(&self.histogram, self.count(), most)
    }
}

/// At most this many of `count` lengths, distributed like all: evenly spaced in sorted order, the
/// longest among them.
pub(crate) fn sample(histogram: &[(u32, u32)], count: usize, most: usize) -> Vec<u32> {
    let taken = count.min(most);
    let mut lengths = Vec::with_capacity(taken);
    let mut upto = 0;
    for &(length, of_length) in histogram {
        upto += of_length as usize;
        // Of ranks below `upto`, those that a sample of `taken` has: the last of each stretch.
        let sampled = (upto as u128 * taken as u128 / count as u128) as usize;
        lengths.resize(sampled, length);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::lengths::Lengths;

    fn population(lengths: &[u32]) -> Population {
        Population::new(Arc::new(Statistics::of(&Lengths::new(lengths).unwrap())))
    }

    #[test]
    fn over_long_sequences_are_treated_as_they_are_in_a_plan() {
        let all = population(&[3, 5, 5, 8, 9]);
        let left = |longest, over_long| all.within(longest, over_long).unwrap().unwrap();
        assert!(all.within(9, OverLong::Error).unwrap().is_none());
        assert!(all.within(8, OverLong::Error).is_err());
        assert_eq!(left(8, OverLong::Drop).histogram, [(3, 1), (5, 2), (8, 1)]);
        assert_eq!(left(8, OverLong::Truncate).histogram, [(3, 1), (5, 2), (8, 2)]);
        assert_eq!(left(7, OverLong::Truncate).histogram, [(3, 1), (5, 2), (7, 2)]);
        assert_eq!(left(7, OverLong::Alone).histogram, [(3, 1), (5, 2)]);
        assert_eq!((left(7, OverLong::Alone).longest, left(7, OverLong::Truncate).longest), (5, 7));
    }

    #[test]
    fn classes_end_at_the_longest_length_and_hold_what_is_admitted() {
        let lengths: Vec<u32> = (1..=100_003).collect();
        let all = population(&lengths);
        assert!(!all.statistics.is_exact());
        assert_eq!((all.longest, all.histogram.last().unwrap().0), (100_003, 100_003));
        let left = all.within(90_001, OverLong::Drop).unwrap().unwrap();
        assert_eq!((left.longest, left.histogram.last().unwrap().0), (90_001, 90_001));
    }

    #[test]
    fn more_sequences_than_can_be_named_are_counted_coarsely() {
        let classes = vec![(1, 3), (5, 1 << 40), (7, 1 << 41)];
        let total = 3 + 5 * (1 << 40) + 7 * (1 << 41);
        let all = Statistics::restore(classes, true, total, [1, 7], None).unwrap();
        let all = Population::new(Arc::new(all));
        assert_eq!(all.histogram, [(1, 1), (5, 1 << 30), (7, 1 << 31)]);
        assert_eq!(all.sample(300), [vec![5; 100], vec![7; 200]].concat());
    }

    #[test]
    fn a_sample_is_distributed_like_all() {
        let all = population(&(1..=1000).collect::<Vec<_>>());
        assert_eq!(all.sample(5000), (1..=1000).collect::<Vec<_>>());
        assert_eq!(all.sample(10), (1..=10).map(|tenth| 100 * tenth).collect::<Vec<_>>());
    }
}
