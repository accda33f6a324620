//! Mixing is what it is defined to be, its error is what it says, and cycles cannot hide repeats.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use lengthwise::{
    Budget, Example, Lengths, Plan, Planner, Strategy,
    measure::{Mixing, Per, effective_mates, mixing},
    strategy::Rotating,
};

fn planned(
    strategy: &str,
    budget: &str,
    lengths: &Lengths,
    seed: u64,
    epochs: &[u64],
) -> Vec<Plan> {
    let budget: Budget = budget.parse().unwrap();
    let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), budget).seed(seed);
    epochs.iter().map(|&epoch| planner.plan(lengths, epoch).unwrap()).collect()
}

fn some(example: Example, count: usize) -> Lengths {
    Lengths::new(&example.lengths().as_slice()[..count]).unwrap()
}

/// All pairs that share a batch.
fn pairs(plan: &Plan) -> BTreeSet<(u32, u32)> {
    let pairs = plan.iter().flat_map(|batch| {
        batch.iter().flat_map(|&i| batch.iter().map(move |&j| (i, j))).filter(|(i, j)| i < j)
    });
    pairs.collect()
}

/// Of each sequence, one divided by the number of its batch-mates in two epochs for each that it has in both.
fn repeat_rate_of_sequences(one: &Plan, other: &Plan, sequences: usize) -> f64 {
    let mates = |plan: &Plan| {
        let mut mates = vec![BTreeSet::new(); sequences];
        for (i, j) in pairs(plan) {
            mates[i as usize].insert(j);
            mates[j as usize].insert(i);
        }
        mates
    };
    let each: Vec<f64> = mates(one)
        .iter()
        .zip(&mates(other))
        .filter(|(a, b)| !a.is_empty() && !b.is_empty())
        .map(|(a, b)| a.intersection(b).count() as f64 / (a.len() * b.len()) as f64)
        .collect();
    each.iter().sum::<f64>() / each.len() as f64
}

#[test]
fn mixing_is_counted_as_defined() {
    for example in Example::ALL {
        let lengths = some(example, 600);
        let all = 600.0 * 599.0 / 2.0;
        for strategy in Strategy::all_of_one_length() {
            let name = strategy.to_string();
            for budget in ["sequences:16", "dynamic:2", "dynamic:4,at-most=20"] {
                let plans = planned(&name, budget, &lengths, 3, &[0, 1, 2]);
                let sets: Vec<_> = plans.iter().map(pairs).collect();
                let (mut expected, mut common, mut mean, mut rates) = (0.0, 0.0, 0.0, 0.0);
                for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                    let sizes = [one, other].map(|epoch: usize| sets[epoch].len() as f64);
                    expected += sizes[0] * sizes[1] / all;
                    common += sets[one].intersection(&sets[other]).count() as f64;
                    mean += 0.5 * (sizes[0] + sizes[1]);
                    rates += repeat_rate_of_sequences(&plans[one], &plans[other], 600) / 3.0;
                }
                let Some(found) = mixing(&plans) else {
                    // Rows of one sequence each.
                    assert!(sets.iter().any(BTreeSet::is_empty), "{name} {budget}");
                    continue;
                };
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
                let whole = format!("{example} {name} {budget}: {found:?}");
                assert!(near(found.repeat_rate, common / mean), "{whole}");
                assert!(near(found.per_pair, (expected / common).min(1.0)), "{whole}");
                assert!(near(found.per_sequence, (1.0 / rates / 599.0).min(1.0)), "{whole}");
                assert!(near(found.effective_mates, 599.0 * found.per_sequence), "{whole}");
                assert_eq!(effective_mates(&plans), Some(found.effective_mates));
                for per in Per::ALL {
                    assert!(found.per(per) > 0.0 && found.per(per) <= 1.0, "{whole}");
                    assert!(found.error_per(per) >= 0.0 && found.error_per(per) < 1.0, "{whole}");
                }
            }
        }
    }
}

#[test]
fn random_batches_mix_as_random_batches_and_no_more() {
    let (mut measured, mut near) = (0, 0);
    for example in Example::ALL {
        let lengths = example.lengths();
        for budget in ["sequences:16", "dynamic:16", "padded:20000,at-most=64"] {
            for seed in 0..3 {
                let plans = planned("shuffled", budget, &lengths, seed, &[0, 1, 2, 3]);
                let found = mixing(&plans).unwrap();
                for per in Per::ALL {
                    let (value, error) = (found.per(per), found.error_per(per));
                    assert!(value <= 1.0 && error < 0.1, "{example} {budget}: {found:?}");
                    assert!(value + 4.0 * error > 1.0, "{example} {budget}: {found:?}");
                    measured += 1;
                    near += usize::from(value + 2.0 * error > 1.0);
                }
            }
        }
    }
    assert!(near * 10 >= measured * 9, "{near} of {measured}");
}

/// The spread of many measurements is as large as each of them says that it errs.
#[test]
fn errors_are_what_measurements_differ_by() {
    for (strategy, budget, epochs) in [
        ("blurred:blur=0.02", "sequences:16", 2),
        ("blurred:blur=0.02", "dynamic:8", 4),
        ("pooled:batches=20", "dynamic:8", 4),
        ("semi-sorted:noise=0.5", "sequences:8", 3),
    ] {
        let lengths = some(Example::Speech, 2000);
        let epochs: Vec<u64> = (0..epochs).collect();
        let all: Vec<Mixing> = (0..30)
            .map(|seed| mixing(&planned(strategy, budget, &lengths, seed, &epochs)).unwrap())
            .collect();
        for per in Per::ALL {
            let mean = |of: &dyn Fn(&Mixing) -> f64| all.iter().map(of).sum::<f64>() / 30.0;
            let center = mean(&|one| one.per(per));
            let spread = (mean(&|one| (one.per(per) - center).powi(2)) * 30.0 / 29.0).sqrt();
            let error = mean(&|one| one.error_per(per));
            assert!(
                (0.6..2.5).contains(&(error / spread)),
                "{strategy} {budget} {per:?}: {center} ± {spread}, said {error}"
            );
        }
    }
}

#[test]
fn nothing_repeated_is_no_infinity() {
    let lengths = Example::Speech.lengths();
    let found =
        mixing(&planned("rotating:epochs=16", "sequences:16", &lengths, 0, &[0, 1])).unwrap();
    assert_eq!((found.repeat_rate, found.per_pair, found.per_sequence), (0.0, 1.0, 1.0));
    assert!((found.effective_mates - (lengths.len() as f64 - 1.0)).abs() < 1e-6, "{found:?}");
    // Random batches would repeat 112 pairs, and 1 + √¾ could have been missed.
    assert!((0.01..0.03).contains(&found.per_pair_error), "{found:?}");
    // Where random batches would not repeat anything either, nothing was shown.
    let few = some(Example::Speech, 300);
    let found = mixing(&planned("rotating:epochs=2", "sequences:2", &few, 0, &[0, 1])).unwrap();
    assert!(found.per_pair > 0.999 && found.per_pair_error > 0.5, "{found:?}");
}

#[test]
fn nothing_to_measure_is_none() {
    let lengths = some(Example::Speech, 100);
    assert_eq!(mixing(&planned("shuffled", "sequences:8", &lengths, 0, &[0])), None);
    assert_eq!(mixing(&planned("shuffled", "sequences:1", &lengths, 0, &[0, 1])), None);
}

/// Inside its cycle `rotating` repeats nothing. Epochs of different cycles show what a long training
/// sees: the mean over all pairs of 48 epochs, of which those of one cycle repeat nothing.
#[test]
fn a_cycle_is_measured_beyond_its_length() {
    let lengths = some(Example::Speech, 3000);
    let rotating = Rotating { epochs: 10 };
    for budget in ["sequences:8", "dynamic:6"] {
        let planner = Planner::new(rotating, budget.parse().unwrap());
        let cycle = planner.cycle(&lengths).unwrap();
        assert!((10..=13).contains(&cycle), "{cycle}");
        let apart: Vec<u64> = (0..4).map(|number| number * cycle).collect();
        let found =
            mixing(&planned(&rotating_text(rotating), budget, &lengths, 0, &apart)).unwrap();
        assert!(found.per_pair < 0.1, "{found:?}");

        let epochs: Vec<u64> = (0..48).collect();
        let plans = planned(&rotating_text(rotating), budget, &lengths, 0, &epochs);
        let sets: Vec<_> = plans.iter().map(pairs).collect();
        let (mut inside, mut outside) = ((0.0, 0_u32), (0.0, 0_u32));
        for one in 0..48 {
            for other in one + 1..48 {
                let common = sets[one].intersection(&sets[other]).count() as f64;
                let same_cycle = one as u64 / cycle == other as u64 / cycle;
                let of = if same_cycle { &mut inside } else { &mut outside };
                of.0 += common / sets[one].len() as f64;
                of.1 += 1;
            }
        }
        assert!(inside.0 < 1e-12, "{inside:?}");
        let rate = outside.0 / f64::from(outside.1);
        let error = found.repeat_rate * found.per_pair_error / found.per_pair;
        assert!((found.repeat_rate - rate).abs() < 3.0 * error, "{rate} {found:?}");
    }
    // A strategy that draws every epoch anew has no cycle.
    let planner = Planner::new("blurred".parse::<Strategy>().unwrap(), Budget::sequences(8));
    assert_eq!(planner.cycle(&lengths).unwrap(), 1);
}

fn rotating_text(rotating: Rotating) -> String {
    Strategy::from(rotating).to_string()
}
