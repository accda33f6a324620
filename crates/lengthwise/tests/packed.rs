//! What holds for rows that several sequences share.

use std::collections::BTreeSet;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Lengths, OverLong, Plan, Planner, Shapes, Steps,
    Tail,
    custom::{Group, Groups, Purpose, ResolvedBudget, Rng, Row},
    measure::effective_mates,
    strategy::Packed,
};

fn packed(capacity: u32) -> Planner<Packed> {
    Planner::new(Packed::default(), Budget::padded(capacity.into()))
}

/// The empty part of rows that are all as long as the capacity.
fn waste(plan: &Plan, lengths: &Lengths, capacity: u32) -> f64 {
    1.0 - lengths.total() as f64 / (plan.len() as f64 * f64::from(capacity))
}

fn sum(row: &[u32], lengths: &Lengths) -> u32 {
    row.iter().map(|&sequence| lengths.as_slice()[sequence as usize]).sum()
}

#[test]
fn rows_are_nearly_full_and_batch_mates_are_drawn_from_all() {
    for (example, capacity, most) in [
        (Example::Speech, 4096, 0.012),
        (Example::Documents, 16_384, 0.01),
        (Example::Bimodal, 4096, 0.01),
    ] {
        let lengths = example.lengths();
        let plans: Vec<Plan> =
            (0..5).map(|epoch| packed(capacity).plan(&lengths, epoch).unwrap()).collect();
        for plan in &plans {
            assert!(waste(plan, &lengths, capacity) < most, "{example}");
            assert!(plan.measure(&lengths).padding_rate.abs() < 1e-12);
        }
        let mates = effective_mates(&plans).unwrap();
        assert!(mates > 0.9 * lengths.len() as f64, "{example}: {mates}");
    }
}

#[test]
fn a_window_makes_rows_fuller() {
    let lengths = Example::Speech.lengths();
    let rows = |window| {
        let strategy = Packed { window, ..Packed::default() };
        Planner::new(strategy, Budget::padded(2048)).plan(&lengths, 0).unwrap().len()
    };
    assert!(rows(1) > rows(16) && rows(16) > rows(256), "{} {} {}", rows(1), rows(16), rows(256));
}

/// The capacity of the strategy and the budget hold both.
#[test]
fn the_smaller_limit_counts() {
    let lengths = Lengths::new([3; 100]).unwrap();
    let largest = |strategy: &str, budget: &str| {
        let strategy: lengthwise::Strategy = strategy.parse().unwrap();
        let plan = Planner::new(strategy, budget.parse().unwrap()).plan(&lengths, 0).unwrap();
        let measures = plan.measure(&lengths);
        (measures.largest_batch, measures.largest_batch_cells)
    };
    assert_eq!(largest("packed", "padded:31"), (10, 30));
    assert_eq!(largest("packed:capacity=10", "padded:31"), (3, 9));
    assert_eq!(largest("packed:capacity=31", "padded:10"), (3, 9));
    assert_eq!(largest("packed:capacity=31,at-most=2", "padded:31"), (2, 6));
    assert_eq!(largest("packed:capacity=31", "sequences:4"), (4, 12));
    assert_eq!(largest("packed", "padded:31,at-most=7"), (7, 21));
    assert_eq!(largest("packed", "dynamic:5"), (5, 15));
    assert_eq!(largest("packed", "cost:c=1,limit=12"), (4, 12));
    assert_eq!(largest("packed", "sequences:4"), (4, 12));
}

#[test]
fn shapes_round_the_sums_up() {
    let lengths = Example::Documents.lengths();
    let plan =
        |shapes: &str| packed(16_000).shapes(shapes.parse().unwrap()).plan(&lengths, 1).unwrap();
    for (shapes, most) in [
        ("multiple:256", 62),
        ("multiple:16000", 1),
        ("ladder:1", 1),
        ("ladder:4", 4),
        ("ladder:9000/15000", 2),
    ] {
        let plan = plan(shapes);
        let measures = plan.measure(&lengths);
        assert!(measures.shapes <= most, "{shapes}: {}", measures.shapes);
        assert_eq!(measures.cells, plan.batch_lengths().iter().map(|&l| u64::from(l)).sum::<u64>());
        assert!(measures.padding_rate < 0.06, "{shapes}: {}", measures.padding_rate);
        for (row, &length) in plan.iter().zip(plan.batch_lengths()) {
            assert!(sum(row, &lengths) <= length && length <= 16_000);
        }
    }
    // A ladder is the same in every epoch, and better than one rung.
    let planner = packed(16_000).shapes(Shapes::Ladder(4));
    let rungs = planner.rungs(&lengths).unwrap().unwrap();
    assert_eq!((rungs.len(), rungs[3]), (4, 16_000));
    for epoch in 0..5 {
        let plan = planner.plan(&lengths, epoch).unwrap();
        assert!(plan.batch_lengths().iter().all(|length| rungs.contains(length)));
    }
    let rate = |shapes| plan(shapes).measure(&lengths).padding_rate;
    assert!(rate("ladder:4") < rate("ladder:1"));
}

#[test]
fn over_long_sequences_are_treated_as_asked() {
    let lengths = Lengths::new([5, 40, 7, 90, 8]).unwrap();
    let strategy = Packed { capacity: Some(30), ..Packed::default() };
    let planner = |over_long| Planner::new(strategy, Budget::padded(50)).over_long(over_long);
    let plan = |over_long| planner(over_long).plan(&lengths, 0).unwrap();
    let error = planner(OverLong::Error).plan(&lengths, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 1 of length 40 alone takes 40 positions, over the capacity of 30; so does 1 more \
         sequence"
    );
    assert!(error.hint().unwrap().starts_with("raise the capacity to at least 90,"));
    let dropped = plan(OverLong::Drop);
    assert_eq!((dropped.left_out(), dropped.batch_lengths()), (&[1, 3][..], &[20][..]));
    let alone = plan(OverLong::Alone);
    let rows: BTreeSet<(usize, u32)> =
        alone.iter().map(<[u32]>::len).zip(alone.batch_lengths().iter().copied()).collect();
    assert_eq!(rows, BTreeSet::from([(3, 20), (1, 40), (1, 90)]));
    let truncated = plan(OverLong::Truncate);
    assert_eq!(truncated.truncated(), [1, 3]);
    assert_eq!(truncated.measure(&lengths).cells, 20 + 30 + 30);
    assert!(truncated.measure(&lengths).padding_rate.abs() < 1e-12);
    // All of them: each is a row of its own.
    let long = Lengths::new([40, 90]).unwrap();
    let plan = planner(OverLong::Alone).plan(&long, 0).unwrap();
    assert!(plan.is_packed() && plan.len() == 2 && plan.measure(&long).cells == 130);
    let error = planner(OverLong::Drop).plan(&long, 0).unwrap_err();
    assert!(matches!(error, Error::OverCapacity { .. }), "{error}");
    assert!(error.hint().unwrap().starts_with("`drop` leaves nothing to plan"));
}

/// On any number of ranks every sequence is in one row, and no row is longer than the capacity; also
/// where a tail is split, or the number of batches fixed.
#[test]
fn ranks_share_the_rows() {
    let lengths = Example::Documents.lengths();
    for (steps, arrange) in [
        (None, Arrange::Spread),
        (Some(Steps::Aligned), Arrange::Shuffled),
        (Some(Steps::Stratified), Arrange::ShortFirst),
        (Some(Steps::InOrder), Arrange::AsBuilt),
    ] {
        let mut planner = packed(13_000).arrange(arrange);
        if let Some(steps) = steps {
            planner = planner.steps(steps);
        }
        for planner in [planner.clone(), planner.constant_steps(&lengths).unwrap()] {
            let plan = planner.plan(&lengths, 4).unwrap();
            for world_size in [1, 2, 7, 16, 64] {
                let schedule = plan.schedule(world_size).unwrap();
                let all = schedule.all_ranks();
                let mut seen = all.indices().to_vec();
                seen.sort_unstable();
                assert_eq!(seen, (0..lengths.len() as u32).collect::<Vec<_>>());
                for (row, &length) in all.iter().zip(all.batch_lengths()) {
                    assert!(sum(row, &lengths) <= length && length <= 13_000);
                }
                // Only parts of rows are padded.
                let whole = all.iter().zip(all.batch_lengths());
                let padded = whole.filter(|&(row, &length)| sum(row, &lengths) < length).count();
                assert!(padded <= 2 * world_size as usize, "{padded} of {world_size}");
                let most = if world_size <= 16 { 0.03 } else { 0.2 };
                assert!(schedule.idle_share() < most, "{world_size}: {}", schedule.idle_share());
            }
        }
    }
}

#[test]
fn an_epoch_that_stops_goes_on_with_other_ranks() {
    let lengths = Example::Speech.lengths();
    let planner = packed(4096).constant_steps(&lengths).unwrap();
    let plan = planner.plan(&lengths, 2).unwrap();
    let mut seen = vec![0; lengths.len()];
    let mut take = |plan: &Plan| plan.indices().iter().for_each(|&i| seen[i as usize] += 1);
    let first = plan.schedule(8).unwrap();
    let cursor = first.cursor(50).unwrap();
    assert!(cursor.settings.starts_with("strategy=packed budget=padded:4096"));
    take(&first.first(50).unwrap().all_ranks());
    let second = plan.resume(&cursor, 6).unwrap();
    let cursor = second.cursor(20).unwrap();
    take(&second.first(20).unwrap().all_ranks());
    take(&plan.resume(&cursor, 5).unwrap().all_ranks());
    assert!(seen.iter().all(|&times| times == 1));
}

#[test]
fn constant_steps_are_constant() {
    let lengths = Example::Bimodal.lengths();
    let planner = packed(2048).constant_steps(&lengths).unwrap();
    let counts: BTreeSet<usize> =
        (0..12).map(|epoch| planner.plan(&lengths, epoch).unwrap().len()).collect();
    assert_eq!(counts.len(), 1);
    for tail in Tail::ALL {
        let plan = packed(2048).tail(tail).plan(&lengths, 0).unwrap();
        assert!(plan.schedule(7).unwrap().len() >= plan.len() / 7);
    }
}

/// A row takes the time of its sequences, and not that of one sequence as long as all of them.
#[test]
fn time_follows_the_sequences_of_a_row() {
    let lengths = Lengths::new([100; 64]).unwrap();
    let plan = packed(800).plan(&lengths, 0).unwrap();
    let model = CostModel::new(0.0, 0.0, 1.0, 0.01).unwrap();
    let seconds = model.epoch_seconds(&plan).unwrap();
    assert!((seconds - 64.0 * (100.0 + 0.01 * 1e4)).abs() < 1e-6, "{seconds}");
    let schedule = plan.schedule(2).unwrap();
    let duration = schedule.duration_by(&model);
    assert!((duration - seconds / 2.0).abs() < 1e-6);
}

/// A strategy of one's own can pack, and is held to the capacity.
#[test]
fn own_strategies_can_pack() {
    struct Pairs(u32);
    impl Group for Pairs {
        fn row(&self) -> Option<Row> {
            Some(Row { capacity: self.0, at_most: u32::MAX })
        }
        fn group(&self, lengths: &Lengths, _: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
            assert_eq!(rng.epoch(), 0);
            let count = lengths.len() as u32;
            Ok(Groups::new((0..count).collect(), (0..=count).step_by(2).collect())?.packed())
        }
    }
    let lengths = Lengths::new([4, 5, 6, 7]).unwrap();
    let plan = |capacity| {
        Planner::new(Pairs(capacity), Budget::sequences(9))
            .arrange(Arrange::AsBuilt)
            .plan(&lengths, 0)
    };
    let rows = plan(13).unwrap();
    assert!(rows.is_packed());
    assert_eq!(rows.batch_lengths(), [9, 13]);
    assert_eq!(
        plan(12).unwrap_err().to_string(),
        "the strategy's grouping is not valid: a row holds 13 positions of 12"
    );
}

/// Rows stay within their limits whatever the lengths and limits are.
#[test]
fn rows_keep_every_limit() {
    let mut random = Rng::new(6, 0).stream(Purpose::Own(1));
    for epoch in 0..500 {
        let longest = 1 + random.below([9, 300, 70_000][epoch as usize % 3]);
        let lengths: Vec<u32> =
            (0..=random.below(300)).map(|_| 1 + random.below(longest)).collect();
        let lengths = Lengths::new(lengths).unwrap();
        let capacity = lengths.max() * (1 + random.below(9)) + random.below(50);
        let at_most = 1 + random.below(20);
        let window = 1 + random.below(40);
        let strategy = Packed {
            capacity: Some(capacity),
            at_most: Some(at_most),
            window,
            ..Packed::default()
        };
        let planner = Planner::new(strategy, Budget::padded(u64::MAX)).seed(u64::from(at_most));
        let planner =
            if random.below(2) == 0 { planner.constant_steps(&lengths).unwrap() } else { planner };
        let plan = planner.plan(&lengths, epoch).unwrap();
        let mut seen = plan.indices().to_vec();
        seen.sort_unstable();
        assert_eq!(seen, (0..lengths.len() as u32).collect::<Vec<_>>());
        for (row, &length) in plan.iter().zip(plan.batch_lengths()) {
            assert_eq!(sum(row, &lengths), length);
            assert!(length <= capacity && row.len() <= at_most as usize);
        }
    }
}
