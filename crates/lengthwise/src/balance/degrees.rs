//! The degrees among which one is chosen for every sequence, and the least time with them.

use crate::balance::bins::{Item, least};
use crate::balance::settings::Balance;
use crate::error::Error;

/// The degrees among which one is chosen for every sequence.
pub(super) struct Choice<'a> {
    pub(super) lengths: &'a [u32],
    pub(super) costs: &'a [f64],
    pub(super) kinds: Option<&'a [u32]>,
    /// In rising order. A level is the place of a degree in it.
    pub(super) degrees: &'a [u32],
    pub(super) communication: f64,
    pub(super) capacity: u64,
    pub(super) ranks: usize,
    /// The fewest and the most micro-batches of a rank.
    pub(super) least: usize,
    pub(super) most: usize,
    /// The lowest level at which each sequence keeps the capacity.
    pub(super) lowest: Vec<u8>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        lengths: &'a [u32],
        costs: &'a [f64],
        wanted: &'a Balance,
    ) -> Result<Self, Error> {
        let mut choice = Self {
            lengths,
            costs,
            kinds: wanted.kinds.as_deref(),
            degrees: wanted.split.as_deref().unwrap_or(&[1]),
            communication: wanted.communication.unwrap_or(0.0),
            capacity: wanted.capacity.map_or(u64::MAX, u64::from),
            ranks: wanted.ranks as usize,
            least: wanted.least as usize,
            most: wanted.most_micro_batches(lengths.len()) as usize,
            lowest: Vec::new(),
        };
        let lowest = |sequence: usize| {
            let fits = |&level: &u8| choice.positions(sequence, level) <= choice.capacity;
            choice.levels().find(fits).ok_or(sequence)
        };
        match (0..lengths.len()).map(lowest).collect() {
            Ok(lowest) => choice.lowest = lowest,
            Err(first) => return Err(choice.over_capacity(first)),
        }
        Ok(choice)
    }

    fn over_capacity(&self, first: usize) -> Error {
        let widest = self.degrees.last().copied().unwrap_or(1);
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let expected = format!(
            "at least {}: sequence {first} of length {} takes {} positions on each of {widest} ranks",
            longest.div_ceil(widest),
            self.lengths[first],
            self.lengths[first].div_ceil(widest),
        );
        Error::bad_value("the capacity", &self.capacity, expected)
    }

    pub(super) fn levels(&self) -> impl DoubleEndedIterator<Item = u8> + use<> {
        0..self.degrees.len() as u8
    }

    pub(super) fn degree(&self, level: u8) -> usize {
        self.degrees[level as usize] as usize
    }

    /// How long a sequence takes on each rank that shares it.
    pub(super) fn time(&self, sequence: usize, level: u8) -> f64 {
        let degree = f64::from(self.degrees[level as usize]);
        let exchanged = f64::from(self.lengths[sequence]) * (degree - 1.0) / degree;
        self.costs[sequence] / degree + self.communication * exchanged
    }

    /// How many positions of a sequence each rank has.
    fn positions(&self, sequence: usize, level: u8) -> u64 {
        u64::from(self.lengths[sequence].div_ceil(self.degrees[level as usize]))
    }

    /// The lowest level at which a sequence takes at most `longest`, or takes the least if it always takes longer.
    /// No other level within `longest` is less work for all ranks together.
    fn level(&self, sequence: usize, longest: f64) -> u8 {
        let (mut best, mut least) = (self.lowest[sequence], f64::INFINITY);
        for level in self.lowest[sequence]..self.degrees.len() as u8 {
            let time = self.time(sequence, level);
            if time < least {
                (best, least) = (level, time);
            }
            if time <= longest {
                break;
            }
        }
        best
    }

    pub(super) fn within(&self, longest: f64) -> Vec<u8> {
        (0..self.lengths.len()).map(|sequence| self.level(sequence, longest)).collect()
    }

    /// No division takes less. If all takes at most T, each sequence is at least as much work as at its level for T,
    /// and the ranks do all that work within T: the smallest T for which both can hold.
    pub(super) fn lower_bound(&self) -> f64 {
        let all = 0..self.lengths.len();
        let fastest = |sequence: usize| self.time(sequence, self.level(sequence, 0.0));
        let alone = all.clone().map(fastest).fold(0.0, f64::max);
        let mean = |longest: f64| {
            let work = |sequence: usize| {
                let level = self.level(sequence, longest);
                self.time(sequence, level) * self.degree(level) as f64
            };
            all.clone().map(work).sum::<f64>() / self.ranks as f64
        };
        // The mean changes only where a sequence comes to a lower level.
        let times = all.clone().flat_map(|at| {
            (self.lowest[at]..self.degrees.len() as u8).map(move |level| self.time(at, level))
        });
        let mut times: Vec<f64> = times.filter(|&time| time > alone).collect();
        times.push(alone);
        times.sort_unstable_by(f64::total_cmp);
        let enough = times.partition_point(|&time| mean(time) > time);
        let below = enough.checked_sub(1).map_or(alone, |last| mean(times[last]));
        times.get(enough).map_or(below, |&time| time.min(below)).max(alone)
    }

    /// How many divisions may be tried: the more, the fewer sequences there are.
    pub(super) fn tries(&self) -> usize {
        (200_000 / (1 + self.lengths.len() + 4 * self.ranks)).clamp(12, 600)
    }

    /// The micro-batches that a rank needs at least.
    pub(super) fn fewest(&self, levels: &[u8]) -> usize {
        if self.capacity == u64::MAX && self.kinds.is_none() {
            return 1;
        }
        let of_level = |level: u8| {
            let items: Vec<Item> = self.items(&members(levels, level), level);
            least(&items, self.capacity) as usize * self.degree(level)
        };
        self.levels().map(of_level).sum::<usize>().div_ceil(self.ranks).max(1)
    }

    /// How many micro-batches a rank has at first: as many as it needs, and one more for each further degree, as
    /// micro-batches of different degrees are different ones.
    pub(super) fn start(&self, levels: &[u8]) -> usize {
        let used = self.levels().filter(|level| levels.contains(level)).count();
        self.fewest(levels).max(self.least) + used.saturating_sub(1)
    }

    pub(super) fn items(&self, sequences: &[u32], level: u8) -> Vec<Item> {
        let item = |&sequence: &u32| Item {
            tokens: self.positions(sequence as usize, level),
            cost: self.time(sequence as usize, level),
            kind: self.kinds.map_or(0, |kinds| kinds[sequence as usize]),
        };
        sequences.iter().map(item).collect()
    }
}

/// The sequences at a level.
pub(super) fn members(levels: &[u8], level: u8) -> Vec<u32> {
    (0..).zip(levels).filter(|&(_, &own)| own == level).map(|(sequence, _)| sequence).collect()
}
