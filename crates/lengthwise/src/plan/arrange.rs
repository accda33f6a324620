//! The order of the batches in the epoch, and how they are assigned to several ranks, one or more
//! batches per rank in a step.

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::names;
use crate::cut::batches::Spans;
use crate::data::lengths::Pad;
use crate::data::shard::Shard;
use crate::data::units::Units;
use crate::limit::cost::CostModel;
use crate::math::ln;
use crate::order::sort;

/// The order of the batches in the epoch.
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
    /// At random, with short and long batches in proportion in every part of the epoch. Over the
    /// epochs, every sequence is at every position equally often.
    #[default]
    Spread,
    /// By batch length, the shortest first: paper 3's curriculum.
    ShortFirst,
    /// The batch with the most cells first, the others at random: if memory runs out, it runs out at
    /// once.
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
}

/// What batches, or rows, are to an arrangement. Of rows the mean length counts.
pub(crate) fn items(batches: &Spans, packed: bool) -> Vec<Item> {
    let row = |(size, length)| Item::row(mean(size, length), length);
    batches.shapes().map(if packed { row } else { Item::batch }).collect()
}

/// Ranks batches by their kinds first if they are spread, so that every part of the epoch has its share of each.
pub(crate) fn by_kind(items: &mut [Item], kinds: impl Iterator<Item = u32>, arrange: Arrange) {
    if arrange != Arrange::Spread {
        return;
    }
    let keys: Vec<(u32, u32)> = kinds.zip(&*items).map(|(kind, item)| (kind, item.rank)).collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&at| keys[at]);
    let mut rank = 0;
    for pair in 0..order.len() {
        // Those of the same length stay equal, and come in a random order.
        if pair > 0 && keys[order[pair]] != keys[order[pair - 1]] {
            rank += 1;
        }
        items[order[pair]].rank = rank;
    }
}

pub(crate) fn shuffle(batches: Spans, rng: &Rng, purpose: Purpose) -> Spans {
    let order = sort::shuffled(batches.len() as u32, rng, purpose);
    batches.reordered(&order)
}

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

    /// A position in an order that does not depend on the batch at it.
    pub(crate) fn place(rank: u32) -> Self {
        Self { rank, log: rank.into(), cells: 1.0, largest: rank.into() }
    }

    pub(crate) fn row(mean: u32, length: u32) -> Self {
        Self { cells: f64::from(length), largest: length.into(), ..Self::batch((1, mean)) }
    }
}

/// The order `spread`: random, and of low discrepancy.
///
/// The batches are ranked by length and form a circle. Those of even rank go to one half of it, those of odd
/// rank to the other; inside each half the same happens by the next binary digit of the rank, and so on. So
/// each half has every second batch by length, each quarter every fourth. This is van der Corput's sequence,
/// and if it is random which half comes first, at every level anew, Owen's scrambling of it. Here it is random
/// as long as the epoch does not drift: the half that would take the sum of all lengths so far too far from
/// their mean does not come first.
///
/// Then the circle is cut at a random place. Without the cut, the bound on the drift would keep the longest
/// batch away from both ends of the epoch. With it, every batch is at every place equally often, whatever the
/// forks decided. The cut costs little: the beginning of the epoch is a part of the circle, and drifts by the
/// difference of two sums that are both bounded.
fn spread(items: &[Item], rng: &Rng) -> Vec<u32> {
    let mut order = circle(items, rng);
    if !order.is_empty() {
        let first = rng.stream(Purpose::Start).below(order.len() as u32);
        order.rotate_left(first as usize);
    }
    order
}

/// The order before it is cut: the last batch is followed by the first.
fn circle(items: &[Item], rng: &Rng) -> Vec<u32> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut ranked = sort::shuffled(items.len() as u32, rng, Purpose::Arrange);
    sort::by_key(&mut ranked, |item| items[item as usize].rank);
    let drifts = drifts(items, &ranked);
    let sums = sums(&drifts);
    // How far the sum may be from the middle by chance: half as far as the batch farthest from the mean moves
    // it, because every order has that move.
    let bound = drifts.iter().fold(0.0_f64, |most, drift| most.max(drift.abs())) / 2.0;

    let mut halves = rng.stream(Purpose::Halves);
    let mut order = Vec::with_capacity(ranked.len());
    // On a circle only differences of sums count, so the sum may begin anywhere within the bound. With few
    // batches, most forks are forced; a random beginning forces them differently in every epoch.
    let mut drift = bound * (f64::from(halves.next_u32()) / f64::from(1_u32 << 31) - 1.0);
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

/// Batches, or steps of several, in the order in which a shard processes them, so that all shards stay
/// in step; `work` is how long each takes.
///
/// A shard does not know the batches of other shards, but all have the same number of them. Each shard
/// sorts its own by work, and all go through these positions in one order that follows from the seed
/// and the epoch: so the batches of one step have the same position on every shard, and nearly the same
/// work.
pub(crate) fn in_step(
    items: &[Item],
    work: &[f64],
    (arrange, steps): (Arrange, Steps),
    shard: Shard,
    rng: &Rng,
) -> Vec<u32> {
    if arrange == Arrange::AsBuilt {
        return (0..items.len() as u32).collect();
    }
    let ranked = match (arrange, steps) {
        (Arrange::ShortFirst, _) => ranked(items, |item, at| (f64::from(item.rank), work[at])),
        (Arrange::LongFirst, _) => ranked(items, |item, _| (item.cells, 0.0)),
        (_, Steps::Stratified) => mixed(items, work, shard, rng),
        (_, Steps::Aligned | Steps::InOrder) => ranked(items, |item, at| (work[at], item.cells)),
    };
    // The batch at a position differs from shard to shard; the order of positions does not.
    let ranks: Vec<Item> = (0..items.len() as u32).map(Item::place).collect();
    arrange.order(&ranks, rng).into_iter().map(|rank| ranked[rank as usize]).collect()
}

/// By a key of two numbers, rising.
fn ranked(items: &[Item], key: impl Fn(&Item, usize) -> (f64, f64)) -> Vec<u32> {
    let keys: Vec<(f64, f64)> = items.iter().enumerate().map(|(at, item)| key(item, at)).collect();
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|at| keys[at as usize]);
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    order
}

/// By classes of like work, and by length in each class, but beginning at another place in every shard:
/// these places are spread evenly, so a step over all shards has all lengths of a class.
fn mixed(items: &[Item], work: &[f64], shard: Shard, rng: &Rng) -> Vec<u32> {
    let class = |at: usize| (ln(work[at].max(f64::MIN_POSITIVE)) * CLASSES).floor() as i32;
    let mut order = ranked(items, |item, at| (f64::from(class(at)), f64::from(item.rank)));
    // Van der Corput's sequence, shifted by chance.
    let place = shard.number.reverse_bits() ^ rng.word(Purpose::Shard, 0);
    for stretch in order.chunk_by_mut(|&a, &b| class(a as usize) == class(b as usize)) {
        let first = (stretch.len() as u64 * u64::from(place)) >> 32;
        stretch.rotate_left(first as usize);
    }
    order
}

/// Works within one part in 25 are alike: sixteen classes for every doubling.
const CLASSES: f64 = 16.0 / std::f64::consts::LN_2;

#[doc = include_str!("steps.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steps {
    /// One batch from each stratum of length: every step is a representative sample of all lengths.
    /// Ranks have equal work if the budget limits what time depends on.
    Stratified,
    /// Batches that take nearly the same time: with one batch per rank, no other assignment has less
    /// idle time. Time comes from the cost model; without one it is the batch length.
    Aligned,
    /// The batches in the order of the plan.
    InOrder,
}

impl Steps {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["stratified", "aligned", "in-order"];

    /// Every way.
    pub const ALL: [Steps; 3] = [Steps::Stratified, Steps::Aligned, Steps::InOrder];

    /// The manual page of steps over ranks, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("steps.md")
    }
}

/// What happens to the last batches if they do not fill a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// They are split into as many smaller batches as there are ranks. Nothing is dropped. If all steps
    /// together have more slots than there are sequences, each missing slot repeats one sequence;
    /// otherwise nothing is repeated.
    #[default]
    Split,
    /// The last step is filled with batches that were already used.
    Repeat,
    /// They are left out of this epoch. These are different batches in every epoch.
    Drop,
}

impl Tail {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["split", "repeat", "drop"];

    /// Every treatment.
    pub const ALL: [Tail; 3] = [Tail::Split, Tail::Repeat, Tail::Drop];
}

/// How long a batch takes, in some unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    Cells,
    Length,
    Seconds(CostModel),
}

impl Time {
    pub(crate) fn of(self, size: u32, length: u32) -> f64 {
        match self {
            Time::Cells => f64::from(size) * f64::from(length),
            Time::Length => f64::from(length),
            Time::Seconds(model) => model.seconds(size, length),
        }
    }

    /// How long a packed row takes that holds these lengths.
    fn of_row(self, row: u32, lengths: impl Iterator<Item = u32>) -> f64 {
        match self {
            Time::Cells | Time::Length => f64::from(row),
            Time::Seconds(model) => model.row_seconds(row, lengths),
        }
    }

    /// What one sequence adds to the time of a packed row.
    pub(crate) fn of_sequence(self, length: u32) -> f64 {
        match self {
            Time::Cells | Time::Length => f64::from(length),
            Time::Seconds(model) => model.of_sequence(length),
        }
    }
}

/// How long the batches of a plan take.
#[derive(Clone, Copy)]
pub(crate) struct Clock<'a> {
    pub(crate) time: Time,
    /// The lengths of all sequences, if batches are rows.
    pub(crate) rows: Option<&'a [u32]>,
    /// What batches are made of, if not of single sequences.
    pub(crate) units: Option<&'a Units>,
}

impl<'a> Clock<'a> {
    pub(crate) fn of(self, batch: &[u32], pad: Pad) -> f64 {
        match (self.rows, self.units) {
            (None, _) => self.time.of(self.size(batch), pad.joint()),
            (Some(lengths), None) => self.time.of_row(pad.first, held(batch, pad, lengths)),
            (Some(lengths), Some(_)) => self.time.of_row(pad.first, self.held(batch, pad, lengths)),
        }
    }

    /// Of which kind its sequences are.
    pub(crate) fn kind(self, batch: &[u32]) -> u32 {
        self.units.map_or(0, |units| units.kind(batch[0]))
    }

    /// How many sequences a batch has.
    pub(crate) fn size(self, batch: &[u32]) -> u32 {
        match self.units {
            None => batch.len() as u32,
            Some(units) => batch.iter().map(|&unit| units.size(unit)).sum(),
        }
    }

    /// The sequences of one place in a batch.
    fn sequences(self, place: &'a u32) -> &'a [u32] {
        self.units.map_or(std::slice::from_ref(place), |units| units.get(*place))
    }

    /// The lengths in a row. A truncated sequence fills it and no more.
    pub(crate) fn held(
        self,
        row: &'a [u32],
        pad: Pad,
        lengths: &'a [u32],
    ) -> impl Iterator<Item = u32> + Clone + 'a {
        let sequences = row.iter().flat_map(move |place| self.sequences(place));
        sequences.map(move |&sequence| lengths[sequence as usize].min(pad.first))
    }

    /// What a batch is to its step.
    pub(crate) fn part(self, (batch, pad): (&[u32], Pad)) -> Part {
        let (pieces, size, length) = (batch.len() as u32, self.size(batch), pad.joint());
        let time = self.of(batch, pad);
        let Some(lengths) = self.rows else {
            return Part { pieces, size, length, time, largest: time };
        };
        let of = |place| self.held(std::slice::from_ref(place), pad, lengths);
        let times = batch.iter().map(|at| of(at).map(|it| self.time.of_sequence(it)).sum());
        let largest = times.fold(0.0, f64::max);
        Part { pieces, size, length: mean(size, length), time, largest }
    }
}

/// The lengths in a row of single sequences. A truncated sequence fills it and no more.
pub(crate) fn held(row: &[u32], pad: Pad, lengths: &[u32]) -> impl Iterator<Item = u32> {
    row.iter().map(move |&sequence| lengths[sequence as usize].min(pad.first))
}

/// A batch that is to be assigned: into how many pieces it can be split, its size, what it is padded to, or the mean
/// length in a row, how long it takes, and how much of that the costliest piece of a row does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) pieces: u32,
    pub(crate) size: u32,
    pub(crate) length: u32,
    pub(crate) time: f64,
    pub(crate) largest: f64,
}

/// The mean length in a row, rounded up.
fn mean(size: u32, row: u32) -> u32 {
    row.div_ceil(size.max(1))
}

names!(Arrange, "arrangement");
names!(Steps, "way to make steps");
names!(Tail, "treatment of the tail");

#[cfg(test)]
mod tests {
    use super::*;

    fn items(shapes: &[(u32, u32)]) -> (Vec<Item>, Vec<f64>) {
        let work = shapes.iter().map(|&(size, length)| f64::from(size) * f64::from(length));
        (shapes.iter().map(|&shape| Item::batch(shape)).collect(), work.collect())
    }

    /// Batches of different shards are at the same step if they have the same rank by work.
    #[test]
    fn ranks_by_work_are_the_same_at_every_step() {
        for arrange in [Arrange::Shuffled, Arrange::Spread, Arrange::LongFirst] {
            let rng = Rng::new(5, 1);
            let ranks = |seed: u64| {
                let mut random = Rng::new(seed, 0).stream(Purpose::Own(0));
                let shapes: Vec<_> = (0..37).map(|_| (3, 1 + random.below(1 << 30))).collect();
                let (items, work) = items(&shapes);
                let shard = Shard { number: seed as u32, of: 9 };
                let order = in_step(&items, &work, (arrange, Steps::Aligned), shard, &rng);
                let mut sorted = work.clone();
                sorted.sort_by(f64::total_cmp);
                let rank =
                    |&batch: &u32| sorted.partition_point(|&less| less < work[batch as usize]);
                order.iter().map(rank).collect::<Vec<_>>()
            };
            let first = ranks(0);
            assert!((1..9).all(|seed| ranks(seed) == first), "{arrange}");
            assert!(!first.is_sorted());
        }
    }

    /// With works that are alike, a step over all shards has every length once.
    #[test]
    fn steps_of_like_work_have_all_lengths() {
        let shapes: Vec<(u32, u32)> = (1..=64).map(|length| (1 << 20, length)).collect();
        let (items, _) = items(&shapes);
        let work = vec![7.0; 64];
        for step in [0, 17, 63] {
            let mut lengths: Vec<u32> = (0..64)
                .map(|number| {
                    let shard = Shard { number, of: 64 };
                    let way = (Arrange::Spread, Steps::Stratified);
                    let order = in_step(&items, &work, way, shard, &Rng::new(3, 4));
                    shapes[order[step] as usize].1
                })
                .collect();
            lengths.sort_unstable();
            assert_eq!(lengths, (1..=64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_is_one_of_all_batches() {
        let shapes: Vec<(u32, u32)> = (0..50).map(|at| (1 + at % 7, 1 + at % 11)).collect();
        let (items, work) = items(&shapes);
        for arrange in Arrange::ALL {
            for steps in Steps::ALL {
                let shard = Shard { number: 3, of: 10 };
                let mut order = in_step(&items, &work, (arrange, steps), shard, &Rng::new(0, 0));
                order.sort_unstable();
                assert_eq!(order, (0..50).collect::<Vec<_>>());
            }
        }
    }
}
