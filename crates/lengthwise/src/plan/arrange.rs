//! The order of the batches within the epoch.

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::names;
use crate::cut::batches::{Spans, weighed};
use crate::math::ln;
use crate::order::sort;

/// The order of the batches within the epoch.
///
/// ```
/// use lengthwise::Arrange;
///
/// assert_eq!("short-first".parse(), Ok(Arrange::ShortFirst));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrange {
    /// As the strategy built them.
    AsBuilt,
    /// At random: paper 2's batch randomization.
    Shuffled,
    /// At random, and yet every stretch of the epoch has short and long batches in proportion.
    #[default]
    Spread,
    /// By batch length, the shortest first: paper 3's curriculum.
    ShortFirst,
    /// The batch of most cells first, the others at random: if memory runs out, it does so at once.
    LongFirst,
}

impl Arrange {
    /// The names, as in string forms.
    pub const NAMES: [&str; 5] = ["as-built", "shuffled", "spread", "short-first", "long-first"];

    /// Every arrangement.
    pub const ALL: [Arrange; 5] =
        [Self::AsBuilt, Self::Shuffled, Self::Spread, Self::ShortFirst, Self::LongFirst];

    /// The manual page of arrangements, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("arrange.md")
    }

    /// The order of batches, or of steps of several batches.
    pub(crate) fn order(self, items: &[Item], rng: &Rng) -> Vec<u32> {
        let count = items.len() as u32;
        match self {
            Arrange::AsBuilt => (0..count).collect(),
            Arrange::Shuffled => sort::shuffled(count, rng, Purpose::Arrange),
            Arrange::Spread => spread(items, rng),
            Arrange::ShortFirst => {
                let mut order: Vec<u32> = (0..count).collect();
                sort::by_key(&mut order, |item| items[item as usize].rank);
                order
            }
            Arrange::LongFirst => {
                let mut order = sort::shuffled(count, rng, Purpose::Arrange);
                let largest = |&at: &usize| items[order[at] as usize].largest;
                if let Some(first) = (0..order.len()).max_by_key(largest) {
                    order.swap(0, first);
                }
                order
            }
        }
    }

    /// The batches, or rows, in their order. Rows are arranged by the mean length in them.
    pub(crate) fn apply(self, batches: Spans, packed: bool, rng: &Rng) -> Spans {
        if self == Arrange::AsBuilt {
            return batches;
        }
        let items = items(&batches, packed);
        batches.reordered(&self.order(&items, rng))
    }
}

/// What batches, or rows, are to an arrangement. Of rows the mean length counts.
pub(crate) fn items(batches: &Spans, packed: bool) -> Vec<Item> {
    let row = |shape: (u32, u32)| Item::row(weighed(shape, true).1, shape.1);
    batches.shapes().map(if packed { row } else { Item::batch }).collect()
}

pub(crate) fn shuffle(batches: Spans, rng: &Rng, purpose: Purpose) -> Spans {
    let order = sort::shuffled(batches.len() as u32, rng, purpose);
    batches.reordered(&order)
}

names!(Arrange, "arrangement");

/// What is arranged: a batch, or a step of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Short ones before long ones.
    pub(crate) rank: u32,
    /// The logarithm of its length.
    pub(crate) log: f64,
    pub(crate) cells: f64,
    /// The most cells of any batch in it.
    pub(crate) largest: u64,
}

impl Item {
    pub(crate) fn batch((size, length): (u32, u32)) -> Self {
        let largest = u64::from(size) * u64::from(length);
        let cells = f64::from(length) * f64::from(size);
        Self { rank: length, log: ln(f64::from(length)), cells, largest }
    }

    /// A place in an order that is the same whatever stands there.
    pub(crate) fn place(rank: u32) -> Self {
        Self { rank, log: rank.into(), cells: 1.0, largest: rank.into() }
    }

    pub(crate) fn row(mean: u32, length: u32) -> Self {
        Self { cells: f64::from(length), largest: length.into(), ..Self::batch((1, mean)) }
    }
}

/// The order `spread`: random, and of low discrepancy.
///
/// The batches are ranked by length. Those of even rank go to one half of the epoch, those of odd rank to
/// the other; inside each half the same happens by the next binary digit of the rank, and so on. So each
/// half has every second batch by length, each quarter every fourth. This is van der Corput's sequence,
/// and if it is random which half comes first, at every level anew, Owen's scrambling of it. Here it is
/// random as long as the epoch does not drift: the half that would take the sum of all lengths so far too
/// far from their mean does not come first.
fn spread(items: &[Item], rng: &Rng) -> Vec<u32> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut ranked = sort::shuffled(items.len() as u32, rng, Purpose::Arrange);
    sort::by_key(&mut ranked, |item| items[item as usize].rank);
    let drifts = drifts(items, &ranked);
    let sums = sums(&drifts);
    // How far the epoch may drift by chance: half as far as the batch farthest from the mean, and
    // all of it where there are few, so that not every choice is forced.
    let farthest = drifts.iter().fold(0.0_f64, |most, drift| most.max(drift.abs()));
    let bound = farthest * (0.5 + (8.0 / drifts.len() as f64).min(0.51));

    let mut halves = rng.stream(Purpose::Halves);
    let mut order = Vec::with_capacity(ranked.len());
    let mut drift = 0.0;
    // Parts of the epoch still to come, the next one last: ranks that leave `rest` by 2^`digits`.
    let mut parts = vec![(0_usize, 0)];
    while let Some((digits, rest)) = parts.pop() {
        let other = rest + (1 << digits);
        if other >= ranked.len() {
            order.push(ranked[rest]);
            drift += drifts[rest];
            continue;
        }
        let after = [rest, other].map(|half| f64::abs(drift + sums[digits + 1][half]));
        let even_first = if after[0].max(after[1]) <= bound {
            halves.below(2) == 0
        } else {
            after[0] <= after[1]
        };
        let (first, second) = if even_first { (rest, other) } else { (other, rest) };
        parts.push((digits + 1, second));
        parts.push((digits + 1, first));
    }
    order
}

/// How far each batch, by rank, moves the epoch from its mean: the logarithm of its length less the
/// mean of them, times its cells.
fn drifts(items: &[Item], ranked: &[u32]) -> Vec<f64> {
    let ranked = ranked.iter().map(|&item| items[item as usize]);
    let cells: f64 = ranked.clone().map(|item| item.cells).sum();
    let mean = ranked.clone().map(|item| item.log * item.cells).sum::<f64>() / cells;
    ranked.map(|item| (item.log - mean) * item.cells).collect()
}

/// For every number of digits, the sums of the drifts of ranks that agree in these lowest digits.
fn sums(drifts: &[f64]) -> Vec<Vec<f64>> {
    let digits = (drifts.len() - 1).checked_ilog2().map_or(0, |digits| digits as usize + 1);
    let mut levels = vec![drifts.to_vec()];
    for digits in (0..digits).rev() {
        let finer = &levels[levels.len() - 1];
        let half = 1 << digits;
        let sum = |rest: usize| finer[rest] + finer.get(rest + half).copied().unwrap_or(0.0);
        levels.push((0..half.min(finer.len())).map(sum).collect());
    }
    levels.reverse();
    levels
}
