//! A thousand shards, each planned by itself, against one plan of all.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use lengthwise::{
    Arrange, Budget, Error, Example, Lengths, OverLong, Plan, Planner, Shapes, Steps, Strategy,
    custom::{Purpose, Rng},
    measure::effective_mates,
    shard::{Shard, Statistics},
    strategy::{Blurred, Shuffled},
    tune::batches_only,
};

const SHARDS: u32 = 1000;
const BUDGET: u64 = 16_384;

/// A corpus like the documents, but larger.
fn corpus(count: u32) -> Vec<u32> {
    let some = Example::Documents.lengths();
    let mut random = Rng::new(77, 0).stream(Purpose::Own(0));
    let one = |_| some.as_slice()[random.below(some.len() as u32) as usize].min(2000);
    (0..count).map(one).collect()
}

/// How a corpus is cut into shards.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// At random.
    Random,
    /// Pieces of a corpus in which like lengths are near each other.
    Drifting,
    /// Pieces of a sorted corpus, the worst that can be.
    Sorted,
    /// At random, and some shards are up to ten times as large as others.
    Unequal,
}

/// Shards of about the same total length, unless they are to be unequal.
fn cut(mut corpus: Vec<u32>, cut: Cut, count: u32) -> Vec<Lengths> {
    let total: u64 = corpus.iter().map(|&length| u64::from(length)).sum();
    let share = |shard: u32| match cut {
        Cut::Unequal => 1.0 + 9.0 * f64::from(shard) / f64::from(count - 1),
        _ => 1.0,
    };
    let all: f64 = (0..count).map(share).sum();
    match cut {
        Cut::Drifting => {
            let mut random = Rng::new(78, 0).stream(Purpose::Own(0));
            corpus.sort_by_cached_key(|&length| length * (1 + random.below(50)));
        }
        Cut::Sorted => corpus.sort_unstable(),
        Cut::Random | Cut::Unequal => {}
    }
    let (mut shards, mut start) = (Vec::new(), 0);
    let (mut due, mut sum) = (0.0, 0);
    for shard in 0..count {
        due += total as f64 * share(shard) / all;
        let mut end = start;
        while end < corpus.len() && (end == start || (sum as f64) < due || shard + 1 == count) {
            sum += u64::from(corpus[end]);
            end += 1;
        }
        shards.push(Lengths::new(&corpus[start..end]).unwrap());
        start = end;
    }
    assert_eq!(start, corpus.len());
    shards
}

/// Statistics from all shards, and the shards as parts of them with what they need.
fn gathered(shards: &[Lengths], planner: &Planner<Strategy>) -> Vec<Lengths> {
    let merged = |parts: Vec<Statistics>| {
        parts.into_iter().reduce(|one, other| one.merge(&other).unwrap()).unwrap()
    };
    let all = Arc::new(merged(shards.iter().map(Statistics::of).collect()));
    let of = shards.len() as u32;
    let needs = (0..).zip(shards).map(|(number, shard)| {
        let part = shard.clone().part_of(Arc::clone(&all)).unwrap();
        planner.clone().shard(Shard { number, of }).needs(&part).unwrap()
    });
    let all = Arc::new(all.merge(&merged(needs.collect())).unwrap());
    assert_eq!(all.needs().unwrap().counted(), of);
    shards.iter().map(|shard| shard.clone().part_of(Arc::clone(&all)).unwrap()).collect()
}

fn plans(parts: &[Lengths], planner: &Planner<Strategy>, epoch: u64) -> Vec<Plan> {
    let of = parts.len() as u32;
    (0..)
        .zip(parts)
        .map(|(number, part)| {
            planner.clone().shard(Shard { number, of }).plan(part, epoch).unwrap()
        })
        .collect()
}

/// The share of their time that shards wait, if time follows cells.
fn idle(plans: &[Plan]) -> f64 {
    let steps = plans.iter().map(Plan::len).max().unwrap();
    let cells: Vec<Vec<f64>> = plans
        .iter()
        .map(|plan| {
            plan.shapes().map(|(size, length)| f64::from(size) * f64::from(length)).collect()
        })
        .collect();
    let at = |shard: &Vec<f64>, step: usize| shard.get(step).copied().unwrap_or(0.0);
    let slowest: f64 =
        (0..steps).map(|step| cells.iter().map(|of| at(of, step)).fold(0.0, f64::max)).sum();
    1.0 - cells.iter().flatten().sum::<f64>() / (slowest * plans.len() as f64)
}

/// Each sequence of each shard once, within the budget, and as many batches on every shard.
fn check(parts: &[Lengths], plans: &[Plan]) {
    for (part, plan) in parts.iter().zip(plans) {
        let mut met = plan.indices().to_vec();
        met.sort_unstable();
        assert_eq!(met, (0..part.len() as u32).collect::<Vec<_>>());
        assert_eq!(plan.len(), plans[0].len());
        for (batch, &length) in plan.iter().zip(plan.batch_lengths()) {
            assert!(plan.provenance().admits(batch, length, part));
            assert!(
                plan.is_packed() || batch.iter().all(|&at| part.as_slice()[at as usize] <= length)
            );
        }
    }
}

#[test]
fn a_thousand_shards_keep_all_promises_and_wait_little() {
    let corpus = corpus(300 * SHARDS);
    let all = Lengths::new(corpus.clone()).unwrap();
    let planner =
        Planner::new(Strategy::from(Shuffled), Budget::padded(BUDGET)).shapes(Shapes::Ladder(8));
    let one = planner.plan(&all, 0).unwrap();
    let rungs = planner.rungs(&all).unwrap().unwrap();
    let one_rate = one.measure(&all).padding_rate;
    for (way, most_padding, most_idle) in [
        (Cut::Random, 0.01, 0.25),
        (Cut::Drifting, 0.01, 0.6),
        (Cut::Unequal, 0.01, 0.7),
        (Cut::Sorted, 0.02, 1.0),
    ] {
        let shards = cut(corpus.clone(), way, SHARDS);
        let parts = gathered(&shards, &planner);
        let made = plans(&parts, &planner, 0);
        check(&parts, &made);
        for (part, plan) in parts.iter().zip(&made) {
            assert_eq!(planner.rungs(part).unwrap().unwrap(), rungs);
            assert!(plan.batch_lengths().iter().all(|length| rungs.contains(length)));
        }
        let cells: u64 = parts.iter().zip(&made).map(|(part, plan)| plan.measure(part).cells).sum();
        let rate = 1.0 - all.total() as f64 / cells as f64;
        let waiting = idle(&made);
        assert!(rate < one_rate + most_padding, "{way:?}: {rate} against {one_rate}");
        assert!(waiting < most_idle, "{way:?}: {waiting}");
        if way == Cut::Random {
            // Shards that know nothing of each other have other rungs, and wait longer.
            let alone: Vec<Plan> =
                shards.iter().map(|shard| planner.plan(shard, 0).unwrap()).collect();
            assert!(waiting < 0.6 * idle(&alone), "{waiting} against {}", idle(&alone));
        }
    }
}

/// Of every strategy with a fixed number of batches, in the next epoch too, and never the same.
#[test]
fn every_strategy_and_shape_keeps_in_step() {
    let (shards, of) = (&cut(corpus(6000), Cut::Random, 12), 12);
    for strategy in Strategy::all_of_one_length().into_iter().filter(|it| !it.makes_steps()) {
        for shapes in ["exact", "multiple:64", "ladder:6"] {
            for budget in ["padded:16384", "sequences:16,multiple-of=4", "dynamic:8"] {
                let planner = Planner::new(strategy.clone(), budget.parse().unwrap())
                    .shapes(shapes.parse().unwrap())
                    .seed(5);
                let parts = gathered(shards, &planner);
                let epochs = [0, 1, 9].map(|epoch| plans(&parts, &planner, epoch));
                for epoch in &epochs {
                    check(&parts, epoch);
                }
                assert_ne!(epochs[0], epochs[1], "{strategy} {shapes} {budget}");
                let steps = epochs.each_ref().map(|epoch| epoch[0].len());
                assert_eq!(steps, [steps[0]; 3]);
                let ways: Vec<Steps> =
                    epochs[0].iter().map(|plan| plan.provenance().steps).collect();
                assert_eq!(ways, vec![ways[0]; of]);
            }
        }
    }
}

/// A part that is the whole is planned as the whole, to the bit.
#[test]
fn the_whole_as_a_part_of_itself_has_the_same_plan() {
    for example in Example::ALL {
        let lengths = Lengths::new(&example.lengths().as_slice()[..5000]).unwrap();
        let part = lengths.clone().part_of(Statistics::of(&lengths).into()).unwrap();
        for strategy in Strategy::all_of_one_length().into_iter().filter(|it| !it.makes_steps()) {
            for shapes in ["exact", "multiple:64", "ladder:6"] {
                for budget in
                    ["padded:6000", "sequences:16", "dynamic:8", "cost:encoder,limit=0.05"]
                {
                    let planner = Planner::new(strategy.clone(), budget.parse().unwrap())
                        .shapes(shapes.parse().unwrap())
                        .over_long(OverLong::Truncate);
                    // The rungs of rows follow from a sample in another order.
                    if strategy.name() == "packed" && shapes == "ladder:6" {
                        continue;
                    }
                    let [one, other] = [&lengths, &part].map(|of| planner.plan(of, 3).unwrap());
                    assert_eq!(one, other, "{example} {strategy} {shapes} {budget}");
                    assert_eq!(one.provenance().steps, other.provenance().steps);
                }
            }
        }
        let budget = Budget::padded(9000);
        let [one, other] =
            [&lengths, &part].map(|of| batches_only(of, budget, None, None).unwrap());
        assert_eq!(one, other);
    }
}

/// Two shards of the same lengths are not planned alike; the same shard is, anywhere.
#[test]
fn shards_have_randomness_of_their_own() {
    let shard = Lengths::new(corpus(500)).unwrap();
    let planner = Planner::new(Strategy::from(Blurred::default()), Budget::padded(BUDGET));
    let parts = gathered(&[shard.clone(), shard], &planner);
    let made = plans(&parts, &planner, 0);
    assert_ne!(made[0], made[1]);
    assert_eq!(made, plans(&parts, &planner, 0));
    // Another seed needs no other count.
    check(&parts, &plans(&parts, &planner.clone().seed(8), 0));
}

/// Ranks of a node share its shard, and all nodes take as many steps.
#[test]
fn several_ranks_for_each_shard_keep_in_step() {
    let shards = cut(corpus(100_000), Cut::Random, 40);
    let planner =
        Planner::new(Strategy::from(Shuffled), Budget::sequences(16)).shapes(Shapes::Ladder(4));
    let parts = gathered(&shards, &planner);
    let made = plans(&parts, &planner, 2);
    let schedules: Vec<_> = made.iter().map(|plan| plan.schedule(3).unwrap()).collect();
    for (part, schedule) in parts.iter().zip(&schedules) {
        assert_eq!(schedule.len(), schedules[0].len());
        let met: u64 = schedule.counts(part).iter().map(|step| step.sequences).sum();
        assert_eq!(met, part.len() as u64);
    }
    let ranks: Vec<Plan> =
        schedules.iter().flat_map(|of| (0..3).map(|rank| of.for_rank(rank).unwrap())).collect();
    let mut shuffled = ranks.clone();
    for (shift, plan) in shuffled.iter_mut().enumerate() {
        let order: Vec<usize> = (0..plan.len()).map(|at| (at + shift) % plan.len()).collect();
        let batches: Vec<&[u32]> = order.iter().map(|&at| plan.get(at).unwrap()).collect();
        let mut end = 0;
        let ends = batches.iter().map(|batch| {
            end += batch.len() as u32;
            end
        });
        let lengths = order.iter().map(|&at| plan.batch_lengths()[at]).collect();
        *plan = Plan::restore(
            plan.provenance().clone(),
            batches.concat(),
            ends.collect(),
            lengths,
            Vec::new(),
        )
        .unwrap();
    }
    assert!(idle(&ranks) < 0.8 * idle(&shuffled), "{} {}", idle(&ranks), idle(&shuffled));

    // And the epoch goes on after any step.
    let cursor = schedules[7].cursor(2).unwrap();
    let rest = made[7].resume(&cursor, 3).unwrap();
    assert_eq!(rest.len(), schedules[7].len() - 2);
    assert!(matches!(made[8].resume(&cursor, 3), Err(Error::OtherRun { .. })));
}

/// Batch-mates come from the shard, and mix as in a plan of it alone.
#[test]
fn company_is_that_of_the_shard() {
    let shards = cut(corpus(2400), Cut::Random, 8);
    let planner = Planner::new(Strategy::from(Blurred { blur: 0.1 }), Budget::padded(BUDGET));
    let parts = gathered(&shards, &planner);
    let epochs: Vec<Vec<Plan>> = (0..10).map(|epoch| plans(&parts, &planner, epoch)).collect();
    let of_shard: Vec<Plan> = epochs.iter().map(|epoch| epoch[3].clone()).collect();
    let alone: Vec<Plan> = (0..10).map(|epoch| planner.plan(&shards[3], epoch).unwrap()).collect();
    let [mates, without] = [&of_shard, &alone].map(|plans| effective_mates(plans).unwrap());
    assert!((mates / without - 1.0).abs() < 0.25, "{mates} {without}");
}

#[test]
fn over_long_sequences_are_known_to_all_shards() {
    let shards = [vec![5; 40], vec![900; 3], vec![7; 50]].map(|one| Lengths::new(one).unwrap());
    let all = shards.iter().map(Statistics::of).reduce(|a, b| a.merge(&b).unwrap()).unwrap();
    let all = Arc::new(all);
    let part = |shard: usize| shards[shard].clone().part_of(Arc::clone(&all)).unwrap();
    let planner =
        Planner::new(Strategy::from(Shuffled), Budget::padded(100)).shapes(Shapes::Ladder(2));
    let needs = |shard: usize, over_long| {
        let shard = (part(shard), Shard { number: shard as u32, of: 3 });
        planner.clone().over_long(over_long).shard(shard.1).needs(&shard.0)
    };
    assert!(matches!(
        needs(0, OverLong::Error),
        Err(Error::OverLongElsewhere { longest: 900, .. })
    ));
    assert!(matches!(needs(1, OverLong::Error), Err(Error::OverBudget { index: 0, .. })));
    assert!(needs(1, OverLong::Alone).is_ok());
    for (over_long, rungs) in [(OverLong::Alone, [5, 7]), (OverLong::Truncate, [7, 100])] {
        let planner = planner.clone().over_long(over_long);
        for shard in 0..3 {
            if shard != 1 || over_long == OverLong::Truncate {
                assert_eq!(planner.rungs(&part(shard)).unwrap().unwrap(), rungs);
            }
        }
    }
    let rungs = planner.shapes(Shapes::Rungs(vec![10, 50])).over_long(OverLong::Error);
    assert!(rungs.rungs(&part(0)).is_err());
}

/// Other data, planned with the statistics of a corpus whose longest are over-long.
#[test]
fn lengths_between_what_is_known_and_what_fits_are_refused() {
    let of = |lengths: &[u32]| Lengths::new(lengths).unwrap();
    let part =
        |corpus: &[u32]| of(&[30, 80]).part_of(Arc::new(Statistics::of(&of(corpus)))).unwrap();
    for strategy in Strategy::all_of_one_length().into_iter().filter(|it| !it.makes_steps()) {
        for over_long in [OverLong::Alone, OverLong::Drop, OverLong::Truncate] {
            for shapes in [Shapes::Ladder(3), Shapes::Exact] {
                let planner =
                    Planner::new(strategy.clone(), Budget::padded(100)).over_long(over_long);
                let planner = planner.shapes(shapes);
                let (some, none) = (part(&[20, 50, 50, 500]), part(&[500, 500]));
                if over_long == OverLong::Truncate {
                    assert!([some, none].iter().all(|part| planner.plan(part, 0).is_ok()));
                    continue;
                }
                let error = planner.plan(&some, 0).unwrap_err();
                let what = "sequence 1 of length 80 is not over-long, but longer than 50";
                assert!(error.to_string().contains(what), "{error}");
                let error = planner.plan(&none, 0).unwrap_err();
                assert!(error.to_string().ends_with("all their lengths are over-long"));
            }
        }
    }
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let [one, other] = [[5_u32; 30], [9; 30]].map(|part| Lengths::new(part).unwrap());
    let known = Arc::new(Statistics::of(&one));
    let error = other.clone().part_of(Arc::clone(&known)).unwrap_err();
    assert_eq!(error, Error::BeyondStatistics { index: 0, length: 9, longest: 5 });
    let all = Arc::new(known.merge(&Statistics::of(&other)).unwrap());
    let planner = Planner::new(Strategy::from(Shuffled), Budget::sequences(4));
    let [first, second] = [0, 1].map(|number| planner.clone().shard(Shard { number, of: 2 }));
    let part = |all: &Arc<Statistics>| one.clone().part_of(Arc::clone(all)).unwrap();
    assert_eq!(first.plan(&one, 0), Err(Error::NoStatistics));
    assert_eq!(planner.needs(&part(&all)), Err(Error::NoShard));
    assert!(matches!(first.plan(&part(&all), 0), Err(Error::NotCounted { counted: 0, .. })));

    let needs = first.needs(&part(&all)).unwrap();
    assert!(one.clone().part_of(needs.clone().into()).is_err());
    assert_eq!(needs.merge(&needs), Err(Error::CountedTwice { shard: 0 }));
    let half = Arc::new(all.merge(&needs).unwrap());
    let missing = Error::NotCounted { counted: 1, first: 1, of: 2 };
    assert_eq!(first.plan(&part(&half), 0), Err(missing));

    let rest = second.needs(&other.clone().part_of(Arc::clone(&all)).unwrap()).unwrap();
    let whole = Arc::new(half.merge(&rest).unwrap());
    assert_eq!(whole, Arc::new(rest.merge(&needs).unwrap().merge(&all).unwrap()));
    assert_eq!(first.plan(&part(&whole), 0).unwrap().len(), 8);
    let other_budget = Planner::new(Strategy::from(Shuffled), Budget::sequences(5));
    let error = other_budget.shard(Shard { number: 0, of: 2 }).plan(&part(&whole), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the needs of the shards were counted with budget `sequences:4`, now it is `sequences:5`"
    );
    let grown = Arc::new(whole.merge(&Statistics::of(&other)).unwrap());
    assert!(
        matches!(first.plan(&part(&grown), 0), Err(Error::OtherNeeds { what, .. }) if what == "statistics")
    );
    let of_many = |lengths: &[u32]| Lengths::new(lengths).unwrap();
    let small = of_many(&[5, 5]).part_of(Arc::clone(&whole)).unwrap();
    assert!(matches!(
        first.plan(&small, 0),
        Err(Error::SmallShard { sequences: 2, batches: 8, .. })
    ));
    let grown = of_many(&[5; 60]).part_of(Arc::clone(&whole)).unwrap();
    let error = first.plan(&grown, 0).unwrap_err();
    assert!(matches!(error, Error::OtherNeeds { what, .. } if what == "batches"));

    // Those that are dropped make no batches.
    let long: Vec<u32> = [vec![500; 20], vec![5, 6]].concat();
    let shards = [of_many(&long), of_many(&(41..=60).collect::<Vec<u32>>())];
    let planner = Planner::new(Strategy::from(Shuffled), Budget::padded(100));
    let planner = planner.over_long(OverLong::Drop);
    let parts = gathered(&shards, &planner);
    let error = planner.shard(Shard { number: 0, of: 2 }).plan(&parts[0], 0).unwrap_err();
    assert!(matches!(error, Error::SmallShard { sequences: 2, .. }), "{error}");
    assert!(Shard::new(2, 2).is_err());
}

/// More distinct lengths than are kept as they are: ladders of class ends hold every sequence.
#[test]
fn classes_hold_every_sequence() {
    let shards: Vec<Lengths> = (0..4)
        .map(|shard| {
            let mut random = Rng::new(3, shard).stream(Purpose::Own(1));
            Lengths::new((0..25_000).map(|_| 1 + random.below(3_000_000)).collect::<Vec<_>>())
                .unwrap()
        })
        .collect();
    for shapes in ["ladder:12", "exact"] {
        for strategy in
            ["shuffled", "blurred", "semi-sorted", "optimal-buckets", "packed:capacity=4000000"]
        {
            let planner =
                Planner::new(strategy.parse::<Strategy>().unwrap(), Budget::padded(12_000_000))
                    .shapes(shapes.parse().unwrap());
            let parts = gathered(&shards, &planner);
            assert!(!parts[0].statistics().unwrap().is_exact());
            let made = plans(&parts, &planner, 0);
            check(&parts, &made);
        }
    }
}

#[test]
fn arrangements_hold_for_shards() {
    let shards = cut(corpus(2000), Cut::Random, 5);
    for arrange in Arrange::ALL {
        let planner = Planner::new(Strategy::from(Blurred::default()), Budget::padded(BUDGET))
            .arrange(arrange);
        let parts = gathered(&shards, &planner);
        let made = plans(&parts, &planner, 1);
        check(&parts, &made);
        for plan in &made {
            match arrange {
                Arrange::ShortFirst => assert!(plan.batch_lengths().is_sorted()),
                Arrange::LongFirst => {
                    let cells: Vec<u64> =
                        plan.shapes().map(|(a, b)| u64::from(a) * u64::from(b)).collect();
                    assert_eq!(cells[0], *cells.iter().max().unwrap());
                }
                _ => {}
            }
        }
    }
}
