//! The order in which a shard plays its batches, so that all shards keep in step.
//!
//! Nobody knows the batches of other shards, but all have the same number of them. Each shard ranks
//! its own by work, and all go through the ranks in one order that follows from the seed and the epoch:
//! so the batches of one step have the same rank everywhere, and nearly the same work.

use crate::base::rng::{Purpose, Rng};
use crate::data::shard::Shard;
use crate::math::ln;
use crate::plan::arrange::{Arrange, Item};
use crate::plan::steps::Steps;

/// Batches, or steps of several, in the order that they are played; `work` is how long each takes.
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
    // What stands at a rank differs from shard to shard; the order of ranks does not.
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
