//! The papers' worked examples and what they report, as far as it follows from lengths alone.
//!
//! LJSpeech itself is not here; the built-in example `speech` has as many sequences and nearly the
//! same lengths, so the published figures must come out nearly the same.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use lengthwise::{
    Arrange, Budget, Chunks, CostModel, Example, Lengths, Measures, Plan, Planner, Rule, Shapes,
    Strategy, ladder,
    measure::effective_mates,
    strategy::{Alternated, Neighbours, OptimalBuckets, SemiSorted},
};

/// Mean over epochs of a measure.
fn mean(strategy: &str, budget: Budget, lengths: &Lengths, of: impl Fn(&Measures) -> f64) -> f64 {
    let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), budget);
    let epochs = 5;
    let sum: f64 =
        (0..epochs).map(|epoch| of(&planner.plan(lengths, epoch).unwrap().measure(lengths))).sum();
    sum / epochs as f64
}

fn assert_near(what: &str, found: f64, published: f64, tolerance: f64) {
    assert!((found - published).abs() <= tolerance, "{what}: {found} is not near {published}");
}

/// Paper 2, Tables 1 and 2: zero-padding rate, average batch length, and 655 batches of 16.
#[test]
fn paper_2_padding_at_batch_size_16() {
    let lengths = Example::Speech.lengths();
    let budget = Budget::sequences(16);
    for (strategy, zpr, abl) in [
        ("shuffled", 32.02, 773.82),
        ("sorted", 0.16, 526.43),
        ("semi-sorted:noise=0.1", 6.22, 556.22),
        ("bucketed:size=1024", 6.10, 553.40),
        ("alternated:bins=58", 6.08, 552.48),
    ] {
        let found = 100.0 * mean(strategy, budget, &lengths, |m| m.mean_batch_padding_rate);
        assert_near(strategy, found, zpr, 0.7);
        let found = mean(strategy, budget, &lengths, |m| m.mean_batch_length);
        assert_near(strategy, found, abl, 6.0);
        let batches = mean(strategy, budget, &lengths, |m| m.batches as f64);
        assert_near(strategy, batches, 655.0, 0.0);
    }
}

/// Paper 2, Table 2: minutes per epoch, which the preset predicts from cells and steps alone. In
/// batches of 16 the steps are the 655 batches times their average length.
#[test]
fn paper_2_minutes_per_epoch() {
    let model = CostModel::preset("paper-2").unwrap();
    let [_, b, c, _] = model.coefficients();
    let lengths = Example::Speech.lengths();
    for (strategy, abl, published) in [
        ("shuffled", 773.82, 32.82),
        ("sorted", 526.43, 20.82),
        ("semi-sorted:noise=0.1", 556.22, 22.98),
    ] {
        let minutes = (b * 655.0 * abl + c * 10_480.0 * abl) / 60.0;
        assert_near(strategy, minutes, published, 0.06 * published);
        // The example's lengths are nearly the paper's, so its plans take nearly as long.
        let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), Budget::sequences(16));
        let minutes = model.epoch_seconds(&planner.plan(&lengths, 0).unwrap()).unwrap() / 60.0;
        assert_near(strategy, minutes, published, 0.06 * published);
    }
    // The same with dynamic sizes, where only the example says what the steps are.
    let budget = Budget::dynamic(16).rule(Rule::Over);
    let plan = Planner::new(SemiSorted { noise: 0.1 }, budget).plan(&lengths, 0).unwrap();
    assert_near("dynamic", model.epoch_seconds(&plan).unwrap() / 60.0, 19.28, 0.06 * 19.28);
}

/// Paper 2, section 4: 606, 449 and 419 batches with dynamic batch sizes, in place of 655. They
/// follow from the rule that lets a batch exceed the capacity by one sequence.
#[test]
fn paper_2_batches_of_dynamic_size() {
    let lengths = Example::Speech.lengths();
    for (strategy, over, printed) in [
        ("shuffled", 606.0, 644.0),
        ("semi-sorted:noise=0.1", 449.0, 462.0),
        ("sorted", 419.0, 437.0),
    ] {
        let batches =
            |rule| mean(strategy, Budget::dynamic(16).rule(rule), &lengths, |m| m.batches as f64);
        assert_near(strategy, batches(Rule::Over), over, 6.0);
        assert_near(strategy, batches(Rule::Printed), printed, 6.0);
    }
}

/// Paper 2, Figures 1 and 3: 48 sequences in batches of 8, and with dynamic sizes.
#[test]
fn paper_2_figures_1_and_3() {
    let speech = Example::Speech.lengths();
    let lengths = Lengths::new(&speech.as_slice()[..48]).unwrap();
    let measures = |strategy: &str, budget| {
        Planner::new(strategy.parse::<Strategy>().unwrap(), budget)
            .plan(&lengths, 0)
            .unwrap()
            .measure(&lengths)
    };
    let all = ["shuffled", "semi-sorted:noise=0.15", "sorted"];
    let fixed = all.map(|strategy| measures(strategy, Budget::sequences(8)));
    let dynamic = all.map(|strategy| measures(strategy, Budget::dynamic(8)));
    assert!(fixed.iter().all(|m| m.batches == 6));
    for pair in fixed.windows(2) {
        assert!(pair[0].mean_batch_padding_rate > pair[1].mean_batch_padding_rate);
        assert!(pair[0].mean_batch_length > pair[1].mean_batch_length);
    }
    // "The room to expand batch size is limited" in random batches, and not in sorted ones.
    assert_eq!(dynamic[0].batches, 6);
    assert!(dynamic[2].batches < 6);
    let capacity = 8 * u64::from(lengths.max());
    assert!(dynamic.iter().all(|m| m.largest_batch_cells <= capacity && m.largest_batch >= 8));
}

/// Paper 2, section 3: the ends of the tuning ranges are sorted and random batching.
#[test]
fn paper_2_tuning_curves_run_from_sorted_to_random() {
    let lengths = Example::Speech.lengths();
    let padding = |strategy: &str| {
        mean(strategy, Budget::sequences(16), &lengths, |m| m.mean_batch_padding_rate)
    };
    let (sorted, shuffled) = (padding("sorted"), padding("shuffled"));
    for (curve, ends) in [
        (["semi-sorted:noise=0", "semi-sorted:noise=0.1", "semi-sorted:noise=100"], true),
        (["bucketed:size=16", "bucketed:size=1024", "bucketed:size=10480"], true),
        (["alternated:bins=1", "alternated:bins=58", "alternated:bins=655"], false),
    ] {
        let [low, middle, high] = curve.map(padding);
        assert_near(curve[0], low, sorted, 1e-3);
        assert!(low < middle && middle < high, "{curve:?}");
        // With a batch a bin, batches still begin and end inside sorted bins of the same size.
        if ends {
            assert_near(curve[2], high, shuffled, 5e-3);
        }
    }
}

/// Paper 2, section 5: preparing the training set anew changes even sorted batches, where lengths
/// are equal.
#[test]
fn paper_2_sorted_batches_change_where_lengths_are_equal() {
    let lengths = Example::Speech.lengths();
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(16));
    let plans: Vec<Plan> = (0..2).map(|epoch| planner.plan(&lengths, epoch).unwrap()).collect();
    let mates = effective_mates(&plans).unwrap();
    assert!(mates > 16.0 && mates < 60.0, "{mates}");
}

/// Paper 1, Figure 1: 1000 sequences in 12 bins rise and fall six times, and neighbours across the
/// end of a bin are of similar length.
#[test]
fn paper_1_figure_1() {
    let speech = Example::Speech.lengths();
    let lengths = Lengths::new(&speech.as_slice()[..1000]).unwrap();
    let planner =
        Planner::new(Alternated { bins: 12 }, Budget::sequences(1)).arrange(Arrange::AsBuilt);
    let plan = planner.plan(&lengths, 0).unwrap();
    let order: Vec<i64> =
        plan.indices().iter().map(|&i| i64::from(lengths.as_slice()[i as usize])).collect();
    let turns = order
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).signum())
        .filter(|&direction| direction != 0)
        .collect::<Vec<_>>()
        .chunk_by(|a, b| a == b)
        .count();
    assert_eq!(turns, 12);
    let largest_step = order.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap();
    assert!(largest_step < 100, "{largest_step}");
}

/// Paper 1, Table 1: pieces of at most 10, 50, 100, 500 frames in batches of 5,000 frames make
/// about as many updates whatever their length, and memory does not grow.
#[test]
fn paper_1_table_1() {
    let lengths = Example::Speech.lengths();
    let mut updates = Vec::new();
    for size in [10, 50, 100, 500, u32::MAX] {
        let chunks = Chunks::new(&lengths, size).unwrap();
        assert_eq!(chunks.lengths().total(), lengths.total());
        let planner = Planner::new(SemiSorted { noise: 0.0 }, Budget::padded(5000));
        let measures = planner.plan(chunks.lengths(), 0).unwrap().measure(chunks.lengths());
        assert!(measures.largest_batch_cells <= 5000);
        updates.push(measures.batches as f64);
        // Every frame of every sequence is in one piece.
        let mut next = vec![0; lengths.len()];
        for piece in (0..chunks.len() as u32).map(|piece| chunks.get(piece).unwrap()) {
            assert!(piece.length <= size);
            assert_eq!(piece.offset, next[piece.sequence as usize]);
            next[piece.sequence as usize] += piece.length;
        }
        assert_eq!(next, lengths.as_slice());
    }
    assert!(updates.iter().all(|n| (n / updates[0] - 1.0).abs() < 0.12), "{updates:?}");
}

/// Paper 3, Figure 2: six buckets, fed from the shortest to the longest, one model shape each.
#[test]
fn paper_3_buckets_and_curriculum() {
    let lengths = Example::Bimodal.lengths();
    let edges = ladder(&lengths, 6);
    assert_eq!(edges.last(), Some(&lengths.max()), "the longest length has a bucket");
    let plan = Planner::new(OptimalBuckets { count: 6 }, Budget::sequences(16))
        .arrange(Arrange::AsBuilt)
        .plan(&lengths, 0)
        .unwrap();
    let bucket = |length: u32| edges.partition_point(|&edge| edge < length);
    let mut last = 0;
    for batch in &plan {
        let buckets: BTreeSet<usize> =
            batch.iter().map(|&i| bucket(lengths.as_slice()[i as usize])).collect();
        assert_eq!(buckets.len(), 1, "a batch is from one bucket");
        let bucket = *buckets.first().unwrap();
        assert!(bucket >= last, "buckets come from short to long");
        last = bucket;
    }
    let shaped = Planner::new(OptimalBuckets { count: 6 }, Budget::sequences(16))
        .shapes(Shapes::Ladder(6))
        .arrange(Arrange::ShortFirst)
        .plan(&lengths, 0)
        .unwrap();
    let found: BTreeSet<u32> = shaped.batch_lengths().iter().copied().collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), edges, "one model shape per bucket");
    assert!(shaped.batch_lengths().is_sorted());
}

/// Note 4: 32 documents in batches of 4. Each batch could have been grown by the note's steps, and
/// batches differ from epoch to epoch.
#[test]
fn note_4_example() {
    let documents = Example::Documents.lengths();
    let lengths = Lengths::new(&documents.as_slice()[..32]).unwrap();
    let planner = Planner::new(Neighbours, Budget::sequences(4)).arrange(Arrange::AsBuilt);
    let mut all = BTreeSet::new();
    for epoch in 0..8 {
        let plan = planner.plan(&lengths, epoch).unwrap();
        assert_eq!(plan.len(), 8);
        let mut unused: Vec<u32> = (0..32).collect();
        for batch in &plan {
            assert_eq!(batch.len(), 4);
            unused.retain(|i| !batch.contains(i));
            // Nothing that is left over lies between the lengths of the batch.
            let of = |i: &u32| lengths.as_slice()[*i as usize];
            let (shortest, longest) =
                (batch.iter().map(of).min().unwrap(), batch.iter().map(of).max().unwrap());
            let between = unused.iter().map(of).filter(|&l| l > shortest && l < longest).count();
            assert_eq!(between, 0);
        }
        let mut batches: Vec<Vec<u32>> = plan.iter().map(<[u32]>::to_vec).collect();
        for batch in &mut batches {
            batch.sort_unstable();
        }
        batches.sort();
        all.insert(batches);
    }
    assert!(all.len() > 4, "batches differ from epoch to epoch");
}
