//! Random choices are as likely as they should be. All seeds are fixed, so nothing here is flaky;
//! limits are those that one right program in ten thousand would exceed.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use crate::common::of_batches;
use lengthwise::{
    Arrange, Budget, Example, Lengths, Planner, Shapes, Steps, Strategy,
    custom::{Group, Purpose, Rng, Stream},
    shard::{Shard, Statistics},
    strategy::{Bucketed, LengthBuckets, Neighbours, SemiSorted, Shuffled},
};

/// The value that a chi-square variable of so many degrees of freedom exceeds once in ten thousand
/// times (Wilson and Hilferty's approximation).
fn limit(freedom: usize) -> f64 {
    let n = freedom as f64;
    n * (1.0 - 2.0 / (9.0 * n) + 3.719 * (2.0 / (9.0 * n)).sqrt()).powi(3)
}

fn chi_square_of_equal(counts: &[u32]) -> f64 {
    let expected = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / counts.len() as f64;
    counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum()
}

fn plans<S: Group>(
    strategy: S,
    budget: u32,
    lengths: &Lengths,
    epochs: u64,
    mut each: impl FnMut(&lengthwise::Plan),
) {
    let planner =
        Planner::new(strategy, Budget::sequences(budget)).arrange(Arrange::AsBuilt).seed(11);
    for epoch in 0..epochs {
        each(&planner.plan(lengths, epoch).unwrap());
    }
}

/// How often each pair of `count` sequences shares a batch.
fn meetings<S: Group>(strategy: S, budget: u32, lengths: &Lengths, epochs: u64) -> Vec<u32> {
    let count = lengths.len();
    let mut met = vec![0; count * count];
    plans(strategy, budget, lengths, epochs, |plan| {
        for batch in plan {
            for &i in batch {
                for &j in batch.iter().filter(|&&j| j > i) {
                    met[i as usize * count + j as usize] += 1;
                }
            }
        }
    });
    (0..count).flat_map(|i| met[i * count + i + 1..(i + 1) * count].to_vec()).collect()
}

#[test]
fn in_shuffled_batches_all_pairs_are_equally_likely() {
    let lengths = Lengths::new((1..=12).collect::<Vec<u32>>()).unwrap();
    let met = meetings(Shuffled, 3, &lengths, 30_000);
    assert_eq!(met.len(), 66);
    // Meetings within an epoch exclude each other, which makes the statistic smaller, not larger;
    // so it must not be too small either.
    let chi_square = chi_square_of_equal(&met);
    assert!(chi_square < limit(65) && chi_square > 20.0, "{chi_square}");
}

#[test]
fn in_a_bucket_all_pairs_are_equally_likely_even_among_equal_lengths() {
    // Descending buckets of six: {9 × 6}, and of the ten of length 5, six and four with {1, 1}.
    let lengths = Lengths::new([5, 9, 5, 9, 5, 9, 5, 9, 5, 9, 5, 9, 5, 5, 5, 5, 1, 1]).unwrap();
    let met = meetings(Bucketed { size: 6 }, 2, &lengths, 40_000);
    let mut pairs = met.iter();
    let mut by_kind: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for i in 0..18 {
        for j in i + 1..18 {
            let (a, b) = (lengths.as_slice()[i], lengths.as_slice()[j]);
            by_kind.entry((a.min(b), a.max(b))).or_default().push(*pairs.next().unwrap());
        }
    }
    for (kind, counts) in by_kind {
        let never = matches!(kind, (5 | 1, 9));
        assert_eq!(never, counts.iter().all(|&n| n == 0), "{kind:?}");
        if !never && counts.len() > 1 {
            let chi_square = chi_square_of_equal(&counts);
            assert!(chi_square < limit(counts.len() - 1), "{kind:?}: {chi_square}");
        }
    }
}

#[test]
fn batches_are_drawn_from_random_length_buckets() {
    // Two batches of each of three buckets: each of the 90 orders of buckets is as likely.
    let lengths = Lengths::new([1, 2, 1, 2, 11, 12, 11, 12, 21, 22, 21, 22]).unwrap();
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    plans(LengthBuckets::Width(10), 2, &lengths, 45_000, |plan| {
        let buckets = plan.batch_lengths().iter().map(|length| length / 10).collect();
        *seen.entry(buckets).or_default() += 1;
    });
    let counts: Vec<u32> = seen.into_values().collect();
    assert_eq!(counts.len(), 90);
    assert!(chi_square_of_equal(&counts) < limit(89));
}

#[test]
fn noise_exchanges_neighbours_as_often_as_it_should() {
    // Width of noise 0.2 × 100 = 20: lengths 10 apart change places with chance (1 − 10/20)² / 2.
    let lengths = Lengths::new([100, 110, 200]).unwrap();
    let epochs = 80_000;
    let mut exchanged = 0;
    plans(SemiSorted { noise: 0.2 }, 1, &lengths, epochs, |plan| {
        exchanged += u32::from(plan.indices() == [1, 0, 2]);
        assert_eq!(plan.indices()[2], 2);
    });
    let expected = 0.125 * epochs as f64;
    let deviation = (f64::from(exchanged) - expected) / (expected * 0.875).sqrt();
    assert!(deviation.abs() < 3.89, "{exchanged}");
}

/// Fifty sequences in batches of eight: six full batches and one of two, which is each of the seven
/// equally often, whatever limits the batches.
#[test]
fn the_short_batch_is_any_batch_equally_often() {
    let lengths = Lengths::new((1..=50).collect::<Vec<u32>>()).unwrap();
    let strategies = [
        "sorted",
        "semi-sorted:noise=0.05",
        "blurred:blur=0.02",
        "alternated:bins=3",
        "pooled:batches=10",
    ];
    for strategy in strategies {
        for (budget, shapes) in [
            ("sequences:8", "exact"),
            ("padded:512", "multiple:64"),
            ("padded:576,multiple-of=4", "multiple:64"),
        ] {
            let planner =
                Planner::new(strategy.parse::<Strategy>().unwrap(), budget.parse().unwrap())
                    .shapes(shapes.parse().unwrap())
                    .arrange(Arrange::AsBuilt)
                    .seed(11);
            let mut counts = [0; 7];
            for epoch in 0..7000 {
                let plan = planner.plan(&lengths, epoch).unwrap();
                let sizes: Vec<usize> = plan.iter().map(<[u32]>::len).collect();
                assert_eq!(sizes.len(), 7, "{strategy} {budget}");
                let short = sizes.iter().position(|&size| size == 2).unwrap();
                assert_eq!(sizes.iter().filter(|&&size| size == 8).count(), 6);
                counts[short] += 1;
            }
            let chi_square = chi_square_of_equal(&counts);
            assert!(chi_square < limit(6), "{strategy} {budget}: {counts:?}");
        }
    }
}

/// On a ladder it is what is left at a rung: of 25 sequences at each of two rungs one, which is at
/// each of the four places between full batches equally often.
#[test]
fn what_is_left_at_a_rung_is_from_anywhere() {
    let lengths = Lengths::new((1..=50).collect::<Vec<u32>>()).unwrap();
    for strategy in ["sorted", "pooled:batches=10", "bucketed:size=7", "length-buckets:width=3"] {
        let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), Budget::sequences(8))
            .shapes(Shapes::Rungs(vec![25, 64]))
            .arrange(Arrange::AsBuilt)
            .seed(11);
        let (mut places, mut alone) = ([[0; 4]; 2], [0; 50]);
        for epoch in 0..4000 {
            for batch in planner.plan(&lengths, epoch).unwrap().iter().filter(|b| b.len() == 1) {
                let at = batch[0] as usize;
                alone[at] += 1;
                places[at / 25][at % 25 / 8] += 1;
            }
        }
        // In a sorted order the place of a sequence says how many full batches are before it.
        if strategy == "sorted" {
            for counts in places {
                assert!(chi_square_of_equal(&counts) < limit(3), "{counts:?}");
            }
        }
        let most = alone.iter().max().unwrap();
        assert!(*most < 1300, "{strategy}: one sequence is left alone {most} times of 4000");
    }
}

/// No sequence is in the short batch, or left at a rung, in more than a few of many epochs.
#[test]
fn no_sequence_is_in_the_short_batch_again_and_again() {
    let lengths = Lengths::new(&Example::Speech.lengths().as_slice()[..1005]).unwrap();
    let epochs = 400;
    for strategy in of_batches() {
        if strategy.name() == "rotating" {
            continue;
        }
        let planner = Planner::new(strategy.clone(), Budget::sequences(16)).seed(3);
        let mut short = vec![0; lengths.len()];
        for epoch in 0..epochs {
            for batch in planner.plan(&lengths, epoch).unwrap().iter().filter(|b| b.len() < 16) {
                for &sequence in batch {
                    short[sequence as usize] += 1;
                }
            }
        }
        let most = *short.iter().max().unwrap();
        // A bucket of few sequences has a short batch of its own, and its sequences are in it more
        // often.
        let bound = if strategy.name().contains("bucket") { 0.3 } else { 0.15 };
        assert!(f64::from(most) < bound * epochs as f64, "{strategy}: {most} of {epochs}");
    }
}

/// The same where batches of whole multiples do not leave room for it everywhere.
#[test]
fn the_short_batch_of_multiples_is_not_always_the_last() {
    let lengths = Example::Documents.lengths();
    let budget = "padded:48000,at-most=256,multiple-of=8".parse().unwrap();
    for strategy in ["sorted", "semi-sorted", "blurred", "alternated"] {
        let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), budget)
            .shapes(Shapes::Multiple(8))
            .arrange(Arrange::AsBuilt);
        let odd = |plan: &lengthwise::Plan| {
            plan.iter().position(|batch| batch.len() > 8 && !batch.len().is_multiple_of(8))
        };
        let mut places: BTreeMap<Option<usize>, u32> = BTreeMap::new();
        for epoch in 0..60 {
            *places.entry(odd(&planner.plan(&lengths, epoch).unwrap())).or_default() += 1;
        }
        assert!(places.len() > 5, "{strategy}: {places:?}");
    }
}

/// How unevenly each of some sequences is over the tenths of 2,000 epochs: the shortest, the two longest, and
/// others between them. Each is a chi-square over the value that one in ten thousand exceeds. `of_epoch` gives
/// the sequences of each batch, or step, of an epoch.
fn unevenness(lengths: &Lengths, of_epoch: impl Fn(u64) -> Vec<Vec<u32>>) -> Vec<f64> {
    let mut by_length: Vec<usize> = (0..lengths.len()).collect();
    by_length.sort_by_key(|&i| lengths.as_slice()[i]);
    let mut watched: Vec<usize> =
        (0..20).map(|at| by_length[at * (lengths.len() - 1) / 19]).collect();
    watched.push(by_length[lengths.len() - 2]);
    let (mut seen, mut expected) = (vec![[0.0; 10]; watched.len()], [0.0; 10]);
    let (mut parts, mut places) = (10, vec![0; lengths.len()]);
    for epoch in 0..2000 {
        let steps = of_epoch(epoch);
        parts = parts.min(steps.len());
        for (place, step) in steps.iter().enumerate() {
            let part = place * parts / steps.len();
            expected[part] += 1.0 / steps.len() as f64;
            for &sequence in step {
                places[sequence as usize] = part;
            }
        }
        for (seen, &sequence) in seen.iter_mut().zip(&watched) {
            seen[places[sequence]] += 1.0;
        }
    }
    let chi_square = |seen: &[f64; 10]| -> f64 {
        let parts = seen.iter().zip(&expected).take(parts);
        parts.map(|(seen, expected)| (seen - expected).powi(2) / expected).sum()
    };
    seen.iter().map(|seen| chi_square(seen) / limit(parts - 1)).collect()
}

/// Skewed lengths, and like lengths with one that is far longer than all others.
fn skewed(count: usize) -> [Lengths; 2] {
    let mut random = Rng::new(5, 0).stream(Purpose::Own(2));
    let mut with_outlier: Vec<u32> = (0..count).map(|_| 90 + random.below(20)).collect();
    with_outlier[count / 3] = 5000;
    let documents = Example::Documents.lengths().as_slice()[..count].to_vec();
    [documents, with_outlier].map(|lengths| Lengths::new(lengths).unwrap())
}

fn owned<'a>(batches: impl Iterator<Item = &'a [u32]>) -> Vec<Vec<u32>> {
    batches.map(<[u32]>::to_vec).collect()
}

/// Every sequence is at every place of the epoch equally often, the longest too.
#[test]
fn the_default_order_is_fair_to_every_sequence() {
    // Seven batches, twenty, many, and a number that changes from epoch to epoch.
    for (count, budget) in
        [(140, "sequences:20"), (320, "sequences:16"), (400, "sequences:2"), (600, "padded:11000")]
    {
        for (set, lengths) in skewed(count).into_iter().enumerate() {
            for strategy in ["sorted", "blurred"] {
                let planner =
                    Planner::new(strategy.parse::<Strategy>().unwrap(), budget.parse().unwrap());
                let uneven = unevenness(&lengths, |epoch| {
                    owned(planner.plan(&lengths, epoch).unwrap().iter())
                });
                let fair = uneven.iter().all(|&uneven| uneven < 1.0);
                assert!(fair, "{strategy} {budget}, set {set}: {uneven:.2?}");
            }
        }
    }
}

/// The same of steps of several batches, and of the batches of a shard.
#[test]
fn the_default_order_of_steps_and_of_shards_is_fair() {
    for (set, lengths) in skewed(320).into_iter().enumerate() {
        let planner = Planner::new("blurred".parse::<Strategy>().unwrap(), Budget::sequences(4));
        for steps in [Steps::Stratified, Steps::Aligned] {
            let planner = planner.clone().steps(steps);
            let uneven = unevenness(&lengths, |epoch| {
                let schedule = planner.plan(&lengths, epoch).unwrap().schedule(3).unwrap();
                let batches = owned(schedule.all_ranks().iter());
                batches.chunks(3).map(<[_]>::concat).collect()
            });
            let fair = uneven.iter().all(|&uneven| uneven < 1.0);
            assert!(fair, "{steps}, set {set}: {uneven:.2?}");
        }
        let planner = planner.shard(Shard { number: 0, of: 1 });
        let part = |statistics: Statistics| lengths.clone().part_of(statistics.into()).unwrap();
        let own = Statistics::of(&lengths);
        let needs = planner.needs(&part(own.clone())).unwrap();
        let part = part(own.merge(&needs).unwrap());
        let uneven =
            unevenness(&lengths, |epoch| owned(planner.plan(&part, epoch).unwrap().iter()));
        let fair = uneven.iter().all(|&uneven| uneven < 1.0);
        assert!(fair, "a shard, set {set}: {uneven:.2?}");
    }
}

/// Takes a random one of the unused sequences that have this length.
fn take(unused: &mut Vec<usize>, lengths: &[u32], length: u32, random: &mut Stream) -> usize {
    let equal: Vec<usize> = (0..unused.len()).filter(|&at| lengths[unused[at]] == length).collect();
    unused.remove(equal[random.below(equal.len() as u32) as usize])
}

/// Note 4's procedure, step by step: lists are searched, nothing is clever.
fn by_the_note(lengths: &[u32], batch_size: usize, random: &mut Stream) -> Vec<Vec<usize>> {
    let mut unused: Vec<usize> = (0..lengths.len()).collect();
    let mut batches = Vec::new();
    while !unused.is_empty() {
        let start = unused.remove(random.below(unused.len() as u32) as usize);
        let mut batch = vec![start];
        while batch.len() < batch_size && unused.iter().any(|&i| lengths[i] == lengths[start]) {
            batch.push(take(&mut unused, lengths, lengths[start], random));
        }
        let up_first = random.below(2) == 0;
        for up in [up_first, !up_first] {
            while batch.len() < batch_size {
                let candidates = unused.iter().map(|&i| lengths[i]);
                let next = if up {
                    candidates.filter(|&length| length > lengths[start]).min()
                } else {
                    candidates.filter(|&length| length < lengths[start]).max()
                };
                let Some(next) = next else { break };
                batch.push(take(&mut unused, lengths, next, random));
            }
        }
        batches.push(batch);
    }
    batches
}

/// The set of batches, whatever the order inside and between them.
fn canonical(mut batches: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    for batch in &mut batches {
        batch.sort_unstable();
    }
    batches.sort();
    batches
}

#[test]
fn neighbours_gives_the_batches_of_the_note_equally_often() {
    for (lengths, batch_size) in [
        (vec![1, 2, 2, 3, 5, 5, 6], 3),
        (vec![4, 4, 4, 4, 4, 9], 2),
        (vec![1, 2, 3, 4, 5, 6, 7, 8], 3),
    ] {
        let mut counts: BTreeMap<Vec<Vec<usize>>, [u32; 2]> = BTreeMap::new();
        let trials = 60_000;
        let column = Lengths::new(lengths.clone()).unwrap();
        plans(Neighbours, batch_size, &column, trials, |plan| {
            let batches = plan.iter().map(|batch| batch.iter().map(|&i| i as usize).collect());
            counts.entry(canonical(batches.collect())).or_default()[0] += 1;
        });
        let mut random = Rng::new(77, 0).stream(Purpose::Own(1));
        for _ in 0..trials {
            let batches = by_the_note(&lengths, batch_size as usize, &mut random);
            counts.entry(canonical(batches)).or_default()[1] += 1;
        }
        // Two samples of the same size: (a − b)² / (a + b) for every outcome; rare ones together.
        let (rare, common): (Vec<[u32; 2]>, Vec<[u32; 2]>) =
            counts.values().partition(|[a, b]| a + b < 20);
        let rest = rare.iter().fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        let statistic = |[a, b]: [u32; 2]| {
            if a + b == 0 { 0.0 } else { (f64::from(a) - f64::from(b)).powi(2) / f64::from(a + b) }
        };
        let chi_square: f64 = common.iter().copied().chain([rest]).map(statistic).sum();
        assert!(common.len() >= 5, "{} outcomes", common.len());
        assert!(chi_square < limit(common.len()), "{chi_square} of {} outcomes", common.len());
    }
}
