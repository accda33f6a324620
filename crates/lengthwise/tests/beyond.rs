//! What the strategies and arrangements beyond the papers promise.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::of_batches;
use lengthwise::{
    Arrange, Budget, Example, Lengths, Plan, Planner, Shapes, Strategy,
    measure::effective_mates,
    strategy::{Blurred, Rotating},
};

/// How often every pair that ever shares a batch does so.
fn meetings(plans: &[Plan]) -> BTreeMap<(u32, u32), u32> {
    let mut met = BTreeMap::new();
    for batch in plans.iter().flatten() {
        for (at, &i) in batch.iter().enumerate() {
            for &j in &batch[at + 1..] {
                *met.entry((i.min(j), i.max(j))).or_default() += 1;
            }
        }
    }
    met
}

/// In the first cycle no pair of batch-mates repeats: counted over all pairs and all epochs of the cycle, for
/// every kind of budget, on a ladder, and for numbers that do not divide evenly.
#[test]
fn rotating_repeats_no_pair_in_a_cycle() {
    let speech = Example::Speech.lengths();
    for (count, budget, shapes, epochs) in [
        (1500, Budget::sequences(8), Shapes::Exact, 11),
        (2011, Budget::sequences(8), Shapes::Exact, 12),
        (97, Budget::sequences(16), Shapes::Exact, 9),
        (1500, Budget::padded(5000), Shapes::Exact, 16),
        (1500, Budget::dynamic(6), Shapes::Ladder(8), 10),
        (3, Budget::sequences(16), Shapes::Exact, 5),
    ] {
        let lengths = Lengths::new(&speech.as_slice()[..count]).unwrap();
        let planner = Planner::new(Rotating { epochs }, budget).shapes(shapes);
        let plans: Vec<Plan> =
            (0..u64::from(epochs)).map(|epoch| planner.plan(&lengths, epoch).unwrap()).collect();
        let met = meetings(&plans);
        assert!(met.values().all(|&times| times == 1), "{count} {budget}");
        // Batches are full: pairs are not avoided by leaving sequences alone.
        let mates: usize =
            plans.iter().flatten().map(|batch| batch.len() * (batch.len() - 1) / 2).sum();
        assert_eq!(met.len(), mates);
        assert!(count < 50 || mates > count * epochs as usize, "{count} {budget}: {mates}");
    }
}

/// The whole cycle is free of repetition, not only the epochs that were asked for, and the next
/// cycle begins with other stripes.
#[test]
fn rotating_goes_on_to_the_end_of_its_cycle() {
    let lengths = Lengths::new(&Example::Speech.lengths().as_slice()[..800]).unwrap();
    let planner = Planner::new(Rotating { epochs: 4 }, Budget::sequences(8));
    // 11 is the first number from 8 that has no divisor from 2 to 7.
    let plans: Vec<Plan> = (0..12).map(|epoch| planner.plan(&lengths, epoch).unwrap()).collect();
    assert!(meetings(&plans[..11]).values().all(|&times| times == 1));
    assert_ne!(plans[0], plans[11]);
    assert!(meetings(&plans).values().any(|&times| times > 1));
}

/// The mixing and the padding of `blurred` follow from its one parameter.
#[test]
fn blurred_has_about_four_spreads_of_mates() {
    for example in Example::ALL {
        let lengths = example.lengths();
        for blur in [0.01, 0.025] {
            let planner = Planner::new(Blurred { blur }, Budget::sequences(16));
            let plans: Vec<Plan> =
                (0..4).map(|epoch| planner.plan(&lengths, epoch).unwrap()).collect();
            let mates = effective_mates(&plans).unwrap();
            let expected = 4.0 * blur * lengths.len() as f64;
            assert!(
                (0.85..1.25).contains(&(mates / expected)),
                "{example} {blur}: {mates} {expected}"
            );
        }
    }
}

/// How far each batch moves the epoch from a fair sample of it: the sum of the logarithms of its
/// lengths less their mean, each sequence weighted by its length.
fn drifts(plan: &Plan, lengths: &Lengths) -> Vec<f64> {
    let length = |&i: &u32| f64::from(lengths.as_slice()[i as usize]);
    let weight = lengths.total() as f64;
    let mean = plan.indices().iter().map(|i| length(i) * length(i).ln()).sum::<f64>() / weight;
    let of_batch = |batch: &[u32]| batch.iter().map(|i| length(i) * (length(i).ln() - mean)).sum();
    plan.iter().map(of_batch).collect()
}

/// How far the beginnings of the epoch are from the mean: the farthest of them, and their root mean square.
fn far(drifts: &[f64]) -> [f64; 2] {
    let mut sum = 0.0;
    let sums: Vec<f64> = drifts
        .iter()
        .map(|drift| {
            sum += drift;
            f64::abs(sum)
        })
        .collect();
    let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
    [sums.iter().copied().fold(0.0, f64::max), (squares / sums.len() as f64).sqrt()]
}

/// How far the epoch drifts under an arrangement, as the means over some epochs, and how far the batch that is
/// farthest from the mean moves it.
fn mean_drift(
    lengths: &Lengths,
    (strategy, budget, arrange): (&str, Budget, Arrange),
    epochs: u32,
) -> ([f64; 2], f64) {
    let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), budget).arrange(arrange);
    let (mut mean, mut largest) = ([0.0; 2], 0.0);
    for epoch in 0..epochs {
        let drifts = drifts(&planner.plan(lengths, epoch.into()).unwrap(), lengths);
        for (mean, far) in mean.iter_mut().zip(far(&drifts)) {
            *mean += far / f64::from(epochs);
        }
        let farthest = drifts.iter().fold(0.0, |most: f64, drift| most.max(drift.abs()));
        largest += farthest / f64::from(epochs);
    }
    (mean, largest)
}

/// Whether `spread` drifts at most this share as far as `shuffled` does. A batch that is far from the mean moves
/// the epoch by that much wherever it is, so an order that is fair to it drifts by a part of that.
fn assert_spread_drifts(most: f64, lengths: &Lengths, strategy: &str, budget: Budget, alone: bool) {
    let of = |arrange| mean_drift(lengths, (strategy, budget, arrange), 20);
    let ((spread, largest), (shuffled, _)) = (of(Arrange::Spread), of(Arrange::Shuffled));
    let unavoidable = if alone { [1.1 * largest, 0.55 * largest] } else { [0.0; 2] };
    for at in 0..2 {
        let limit = (shuffled[at] * most).max(unavoidable[at]);
        let what = format!("{strategy}, {} lengths, {budget}", lengths.len());
        assert!(spread[at] <= limit, "{what}: {spread:?} {shuffled:?} {largest}");
    }
}

/// `spread` drifts at most a third as far as `shuffled` does, on every example, for every strategy that groups
/// by length, in batches of equal cells; in batches of 16, the longest documents alone are farther out.
#[test]
fn spread_drifts_a_third_as_far_as_shuffled() {
    for example in Example::ALL {
        let lengths = example.lengths();
        for budget in [Budget::padded(2 * u64::from(lengths.max())), Budget::sequences(16)] {
            let alone = example == Example::Documents && budget == Budget::sequences(16);
            for strategy in ["sorted", "blurred", "semi-sorted", "alternated", "pooled"] {
                assert_spread_drifts(1.0 / 3.0, &lengths, strategy, budget, alone);
            }
        }
    }
}

/// And at most half as far in few batches of skewed lengths, unless one batch alone is farther out.
#[test]
fn spread_drifts_half_as_far_as_shuffled_in_few_batches() {
    let documents = |count: usize| Example::Documents.lengths().as_slice()[..count].to_vec();
    let mut with_outlier = vec![100; 320];
    with_outlier[99] = 5000;
    // Whether one batch is farther out in batches of equal cells; in 7 or 20 batches of 16 one always is.
    let sets = [
        (documents(112), true),
        (documents(320), true),
        (documents(2000), false),
        ((1..=320).collect(), false),
        (with_outlier, true),
    ];
    for (lengths, alone) in sets {
        let lengths = Lengths::new(lengths).unwrap();
        let padded = Budget::padded(2 * u64::from(lengths.max()));
        for strategy in ["sorted", "blurred", "semi-sorted", "pooled"] {
            assert_spread_drifts(0.5, &lengths, strategy, padded, alone);
            assert_spread_drifts(0.5, &lengths, strategy, Budget::sequences(16), true);
        }
    }
}

/// Cut at some place, each half of the epoch has every second batch by length, each quarter every fourth.
#[test]
fn spread_has_every_length_in_every_part() {
    let lengths = Lengths::new((1..=1024).collect::<Vec<u32>>()).unwrap();
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(1))
        .arrange(Arrange::Spread);
    let even = |order: &[u32], parts: u32| {
        let mut chunks = order.chunks(order.len() / parts as usize);
        chunks.all(|chunk| chunk.iter().all(|index| index % parts == chunk[0] % parts))
    };
    let mut orders = Vec::new();
    for epoch in 0..4 {
        let mut order = planner.plan(&lengths, epoch).unwrap().indices().to_vec();
        orders.push(order.clone());
        // As it is, every stretch has its share of every sixteenth by length.
        for stretch in order.windows(256) {
            let mut shares = [0_u32; 16];
            for index in stretch {
                shares[*index as usize / 64] += 1;
            }
            assert!(shares.iter().all(|share| share.abs_diff(16) <= 2), "{shares:?}");
        }
        let found = (0..1024).any(|_| {
            order.rotate_left(1);
            [2, 4, 64].iter().all(|&parts| even(&order, parts))
        });
        assert!(found, "epoch {epoch}");
    }
    orders.dedup();
    assert_eq!(orders.len(), 4);
}

/// Sixteen rungs on speech-like lengths, under a budget of 64 of the longest: at most 22 shapes in ten
/// epochs, the same in every one, and at most 5 % padding.
#[test]
fn sixteen_rungs_make_few_shapes_and_little_padding() {
    let lengths = Example::Speech.lengths();
    let budget = Budget::padded(64 * u64::from(lengths.max()));
    for strategy in of_batches().filter(|it| it.name() != "rotating") {
        let planner = Planner::new(strategy.clone(), budget).shapes(Shapes::Ladder(16));
        let shapes = |epoch| -> BTreeSet<(usize, u32)> {
            let plan = planner.plan(&lengths, epoch).unwrap();
            assert!(plan.measure(&lengths).padding_rate <= 0.05, "{strategy}");
            plan.iter().map(<[u32]>::len).zip(plan.batch_lengths().iter().copied()).collect()
        };
        let first = shapes(0);
        assert!(first.len() <= 22, "{strategy}: {}", first.len());
        assert!((1..10).all(|epoch| shapes(epoch) == first), "{strategy}");
    }
}
