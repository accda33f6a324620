//! What holds for every strategy under every budget, shape and arrangement.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use crate::common::{Case, Kind, cases};
use lengthwise::{
    Arrange, Budget, Example, Lengths, Plan, Planner, Rule, Shapes, Strategy, ladder,
};
use proptest::prelude::*;

/// What a sequence of given length is padded to alone, by the definition of the shapes. On a ladder
/// it is at least its length.
fn padded(case: &Case, length: u32) -> u32 {
    match &case.shapes {
        Shapes::Multiple(multiple) => length.div_ceil(*multiple) * multiple,
        _ => length,
    }
}

/// Rows are as long as their sequences together, rounded up by the shapes, and keep the budget. No
/// two of them could be one, if that is how the limits are.
fn rows_are_right(case: &Case, plan: &Plan) -> Result<(), TestCaseError> {
    let lengths = case.lengths.as_slice();
    let limits = case.strategy.to_string();
    let own = limits.strip_prefix("packed:at-most=").map_or(u32::MAX, |most| most.parse().unwrap());
    let mut sums = Vec::new();
    for (row, &batch_length) in plan.iter().zip(plan.batch_lengths()) {
        let sum: u32 = row.iter().map(|&i| lengths[i as usize]).sum();
        if let Shapes::Ladder(rungs) = case.shapes {
            let used: BTreeSet<u32> = plan.batch_lengths().iter().copied().collect();
            prop_assert!(sum <= batch_length && used.len() <= rungs as usize);
        } else {
            prop_assert_eq!(batch_length, padded(case, sum));
        }
        let length = u64::from(batch_length);
        match case.kind {
            Kind::Sequences(count) => prop_assert!(row.len() as u64 <= u64::from(count)),
            Kind::Padded(cells) => prop_assert!(length <= cells),
            Kind::Cost(model, limit) => {
                let held = || row.iter().map(|&i| f64::from(lengths[i as usize]));
                let [a, b, c, d] = model.coefficients();
                let squares: f64 = held().map(|length| length * length).sum();
                let longest = held().fold(0.0, f64::max);
                let seconds = a + b * longest + c * f64::from(batch_length) + d * squares;
                prop_assert!(seconds <= limit * (1.0 + 1e-12));
            }
            Kind::Dynamic(count, _) => {
                let longest = padded(case, case.lengths.max());
                prop_assert!(length <= u64::from(count) * u64::from(longest));
            }
        }
        prop_assert!(case.at_most.is_none_or(|at_most| row.len() as u32 <= at_most));
        prop_assert!(row.len() as u64 <= u64::from(own));
        prop_assert!(plan.provenance().admits(row, batch_length, &case.lengths));
        sums.push(u64::from(sum));
    }
    if let (Kind::Padded(cells), None, Shapes::Exact, u32::MAX) =
        (case.kind, case.at_most, &case.shapes, own)
    {
        // The first sequence of the later row would have fitted the earlier one.
        sums.sort_unstable();
        prop_assert!(sums.len() < 2 || sums[0] + sums[1] > cells, "{sums:?} {cells}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn every_sequence_is_in_one_batch_and_every_batch_keeps_the_budget(case in cases()) {
        let plan = case.plan();
        let mut seen = plan.indices().to_vec();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..case.lengths.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!(plan.iter().map(<[u32]>::len).sum::<usize>(), case.lengths.len());
        prop_assert!(plan.left_out().is_empty() && plan.truncated().is_empty());

        let longest = padded(&case, case.lengths.max());
        if plan.is_packed() {
            rows_are_right(&case, &plan)?;
            return Ok(());
        }
        if let Shapes::Ladder(rungs) = case.shapes {
            let lengths: BTreeSet<u32> = plan.batch_lengths().iter().copied().collect();
            prop_assert!(lengths.len() <= rungs as usize);
            prop_assert!(lengths.iter().all(|length| case.lengths.as_slice().contains(length)));
        }
        for (batch, &batch_length) in plan.iter().zip(plan.batch_lengths()) {
            let alone: Vec<u32> =
                batch.iter().map(|&i| padded(&case, case.lengths.as_slice()[i as usize])).collect();
            let needed = *alone.iter().max().unwrap();
            // What is left at a rung may climb, and is then padded to a higher one.
            if let Shapes::Ladder(_) = case.shapes {
                prop_assert!(batch_length >= needed);
            } else {
                prop_assert_eq!(batch_length, needed);
            }
            let size = batch.len() as u64;
            prop_assert!(size > 0);
            match case.kind {
                Kind::Sequences(count) => prop_assert!(size <= u64::from(count)),
                Kind::Padded(cells) => prop_assert!(size * u64::from(batch_length) <= cells),
                Kind::Cost(model, limit) => {
                    prop_assert!(model.seconds(size as u32, batch_length) <= limit);
                }
                Kind::Dynamic(count, Rule::Printed) => prop_assert!(
                    size * u64::from(batch_length) <= u64::from(count) * u64::from(longest)
                ),
                Kind::Dynamic(count, Rule::Over) => {
                    // All but the last to join are within the capacity.
                    let before = alone[..alone.len() - 1].iter().max().map_or(0, |&l| u64::from(l));
                    prop_assert!((size - 1) * before <= u64::from(count) * u64::from(longest));
                }
            }
            prop_assert!(case.at_most.is_none_or(|at_most| batch.len() as u32 <= at_most));
            prop_assert!(plan.provenance().admits(batch, batch_length, &case.lengths));
        }
    }

    #[test]
    fn the_same_settings_give_the_same_plan(case in cases()) {
        let (one, other) = (case.plan(), case.clone().plan());
        prop_assert_eq!(one.digest(), other.digest());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn measures_equal_a_naive_recomputation(case in cases()) {
        let plan = case.plan();
        let measures = plan.measure(&case.lengths);
        let lengths = case.lengths.as_slice();
        let sizes: Vec<f64> = plan.iter().map(|batch| batch.len() as f64).collect();
        let rows: Vec<f64> =
            sizes.iter().map(|&size| if plan.is_packed() { 1.0 } else { size }).collect();
        let padded: Vec<f64> = plan.batch_lengths().iter().map(|&l| f64::from(l)).collect();
        let cells: f64 = rows.iter().zip(&padded).map(|(n, l)| n * l).sum();
        let filled: f64 = lengths.iter().map(|&l| f64::from(l)).sum();
        let rates: Vec<f64> = plan
            .iter()
            .zip(rows.iter().zip(&padded))
            .map(|(batch, (rows, l))| {
                let sum: f64 = batch.iter().map(|&i| f64::from(lengths[i as usize])).sum();
                1.0 - sum / rows / l
            })
            .collect();
        let count: f64 = sizes.iter().sum();
        let weighted = |values: &[f64]| -> f64 {
            sizes.iter().zip(values).map(|(n, v)| n * v).sum::<f64>() / count
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        prop_assert!(close(measures.cells as f64, cells));
        prop_assert!(close(measures.padding_rate, (cells - filled) / cells));
        prop_assert!(close(measures.mean_batch_padding_rate, weighted(&rates)));
        prop_assert!(close(measures.mean_batch_length, weighted(&padded)));
        prop_assert!(close(measures.steps as f64, padded.iter().sum()));
        let shapes: BTreeSet<(u32, u32)> =
            rows.iter().map(|&rows| rows as u32).zip(plan.batch_lengths().iter().copied()).collect();
        prop_assert_eq!(measures.shapes as usize, shapes.len());
        prop_assert_eq!(measures.batches as usize, plan.len());
        prop_assert_eq!(measures.largest_batch as usize, plan.iter().map(<[u32]>::len).max().unwrap());
        let largest = rows.iter().zip(&padded).map(|(n, l)| n * l).fold(0.0, f64::max);
        prop_assert!(close(measures.largest_batch_cells as f64, largest));
    }

    /// The shapes of a ladder are as many as its rungs and a few, and the same in every epoch: they
    /// follow from the lengths alone. (`rotating` and `proportional` keep their own batches, `packed` its
    /// rows.)
    #[test]
    fn the_shapes_of_a_ladder_are_few_and_never_change(case in cases(), rungs in 1_u32..20) {
        prop_assume!(!["rotating", "proportional", "packed"].contains(&case.strategy.name()));
        let case = Case { shapes: Shapes::Ladder(rungs), ..case };
        let shapes = |case: &Case| -> BTreeSet<(usize, u32)> {
            let plan = case.plan();
            plan.iter().map(<[u32]>::len).zip(plan.batch_lengths().iter().copied()).collect()
        };
        let first = shapes(&case);
        prop_assert_eq!(&first, &shapes(&Case { epoch: case.epoch ^ 1, ..case.clone() }));
        prop_assert!(first.len() <= 2 * rungs as usize, "{first:?}");
        // What climbs pads by no more than half a percent of everything at each rung, and the rungs
        // are the best for padding every sequence to its own, or better ones for whole batches.
        let ladder = ladder(&case.lengths, rungs);
        let own: u64 = case
            .lengths
            .as_slice()
            .iter()
            .map(|&l| u64::from(ladder[ladder.partition_point(|&rung| rung < l)]))
            .sum();
        if !matches!(case.kind, Kind::Cost(..)) {
            let cells = case.plan().measure(&case.lengths).cells;
            prop_assert!(cells <= own + own * ladder.len() as u64 / 200, "{cells} {own}");
        }
    }
}

#[test]
fn epoch_and_seed_change_the_plan_of_every_strategy() {
    let lengths = Example::Speech.lengths();
    for strategy in Strategy::all_of_one_length() {
        let plan = |seed, epoch| {
            Planner::new(strategy.clone(), Budget::sequences(16))
                .arrange(Arrange::AsBuilt)
                .seed(seed)
                .plan(&lengths, epoch)
                .unwrap()
        };
        assert_ne!(plan(0, 0), plan(0, 1), "{strategy}");
        assert_ne!(plan(0, 0), plan(1, 0), "{strategy}");
        assert_ne!(plan(1, 1), plan(2, 0), "{strategy}");
    }
}

#[test]
fn arrangements_order_the_same_batches() {
    let lengths = Example::Documents.lengths();
    for strategy in Strategy::all_of_one_length().into_iter().filter(|it| !it.makes_steps()) {
        let plan = |arrange| {
            Planner::new(strategy.clone(), Budget::padded(48_000))
                .arrange(arrange)
                .plan(&lengths, 3)
                .unwrap()
        };
        let sorted = |plan: &Plan| {
            let mut batches: Vec<(u32, Vec<u32>)> = plan
                .batch_lengths()
                .iter()
                .copied()
                .zip(plan.iter().map(<[u32]>::to_vec))
                .collect();
            batches.sort();
            batches
        };
        let cells = |plan: &Plan| -> Vec<u64> {
            plan.shapes().map(|(rows, length)| u64::from(rows) * u64::from(length)).collect()
        };
        let as_built = plan(Arrange::AsBuilt);
        for arrange in [Arrange::Shuffled, Arrange::Spread, Arrange::ShortFirst, Arrange::LongFirst]
        {
            let arranged = plan(arrange);
            assert_eq!(sorted(&arranged), sorted(&as_built), "{strategy} {arrange}");
            match arrange {
                // Rows are of all lengths; those of short ones on average come first.
                Arrange::ShortFirst if plan(arrange).is_packed() => {
                    let batches = arranged.iter().zip(arranged.batch_lengths());
                    let means = batches.map(|(row, &sum)| sum.div_ceil(row.len() as u32));
                    assert!(means.is_sorted());
                }
                Arrange::ShortFirst => assert!(arranged.batch_lengths().is_sorted(), "{strategy}"),
                Arrange::LongFirst => {
                    let cells = cells(&arranged);
                    assert_eq!(Some(&cells[0]), cells.iter().max(), "{strategy}");
                    assert!(!cells.is_sorted_by(|a, b| a >= b), "{strategy}");
                }
                _ => assert_ne!(arranged, as_built, "{strategy}"),
            }
        }
    }
}

#[test]
fn with_no_noise_semi_sorted_is_sorted_even_at_the_ends_of_the_range() {
    for lengths in [vec![1, u32::MAX, u32::MAX - 1, 2, 2, 1], (1..4000).rev().collect()] {
        let lengths = Lengths::new(lengths).unwrap();
        let plan = |strategy: &str| {
            let strategy: Strategy = strategy.parse().unwrap();
            Planner::new(strategy, Budget::sequences(2)).plan(&lengths, 5).unwrap()
        };
        assert_eq!(plan("semi-sorted:noise=0"), plan("sorted"));
        assert_eq!(plan("blurred:blur=0"), plan("sorted"));
    }
}

#[test]
fn sorting_pads_least_when_batches_have_one_size() {
    for example in Example::ALL {
        let lengths = example.lengths();
        let cells = |strategy: Strategy| {
            Planner::new(strategy, Budget::sequences(16))
                .plan(&lengths, 0)
                .unwrap()
                .measure(&lengths)
        };
        let sorted = cells("sorted".parse().unwrap()).cells;
        let shuffled = cells("shuffled".parse().unwrap()).cells;
        assert_eq!(cells("packed".parse().unwrap()).cells, lengths.total());
        for strategy in Strategy::all_padded() {
            let measures = cells(strategy.clone());
            assert!(measures.cells >= sorted, "{strategy} on {example}");
            assert!(measures.cells <= shuffled, "{strategy} on {example}");
        }
    }
}

#[test]
fn extreme_lengths_are_planned() {
    let lengths = Lengths::new([u32::MAX; 3]).unwrap();
    for strategy in Strategy::all_of_one_length() {
        for budget in [Budget::sequences(2), Budget::padded(u64::MAX), Budget::dynamic(u32::MAX)] {
            let plan = Planner::new(strategy.clone(), budget).plan(&lengths, u64::MAX).unwrap();
            assert_eq!(plan.measure(&lengths).cells, 3 * u64::from(u32::MAX), "{strategy}");
        }
    }
}
