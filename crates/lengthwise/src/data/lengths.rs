//! The validated column of lengths that everything else starts from.

use std::fmt::{self, Display};
use std::sync::{Arc, OnceLock};

use crate::base::digest::digest;
use crate::data::population::Population;
use crate::data::statistics::Statistics;
use crate::data::units::Units;
use crate::error::Error;

/// The lengths of all sequences, checked once: at least one, none zero, at most `u32::MAX` of them.
///
/// A sequence is named by its index in this column everywhere else.
///
/// ```
/// use lengthwise::Lengths;
///
/// let lengths = Lengths::new([31, 7, 12, 90])?;
/// assert_eq!((lengths.len(), lengths.min(), lengths.max(), lengths.total()), (4, 7, 90, 140));
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lengths {
    values: Values,
    min: u32,
    max: u32,
    total: u64,
    second: Option<Box<Lengths>>,
    histogram: OnceLock<Vec<(u32, u32)>>,
    digest: OnceLock<u64>,
    /// What was derived from them first, and under which settings: see `remembered`.
    memory: OnceLock<(String, Vec<u32>)>,
    population: Option<Arc<Population>>,
    units: Option<Arc<Units>>,
}

impl Lengths {
    /// Takes lengths that are `u32` already.
    pub fn new(lengths: impl Into<Vec<u32>>) -> Result<Self, Error> {
        Self::of_values(Values::Own(Arc::new(lengths.into())))
    }

    /// Takes lengths that are in memory owned elsewhere, such as a memory-mapped file. Nothing is
    /// copied, not even by `clone`. The lengths must not change; if they do, plans change with them, or
    /// planning panics.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use lengthwise::Lengths;
    ///
    /// let elsewhere: Arc<[u32; 3]> = Arc::new([31, 7, 12]);
    /// assert_eq!(Lengths::shared(elsewhere)?, Lengths::new([31, 7, 12])?);
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn shared(lengths: Arc<dyn AsRef<[u32]> + Send + Sync>) -> Result<Self, Error> {
        Self::of_values(Values::Shared(lengths))
    }

    fn of_values(values: Values) -> Result<Self, Error> {
        let lengths = values.as_slice();
        check_count(lengths.len())?;
        let (mut min, mut max, mut total) = (u32::MAX, 0, 0);
        for &length in lengths {
            min = min.min(length);
            max = max.max(length);
            total += u64::from(length);
        }
        if min == 0 {
            let index = lengths.iter().position(|&length| length == 0).unwrap_or_default();
            return Err(Error::BadLength { index, given: "0".to_owned() });
        }
        let (histogram, digest, memory) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (second, population, units) = (None, None, None);
        Ok(Self { values, min, max, total, second, histogram, digest, memory, population, units })
    }

    /// Takes lengths of any integer type. The error names the first that is not from 1 to `u32::MAX`.
    ///
    /// ```
    /// use lengthwise::Lengths;
    ///
    /// assert_eq!(Lengths::try_from_integers([5_i64, 8])?.as_slice(), [5, 8]);
    /// let error = Lengths::try_from_integers([5_i64, -8]).unwrap_err();
    /// assert_eq!(error.to_string(), "sequence 1 has length -8");
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn try_from_integers<T>(lengths: impl IntoIterator<Item = T>) -> Result<Self, Error>
    where
        T: Copy + Display + TryInto<u32>,
    {
        let values = lengths.into_iter().enumerate().map(|(index, length)| {
            length.try_into().map_err(|_| Error::BadLength { index, given: length.to_string() })
        });
        Self::new(values.collect::<Result<Vec<u32>, Error>>()?)
    }

    /// With a second length for each sequence; there are as many.
    pub(crate) fn with_second(mut self, second: Lengths) -> Self {
        (self.second, self.digest) = (Some(Box::new(second)), OnceLock::new());
        self
    }

    pub(crate) fn with_units(mut self, units: Units) -> Self {
        (self.units, self.digest) = (Some(Arc::new(units)), OnceLock::new());
        self
    }

    /// Which sequences stay together, and of which kind they are, if that was given.
    pub(crate) fn units(&self) -> Option<&Arc<Units>> {
        self.units.as_ref()
    }

    /// The second lengths, if these are [`Pairs`](crate::Pairs).
    pub fn second(&self) -> Option<&Lengths> {
        self.second.as_deref()
    }

    /// Refuses two lengths where only one is supported; `what` names the place, as in "strategy
    /// `packed`".
    pub fn only_one(&self, what: &str) -> Result<(), Error> {
        match self.second {
            Some(_) => Err(Error::SecondLengths { what: what.to_owned() }),
            None => Ok(()),
        }
    }

    pub(crate) fn both(&self, sequence: u32) -> Pad {
        let second = self.second.as_ref().map_or(0, |second| second.of(sequence));
        Pad { first: self.of(sequence), second }
    }

    /// The lengths, by index of the sequence.
    pub fn as_slice(&self) -> &[u32] {
        self.values.as_slice()
    }

    /// The same, to be kept.
    pub(crate) fn values(&self) -> Values {
        self.values.clone()
    }

    /// The number of sequences.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// The number of sequences as the integer that names them.
    pub(crate) fn count(&self) -> u32 {
        self.len() as u32
    }

    pub(crate) fn of(&self, sequence: u32) -> u32 {
        self.as_slice()[sequence as usize]
    }

    /// The shortest length.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// The longest length.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The sum of all lengths: the cells that are not padding.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The same of both lengths, if there are two.
    pub(crate) fn positions(&self) -> u64 {
        self.total + self.second().map_or(0, Lengths::total)
    }

    /// The mean length.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.len() as f64
    }

    /// A fingerprint of the lengths in their order: XXH3 (64 bits) of each as a little-endian `u32`,
    /// the second ones behind the first if there are some; then the number of the group of each sequence,
    /// and that of its kind, if these were given. Computed once.
    pub fn digest(&self) -> u64 {
        let second = self.second().map_or(&[][..], Lengths::as_slice);
        *self.digest.get_or_init(|| {
            let [groups, kinds] =
                self.units().map_or_else(Default::default, |units| units.digested());
            digest(&[self.as_slice(), second, &groups, &kinds])
        })
    }

    /// The distinct lengths in ascending order, each with how many sequences have it. Computed once.
    pub fn histogram(&self) -> &[(u32, u32)] {
        self.histogram.get_or_init(|| {
            if is_small_table(self.max, self.len()) {
                let mut counts = vec![0; self.max as usize + 1];
                for &length in self.as_slice() {
                    counts[length as usize] += 1;
                }
                return (0..).zip(counts).filter(|&(_, count)| count > 0).collect();
            }
            let mut sorted = self.as_slice().to_vec();
            sorted.sort_unstable();
            sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
        })
    }
}

/// Lengths that are owned, or in memory owned elsewhere. Clones share them.
#[derive(Clone)]
pub(crate) enum Values {
    Own(Arc<Vec<u32>>),
    Shared(Arc<dyn AsRef<[u32]> + Send + Sync>),
}

impl Values {
    pub(crate) fn as_slice(&self) -> &[u32] {
        match self {
            Values::Own(own) => own,
            Values::Shared(shared) => (**shared).as_ref(),
        }
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// What the lengths are a part of.
impl Lengths {
    /// Makes the lengths a part of a corpus with these statistics: ladders, scales and limits then
    /// follow from the whole corpus, and are the same for every part. It is an error if a sequence is
    /// longer than the longest in the statistics, or has two lengths.
    ///
    /// ```
    /// use lengthwise::{Lengths, shard::Statistics};
    ///
    /// let [one, other] = [[5, 9], [7, 30]].map(|part| Lengths::new(part).unwrap());
    /// let all = Statistics::of(&one).merge(&Statistics::of(&other))?;
    /// let one = one.part_of(all.into())?;
    /// assert_eq!(one.histogram(), [(5, 1), (9, 1)]);
    /// assert_eq!(one.population(), [(5, 1), (7, 1), (9, 1), (30, 1)]);
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn part_of(self, statistics: Arc<Statistics>) -> Result<Self, Error> {
        self.only_one("a part of a corpus")?;
        let longest = statistics.max();
        if statistics.count() == 0 {
            let what = "they have the needs of shards, but no lengths".to_owned();
            return Err(Error::BadStatistics { what });
        }
        if let Some(index) = self.as_slice().iter().position(|&length| length > longest) {
            return Err(Error::BeyondStatistics { index, length: self.as_slice()[index], longest });
        }
        Ok(self.within(Some(Population::new(statistics).into())))
    }

    /// The statistics of the corpus that these lengths are a part of, if any.
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.part().map(|population| &population.statistics)
    }

    /// The [histogram](Lengths::histogram) of the corpus that the lengths are a part of, or their own.
    /// Everything that is decided for all lengths together follows from it. For more than `u32::MAX`
    /// sequences, counts are scaled down; if [`Statistics`] have classes, these are the ends of
    /// classes.
    pub fn population(&self) -> &[(u32, u32)] {
        self.part().map_or_else(|| self.histogram(), |population| &population.histogram)
    }

    /// What the lengths are a part of.
    pub(crate) fn part(&self) -> Option<&Arc<Population>> {
        self.population.as_ref()
    }

    /// The same as a part of something else, or of what another column is a part of.
    pub(crate) fn within(mut self, population: Option<Arc<Population>>) -> Self {
        (self.population, self.memory) = (population, OnceLock::new());
        self
    }

    /// Numbers that follow from the lengths and from `settings`. The first that are asked for are kept,
    /// because every epoch asks for the same.
    pub(crate) fn remembered(&self, settings: &str, derive: impl Fn() -> Vec<u32>) -> Vec<u32> {
        let (known, numbers) = self.memory.get_or_init(|| (settings.to_owned(), derive()));
        if *known == settings { numbers.clone() } else { derive() }
    }

    /// How many sequences the [population](Lengths::population) has.
    pub(crate) fn population_count(&self) -> usize {
        self.part().map_or(self.len(), |population| population.count())
    }

    pub(crate) fn longest(&self) -> u32 {
        self.part().map_or(self.max, |population| population.longest.max(self.max))
    }

    pub(crate) fn shortest(&self) -> u32 {
        self.part().map_or(self.min, |population| population.shortest.min(self.min))
    }
}

impl Statistics {
    /// The summary statistics of these lengths alone. With two lengths, they are those of the first,
    /// because a [part](Lengths::part_of) of a corpus has one length.
    pub fn of(lengths: &Lengths) -> Self {
        Self::of_histogram(lengths.histogram())
    }
}

/// Whether a table with a place for every length up to `longest` is small next to `count` sequences.
pub(crate) fn is_small_table(longest: u32, count: usize) -> bool {
    longest as usize / 4 <= count + 1024
}

/// Two columns are equal when their lengths are, and what stays together.
impl PartialEq for Lengths {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
            && self.second == other.second
            && self.units == other.units
    }
}

impl Eq for Lengths {}

fn check_count(count: usize) -> Result<(), Error> {
    match u32::try_from(count) {
        Ok(0) => Err(Error::NoSequences),
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TooManySequences { count: count as u64 }),
    }
}

/// What a batch is padded to: its batch length, and the second one, which is 0 where sequences have
/// one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pad {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

impl Pad {
    /// Of a batch of one length.
    pub(crate) const fn one(first: u32) -> Self {
        Self { first, second: 0 }
    }

    /// What is at least as long as both.
    pub(crate) fn over(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), second: self.second.max(other.second) }
    }

    /// Both together: what stands for the length wherever one number is asked for.
    pub(crate) fn joint(self) -> u32 {
        self.first.saturating_add(self.second)
    }

    pub(crate) fn cells(self, rows: u32) -> u64 {
        u64::from(rows).saturating_mul(u64::from(self.first) + u64::from(self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lengths_are_refused_by_index() {
        assert_eq!(Lengths::new([]), Err(Error::NoSequences));
        assert_eq!(
            Lengths::new([4, 0, 0]),
            Err(Error::BadLength { index: 1, given: "0".to_owned() })
        );
        for given in [-1_i64, 1 << 32, i64::MIN, i64::MAX] {
            let expected = Error::BadLength { index: 2, given: given.to_string() };
            assert_eq!(Lengths::try_from_integers([1, 2, given]), Err(expected));
        }
    }

    #[test]
    fn shared_lengths_are_checked_too_and_not_copied() {
        let shared = |lengths: &[u32]| Lengths::shared(Arc::new(lengths.to_vec()));
        assert_eq!(shared(&[]), Err(Error::NoSequences));
        assert_eq!(shared(&[4, 0]), Err(Error::BadLength { index: 1, given: "0".to_owned() }));
        let (one, own) = (shared(&[7, 3, 7]).unwrap(), Lengths::new([7, 3, 7]).unwrap());
        assert_eq!(one, own);
        assert_eq!((one.digest(), one.histogram()), (own.digest(), own.histogram()));
        assert_eq!(one.clone().as_slice().as_ptr(), one.as_slice().as_ptr());
    }

    #[test]
    fn the_count_is_limited_to_what_an_index_can_name() {
        assert_eq!(check_count(u32::MAX as usize), Ok(()));
        // No list is longer where a `usize` has 32 bits.
        let count = u64::from(u32::MAX) + 1;
        if let Ok(more) = usize::try_from(count) {
            assert_eq!(check_count(more), Err(Error::TooManySequences { count }));
        }
    }

    #[test]
    fn extreme_lengths_do_not_overflow() {
        let lengths = Lengths::new([u32::MAX, u32::MAX, 1]).unwrap();
        assert_eq!(lengths.total(), 2 * u64::from(u32::MAX) + 1);
        assert_eq!(lengths.histogram(), [(1, 1), (u32::MAX, 2)]);
        assert_eq!(Lengths::new([7, 3, 7]).unwrap().histogram(), [(3, 1), (7, 2)]);
    }
}
