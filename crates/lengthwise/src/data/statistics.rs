//! Summary statistics of all shards: small, and independent of the order of merging.

use xxhash_rust::xxh3::Xxh3;

use crate::data::shard::{Needs, Shard};
use crate::error::Error;

/// Summary statistics of the lengths of many shards: how many sequences have which length, and, once
/// counted, how many batches the shards need.
///
/// They take a few bytes per distinct length. You can merge them in any order and in any groups, and
/// get the same bytes. They are exact for up to [`MOST_EXACT`](Statistics::MOST_EXACT) distinct
/// lengths. Beyond that, lengths are counted in classes of a fixed grid, each at most one part in 1,024
/// wide and named by its end, so that a ladder of class ends still holds every sequence.
///
/// ```
/// use lengthwise::{Lengths, shard::Statistics};
///
/// let one = Statistics::of(&Lengths::new([5, 9, 9])?);
/// let other = Statistics::of(&Lengths::new([4, 9])?);
/// let both = one.merge(&other)?;
/// assert_eq!(both, other.merge(&one)?);
/// assert_eq!(both.histogram(), [(4, 1), (5, 1), (9, 3)]);
/// assert_eq!((both.count(), both.total(), both.min(), both.max()), (5, 36, 4, 9));
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The end of each class, rising, with how many sequences are in it.
    classes: Vec<(u32, u64)>,
    exact: bool,
    count: u64,
    total: u128,
    min: u32,
    max: u32,
    needs: Option<Needs>,
}

impl Statistics {
    /// With more distinct lengths than this, lengths are counted in classes.
    pub const MOST_EXACT: usize = 65_536;

    /// The statistics of distinct lengths, rising, each with how many sequences have it.
    pub(crate) fn of_histogram(histogram: &[(u32, u32)]) -> Self {
        let classes: Vec<_> = histogram.iter().map(|&(length, n)| (length, u64::from(n))).collect();
        let of = |&(length, count): &(u32, u64)| u128::from(length) * u128::from(count);
        let [min, max] = ends(&classes);
        Self {
            count: classes.iter().map(|&(_, count)| count).sum(),
            total: classes.iter().map(of).sum(),
            min,
            max,
            classes,
            exact: true,
            needs: None,
        }
        .limited()
    }

    /// Restores statistics that were written before, from the end of each class with its count, whether
    /// the classes are exact lengths, the sum of all lengths, the shortest and the longest, and the
    /// needs of shards.
    pub fn restore(
        classes: Vec<(u32, u64)>,
        exact: bool,
        total: u128,
        [min, max]: [u32; 2],
        needs: Option<Needs>,
    ) -> Result<Self, Error> {
        let bad = |what: &str| Err(Error::BadStatistics { what: what.to_owned() });
        let (mut count, mut low, mut high) = (0_u64, 0_u128, 0_u128);
        let mut before = 0;
        for &(end, of_class) in &classes {
            if end <= before || of_class == 0 || (!exact && class_end(end) != end) {
                return bad("a class is empty, or not on the grid");
            }
            before = end;
            let Some(sum) = count.checked_add(of_class) else {
                return bad("there are more sequences than can be counted");
            };
            count = sum;
            let first = if exact { end } else { class_start(end) };
            low += u128::from(first) * u128::from(of_class);
            high += u128::from(end) * u128::from(of_class);
        }
        if exact && classes.len() > Self::MOST_EXACT {
            return bad("there are more distinct lengths than exact statistics can have");
        }
        let [first, last] = ends(&classes);
        let on_grid = |length: u32| if exact || length == 0 { length } else { class_end(length) };
        if !(low..=high).contains(&total) || on_grid(min) != first || on_grid(max) != last {
            return bad("their sum, the shortest or the longest does not fit the classes");
        }
        if let Some(needs) = &needs {
            needs.check()?;
        }
        if classes.is_empty() && needs.is_none() {
            return bad("they are empty");
        }
        Ok(Self { classes, exact, count, total, min, max, needs })
    }

    /// Merges two sets of statistics. Lengths in both count twice, so no shard may be in both.
    pub fn merge(&self, other: &Self) -> Result<Self, Error> {
        let Some(count) = self.count.checked_add(other.count) else {
            let what = "there are more sequences than can be counted".to_owned();
            return Err(Error::BadStatistics { what });
        };
        let needs = match (&self.needs, &other.needs) {
            (Some(one), Some(other)) => Some(one.merge(other)?),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let exact = self.exact && other.exact;
        let known = |length: &u32| *length > 0;
        Ok(Self {
            classes: joined([self.ends(exact), other.ends(exact)].concat()),
            exact,
            count,
            total: self.total + other.total,
            min: [self.min, other.min].into_iter().filter(known).min().unwrap_or(0),
            max: self.max.max(other.max),
            needs,
        }
        .limited())
    }

    /// The classes as they are, or those of the grid.
    fn ends(&self, exact: bool) -> Vec<(u32, u64)> {
        if exact || !self.exact {
            return self.classes.clone();
        }
        joined(self.classes.iter().map(|&(length, count)| (class_end(length), count)).collect())
    }

    /// In classes, if there are too many lengths to be kept as they are.
    fn limited(mut self) -> Self {
        if self.exact && self.classes.len() > Self::MOST_EXACT {
            (self.classes, self.exact) = (self.ends(false), false);
        }
        self
    }

    /// The number of sequences; 0 if only the needs of shards are known.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all lengths.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// The shortest length.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// The longest length.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The mean length.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.count.max(1) as f64
    }

    /// The end of each class in ascending order, with how many sequences are in it. If the statistics
    /// are [exact](Statistics::is_exact), the classes are the distinct lengths.
    pub fn histogram(&self) -> &[(u32, u64)] {
        &self.classes
    }

    /// Whether every distinct length has a class of its own.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// How many batches the shards need, if that was counted.
    pub fn needs(&self) -> Option<&Needs> {
        self.needs.as_ref()
    }

    /// A fingerprint of the lengths: XXH3 (64 bits). It does not cover the needs of shards.
    pub fn digest(&self) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&[u8::from(self.exact)]);
        for &(end, count) in &self.classes {
            hash.update(&end.to_le_bytes());
            hash.update(&count.to_le_bytes());
        }
        hash.update(&self.total.to_le_bytes());
        hash.update(&self.min.to_le_bytes());
        hash.update(&self.max.to_le_bytes());
        hash.digest()
    }

    /// How many batches every one of `of` shards takes under these settings.
    pub(crate) fn batches(&self, settings: &str, of: u32) -> Result<u32, Error> {
        let Some(needs) = self.needs() else {
            return Err(Error::NotCounted { counted: 0, first: 0, of });
        };
        needs.same(settings, of, self.digest())?;
        match needs.first_missing() {
            Some(first) => Err(Error::NotCounted { counted: needs.counted(), first, of }),
            None => Ok(needs.most),
        }
    }

    /// What one shard needs and no lengths, to be merged with what the others need.
    pub(crate) fn of_one(&self, settings: String, shard: Shard, batches: u32) -> Self {
        let needs = Needs {
            settings,
            statistics: self.digest(),
            of: shard.of,
            shards: vec![[shard.number, shard.number + 1]],
            most: batches,
            least: batches,
            sum: batches.into(),
        };
        Self { needs: Some(needs), ..Self::of_histogram(&[]) }
    }
}

/// The first end and the last; 0 if there are no classes.
fn ends(classes: &[(u32, u64)]) -> [u32; 2] {
    [classes.first(), classes.last()].map(|end| end.map_or(0, |end| end.0))
}

/// The classes, rising, and those with the same end as one. The sum of all counts can be counted.
fn joined(mut classes: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
    classes.sort_unstable_by_key(|&(end, _)| end);
    classes.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    classes
}

/// How many binary digits a length keeps on the grid of classes, so that each is at most one part in
/// 1,024 wide. The grid does not depend on the data, so a length is always in the same class.
const DIGITS: u32 = 11;

/// The lowest length on the grid that is at or above this one.
fn class_end(length: u32) -> u32 {
    let shift = (u32::BITS - length.leading_zeros()).saturating_sub(DIGITS);
    let steps = u64::from(length).div_ceil(1 << shift);
    // The last class of all ends where lengths do.
    u32::try_from(steps << shift).unwrap_or(u32::MAX)
}

/// The shortest length of the class that ends at `end`, which is on the grid.
pub(crate) fn class_start(end: u32) -> u32 {
    let below = end - 1;
    let shift = (u32::BITS - below.leading_zeros()).saturating_sub(DIGITS);
    (below >> shift << shift) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        base::rng::{Purpose, Rng},
        data::lengths::Lengths,
    };

    /// Whatever is merged with what, and when it becomes too much for exact lengths.
    #[test]
    fn merging_in_any_order_and_grouping_is_the_same() {
        for (spread, exact) in [(300, true), (200_000, false), (u32::MAX, false)] {
            let parts: Vec<Statistics> = (0..6)
                .map(|part| {
                    let mut random = Rng::new(1, part).stream(Purpose::Own(0));
                    let lengths: Vec<u32> =
                        (0..30_000).map(|_| 1 + random.below(spread - 1)).collect();
                    Statistics::of(&Lengths::new(lengths).unwrap())
                })
                .collect();
            let merged = |order: &[usize]| {
                order[1..]
                    .iter()
                    .fold(parts[order[0]].clone(), |sum, &part| sum.merge(&parts[part]).unwrap())
            };
            let forward = merged(&[0, 1, 2, 3, 4, 5]);
            assert_eq!(forward.is_exact(), exact);
            assert_eq!(forward, merged(&[5, 3, 1, 4, 0, 2]));
            let halves = merged(&[4, 0, 1]).merge(&merged(&[2, 5, 3])).unwrap();
            assert_eq!(forward, halves);
            assert_eq!(forward.digest(), halves.digest());
            assert_eq!(forward.count(), 180_000);
            let Statistics { classes, exact, total, min, max, needs, .. } = forward.clone();
            let restored = Statistics::restore(classes, exact, total, [min, max], needs).unwrap();
            assert_eq!(restored, forward);
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let restore = |classes: &[(u32, u64)], exact, total, ends| {
            Statistics::restore(classes.to_vec(), exact, total, ends, None)
        };
        assert!(restore(&[(4, 1), (5, 2)], true, 14, [4, 5]).is_ok());
        assert!(restore(&[(4, 1), (5, 2)], true, 13, [4, 5]).is_err());
        assert!(restore(&[(4, 1), (5, 2)], true, 14, [3, 5]).is_err());
        assert!(restore(&[(5, 2), (4, 1)], true, 14, [4, 5]).is_err());
        assert!(restore(&[(4, 1), (5, 0)], true, 4, [4, 5]).is_err());
        assert!(restore(&[(0, 1), (5, 1)], true, 5, [0, 5]).is_err());
        assert!(restore(&[(4, u64::MAX), (5, 2)], true, 14, [4, 5]).is_err());
        assert!(restore(&[(4096, 1)], false, 4095, [4095, 4095]).is_ok());
        assert!(restore(&[(4095, 1)], false, 4095, [4095, 4095]).is_err());
        assert!(restore(&[], true, 0, [0, 0]).is_err());
    }

    #[test]
    fn classes_are_narrow_and_leave_no_gap() {
        let some = (1..70_000).chain((70_000..u32::MAX).step_by(7_919_113)).chain([u32::MAX]);
        for length in some {
            let end = class_end(length);
            assert!(end >= length && class_end(end) == end, "{length} {end}");
            assert!(f64::from(end) <= f64::from(length) * (1.0 + 1.0 / 1024.0), "{length} {end}");
            let first = class_start(end);
            assert!(first <= length && class_end(first) == end, "{length}: {first} to {end}");
            assert!(first == 1 || class_end(first - 1) < end, "{length}: {first} to {end}");
        }
    }
}
