//! Sequences of two lengths.

#![expect(clippy::unwrap_used, clippy::float_cmp, reason = "a test may panic, and rates are exact")]

use crate::common::of_batches;
use lengthwise::{
    Arrange, Budget, Chunks, Error, Lengths, OverLong, Pairs, Plan, Planner, Shapes, Sides,
    Strategy, Tail, Workspace,
    custom::{Group, Groups, Purpose, ResolvedBudget, Rng},
    measure::mate_repeat_rate,
    shard::{Shard, Statistics},
    strategy::{Packed, Paired},
    stream::Streamer,
    tune::{Model, Wanted, recommend},
};

/// Like speech recognition: 100 to 2,000 frames, and a token for every 8 to 16 of them.
fn speech(count: u32) -> Pairs {
    let mut stream = Rng::new(5, 0).stream(Purpose::Own(1));
    let mut uniform = move || f64::from(stream.next_u32()) / 4_294_967_296.0;
    let (mut frames, mut tokens) = (Vec::new(), Vec::new());
    for _ in 0..count {
        // The product of several uniform numbers is log-normal enough.
        let bent: f64 = (0..4).map(|_| 0.6 + 0.8 * uniform()).product();
        let own = (600.0 * bent).clamp(100.0, 2000.0);
        frames.push(own as u32);
        tokens.push((own / (8.0 + 8.0 * uniform()) + 4.0 * uniform()) as u32);
    }
    Pairs::new(Lengths::new(frames).unwrap(), Lengths::new(tokens).unwrap()).unwrap()
}

fn small() -> Pairs {
    let mut stream = Rng::new(6, 0).stream(Purpose::Own(2));
    let [first, second] = [60, 25].map(|most| {
        let lengths = (0..300).map(|_| 1 + stream.below(most)).collect::<Vec<u32>>();
        Lengths::new(lengths).unwrap()
    });
    Pairs::new(first, second).unwrap()
}

/// fairseq's order: by source, then by target, then at random, and the same in every epoch.
struct Lexicographic;

impl Group for Lexicographic {
    fn group(&self, lengths: &Lengths, _: &ResolvedBudget, _: &Rng) -> Result<Groups, Error> {
        let second = lengths.second().unwrap().as_slice();
        let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
        order.sort_by_key(|&at| (lengths.as_slice()[at as usize], second[at as usize]));
        let count = order.len() as u32;
        Groups::new(order, vec![count])
    }
}

fn sides(text: &str) -> Budget {
    text.parse().unwrap()
}

/// Every sequence is there once, both batch lengths cover their sequences, and no limit is exceeded.
fn check(plan: &Plan, pairs: &Pairs, limits: &Sides, what: &str) {
    let mut seen = vec![false; pairs.len()];
    let seconds = plan.second_batch_lengths().unwrap();
    let [first, second] = [pairs.as_slice(), pairs.second().unwrap().as_slice()];
    assert_eq!(seconds.len(), plan.len(), "{what}");
    for (at, batch) in plan.iter().enumerate() {
        let (a, b) = (u64::from(plan.batch_lengths()[at]), u64::from(seconds[at]));
        let size = batch.len() as u64;
        for &sequence in batch {
            let sequence = sequence as usize;
            assert!(!std::mem::replace(&mut seen[sequence], true), "{what}: {sequence} twice");
            assert!(u64::from(first[sequence]) <= a && u64::from(second[sequence]) <= b, "{what}");
        }
        let within =
            |limit: Option<u64>, length: u64| limit.is_none_or(|most| size * length <= most);
        assert!(within(limits.sum, a + b), "{what}: batch {at}");
        assert!(within(limits.first, a) && within(limits.second, b), "{what}: batch {at}");
        assert!(within(limits.max, a.max(b)), "{what}: batch {at}");
        let pair = (plan.batch_lengths()[at], seconds[at]);
        assert!(plan.provenance().admits_pair(batch, pair, pairs), "{what}: batch {at}");
    }
    assert!(seen.iter().all(|&seen| seen), "{what}");
}

/// `ladder:K` is at most K pairs of batch lengths, under every strategy: also where batches are cut
/// from an order, and would have the longest of both.
#[test]
fn a_ladder_has_no_more_pairs_than_asked_for() {
    let strategies: Vec<Strategy> = of_batches().chain([Paired::default().into()]).collect();
    let rotating = "rotating:epochs=3".parse::<Strategy>().unwrap();
    for epoch in 0..150 {
        let mut random = Rng::new(8, epoch).stream(Purpose::Own(3));
        let count = 10 + random.below(150);
        let [first, second] = [300, 100].map(|most| {
            let most = 2 + random.below(most);
            let lengths = (0..count).map(|_| 1 + random.below(most)).collect::<Vec<u32>>();
            Lengths::new(lengths).unwrap()
        });
        let pairs = Pairs::new(first, second).unwrap();
        for most in [1, 2, 3, 6, 10] {
            let other = &strategies[random.below(strategies.len() as u32) as usize];
            for strategy in [&rotating, other] {
                let planner = Planner::new(strategy.clone(), Budget::sequences(8));
                let plan = planner.shapes(Shapes::Ladder(most)).plan(&pairs, epoch).unwrap();
                let seconds = plan.second_batch_lengths().unwrap();
                let shapes: std::collections::BTreeSet<(u32, u32)> =
                    plan.batch_lengths().iter().copied().zip(seconds.iter().copied()).collect();
                assert!(shapes.len() <= most as usize, "{strategy} {epoch} {most}: {shapes:?}");
                check(&plan, &pairs, &Sides::default(), "a ladder");
            }
        }
    }
}

#[test]
fn budgets_on_both_sides_are_hard_for_every_strategy_and_shape() {
    let pairs = small();
    let none = Sides::default();
    for limits in [
        Sides { sum: Some(300), ..none },
        Sides { max: Some(200), ..none },
        Sides { first: Some(240), second: Some(90), ..none },
        Sides { second: Some(70), ..none },
        Sides { sum: Some(400), first: Some(300), second: Some(120), max: Some(290) },
    ] {
        for budget in [
            Budget::sides(limits),
            Budget::sides(limits).at_most(5),
            Budget::sides(limits).multiple_of(4),
        ] {
            for shapes in ["exact", "multiple:8", "ladder:6", "exact+ladder:3", "ladder:4+ladder:2"]
            {
                for strategy in of_batches().chain([Paired::default().into()]) {
                    let what = format!("{strategy} {budget} {shapes}");
                    let planner = Planner::new(strategy, budget).shapes(shapes.parse().unwrap());
                    for epoch in 0..2 {
                        let plan = planner.plan(&pairs, epoch).unwrap();
                        check(&plan, &pairs, &limits, &what);
                        if budget != Budget::sides(limits) && what.contains("at-most") {
                            assert!(plan.iter().all(|batch| batch.len() <= 5), "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn other_budgets_take_both_lengths_together() {
    let pairs = small();
    let longest = u64::from(pairs.max()) + u64::from(pairs.second().unwrap().max());
    for (budget, most) in [("dynamic:3", 3 * longest), ("cost:c=1,limit=500", 500)] {
        let plan = Planner::new(Paired::default(), sides(budget)).plan(&pairs, 0).unwrap();
        check(&plan, &pairs, &Sides { sum: Some(most), ..Sides::default() }, budget);
    }
    let plan = Planner::new(Paired::default(), Budget::sequences(7)).plan(&pairs, 0).unwrap();
    assert!(plan.iter().all(|batch| batch.len() <= 7));
}

#[test]
fn padding_is_at_most_half_of_the_lexicographic_order() {
    let pairs = speech(20_000);
    for budget in ["padded:20000", "padded:max=20000", "padded:first=20000,second=2000"] {
        let budget = sides(budget);
        let frozen = Planner::new(Lexicographic, budget).plan(&pairs, 0).unwrap();
        let planner = Planner::new(Paired::default(), budget);
        let fresh: Vec<Plan> = (0..2).map(|epoch| planner.plan(&pairs, epoch).unwrap()).collect();
        let [before, after] = [&frozen, &fresh[0]].map(|plan| plan.measure(&pairs).padding_rate);
        assert!(after <= 0.5 * before, "{budget}: {after} of {before}");
        // And batch-mates change from epoch to epoch.
        let again = mate_repeat_rate(&fresh[0], &fresh[1]).unwrap();
        let always = mate_repeat_rate(&frozen, &frozen).unwrap();
        assert!(again < 0.5 * always, "{budget}: {again} of {always}");
    }
}

/// Where the second length follows from the first, noise costs no more than elsewhere.
#[test]
fn second_lengths_without_a_spread_of_their_own_pad_little() {
    let first: Vec<u32> = speech(20_000).as_slice().iter().map(|frames| frames / 8).collect();
    for (what, second) in [
        ("equal", (|length| length) as fn(u32) -> u32),
        ("half", |length| 1 + length / 2),
        ("constant", |_| 40),
        ("far apart", |length| 160 * length),
    ] {
        let [long, short]: [Vec<u32>; 2] =
            [first.iter().map(|&length| second(length)).collect(), first.clone()];
        let [long, short] = [long, short].map(|lengths| Lengths::new(lengths).unwrap());
        let cells = 40 * (long.mean() + short.mean()) as u64 + u64::from(long.max());
        let pairs = Pairs::new(long, short).unwrap();
        let padding = |blur| {
            let planner = Planner::new(Paired { blur, stripes: None }, Budget::padded(cells));
            planner.plan(&pairs, 0).unwrap().measure(&pairs).padding_rate
        };
        let [without, usual] = [0.0, Paired::default().blur].map(padding);
        assert!(usual < 2.0 * without + 0.005, "{what}: {usual} against {without}");
    }
}

#[test]
fn more_spread_pads_more_and_is_fresher() {
    let pairs = speech(20_000);
    let mut before = (0.0, f64::INFINITY);
    for blur in [0.0, 0.25, 1.0, 4.0] {
        let planner = Planner::new(Paired { blur, stripes: None }, Budget::padded(20_000));
        let plans = [0, 1].map(|epoch| planner.plan(&pairs, epoch).unwrap());
        let now = (
            plans[0].measure(&pairs).padding_rate,
            mate_repeat_rate(&plans[0], &plans[1]).unwrap(),
        );
        assert!(now.0 > before.0 && now.1 < before.1, "{blur}: {now:?} after {before:?}");
        before = now;
    }
}

#[test]
fn stripes_are_found_that_pad_no_more_than_others() {
    let pairs = speech(20_000);
    let padding = |stripes: Option<u32>| {
        let planner = Planner::new(Paired { blur: 0.0, stripes }, Budget::padded(20_000));
        planner.plan(&pairs, 0).unwrap().measure(&pairs).padding_rate
    };
    let found = padding(None);
    for stripes in [1, 4, 10, 20, 30, 40, 60, 90, 200, 1000, u32::MAX] {
        assert!(found < 1.05 * padding(Some(stripes)), "{stripes} stripes");
    }
}

#[test]
fn ladders_have_no_more_shapes_than_asked_for() {
    let pairs = speech(20_000);
    let mut padding = 1.0;
    for count in [1, 4, 16, 64] {
        let planner =
            Planner::new(Paired::default(), Budget::padded(40_000)).shapes(Shapes::Ladder(count));
        let all: Vec<_> = (0..3)
            .map(|epoch| {
                let plan = planner.plan(&pairs, epoch).unwrap();
                let seconds = plan.second_batch_lengths().unwrap();
                let mut lengths: Vec<(usize, u32, u32)> = (0..plan.len())
                    .map(|at| (plan.get(at).unwrap().len(), plan.batch_lengths()[at], seconds[at]))
                    .collect();
                lengths.sort_unstable();
                (lengths, plan.measure(&pairs))
            })
            .collect();
        // Sizes too are the same in every epoch.
        assert!(all.iter().all(|(lengths, _)| *lengths == all[0].0), "{count}");
        let mut shapes: Vec<_> = all[0].0.iter().map(|&(_, a, b)| (a, b)).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert!(shapes.len() <= count as usize, "{count}");
        assert!(all[0].1.shapes <= 2 * u64::from(count), "{count}");
        assert!(all[0].1.padding_rate < padding, "{count}");
        padding = all[0].1.padding_rate;
    }
}

#[test]
fn plans_are_the_same_on_every_machine() {
    let pairs = speech(3000);
    let mut digests = Vec::new();
    for (strategy, budget, shapes) in [
        ("paired", "padded:20000", "exact"),
        ("paired:blur=0", "padded:max=20000", "multiple:8"),
        ("paired:stripes=12", "padded:first=20000,second=2000", "ladder:12"),
        ("blurred", "padded:20000", "ladder:4+exact"),
    ] {
        let strategy: Strategy = strategy.parse().unwrap();
        let planner = Planner::new(strategy, sides(budget)).shapes(shapes.parse().unwrap());
        digests.push(format!("{:016x}", planner.plan(&pairs, 3).unwrap().digest()));
    }
    assert_ne!(pairs.digest(), Lengths::new(pairs.as_slice()).unwrap().digest());
    expect_test::expect!["3eb55af38f601912 393faefb21f1f089 c0e62d291904ebdc f01c5dd3bad1123f"]
        .assert_eq(&digests.join(" "));
}

#[test]
fn over_long_pairs_are_treated_as_asked() {
    let [first, second] = [[50, 900, 40, 30], [9, 8, 200, 7]].map(|l| Lengths::new(l).unwrap());
    let pairs = Pairs::new(first, second).unwrap();
    let budget = sides("padded:first=100,second=50");
    let planner = Planner::new(Paired::default(), budget);
    let error = planner.plan(&pairs, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 1 has lengths 900 and 8, and alone takes 900 cells of the first, more than the \
         budget of 100; so does 1 more sequence"
    );
    assert!(matches!(error, Error::OverBudgetPair { side: "first", count: 2, .. }));
    let plan = |treatment| planner.clone().over_long(treatment).plan(&pairs, 0).unwrap();
    assert_eq!(plan(OverLong::Drop).left_out(), [1, 2]);
    let alone = plan(OverLong::Alone);
    assert_eq!(alone.indices().len(), 4);
    assert!(alone.second_batch_lengths().unwrap().contains(&200));
    let cut = plan(OverLong::Truncate);
    assert_eq!(cut.truncated(), [1, 2]);
    assert!(cut.batch_lengths().iter().all(|&length| length <= 100));
    assert!(cut.second_batch_lengths().unwrap().iter().all(|&length| length <= 50));
    // Of a sum the first is cut, and where the second leaves nothing that is said.
    let sum = Planner::new(Paired::default(), Budget::padded(100)).over_long(OverLong::Truncate);
    let error = sum.plan(&pairs, 0).unwrap_err();
    assert!(error.hint().unwrap().contains("leaves nothing"), "{error}");
}

#[test]
fn what_needs_two_lengths_says_so() {
    let one = Lengths::new([5, 6, 7]).unwrap();
    let plan = |strategy: Strategy, budget: &str, shapes: &str| {
        let planner = Planner::new(strategy, sides(budget)).shapes(shapes.parse().unwrap());
        planner.plan(&one, 0).unwrap_err()
    };
    let sorted = || "sorted".parse::<Strategy>().unwrap();
    for (error, what) in [
        (plan(Paired::default().into(), "padded:50", "exact"), "strategy `paired`"),
        (plan(sorted(), "padded:max=50", "exact"), "budget `padded:max=50`"),
        (plan(sorted(), "padded:50", "exact+multiple:8"), "shapes `exact+multiple:8`"),
    ] {
        assert_eq!(error, Error::NoSecond { what: what.to_owned() });
        assert!(error.hint().unwrap().contains("second length"));
    }
    let error = Planner::new(Packed::default(), Budget::padded(90)).plan(&small(), 0).unwrap_err();
    assert!(matches!(error, Error::SecondLengths { .. }), "{error}");
    let counts = Pairs::new(one, Lengths::new([1, 2]).unwrap()).unwrap_err();
    assert_eq!(counts, Error::UnequalCounts { first: 3, second: 2 });
    // On a ladder a shape can exceed what each sequence does not.
    let pairs = Pairs::new(Lengths::new([90, 10]).unwrap(), Lengths::new([5, 90]).unwrap());
    let planner = Planner::new(Paired::default(), Budget::padded(100)).shapes(Shapes::Ladder(1));
    let error = planner.plan(&pairs.unwrap(), 0).unwrap_err();
    assert!(matches!(error, Error::OverBudgetShape { index: 0, count: 2, .. }), "{error}");
}

#[test]
fn what_knows_one_length_says_so() {
    let two = || small().into_lengths();
    let nested = Pairs::new(two(), two());
    assert!(matches!(nested, Err(Error::SecondLengths { .. })));
    assert!(matches!(Chunks::new(&two(), 8), Err(Error::SecondLengths { .. })));
    let pairs = small();
    let planner = Planner::new(Paired::default(), Budget::padded(900));
    let one = Lengths::new([5, 6, 7]).unwrap();
    let of_one = || Statistics::of(&one).into();
    let part = one.clone().part_of(of_one()).unwrap();
    let shard = planner.clone().shard(Shard::new(0, 2).unwrap());
    let bounded = Workspace::new().memory(1 << 30);
    for error in [
        planner.plan_in(&bounded, &pairs, 0).unwrap_err(),
        planner.spans_in(&bounded, &pairs, 0).unwrap_err(),
        pairs.clone().into_lengths().part_of(of_one()).unwrap_err(),
        Pairs::new(part.clone(), one.clone()).unwrap_err(),
        Pairs::new(one.clone(), part).unwrap_err(),
        shard.plan(&pairs, 0).unwrap_err(),
        shard.needs(&pairs).unwrap_err(),
    ] {
        assert!(matches!(error, Error::SecondLengths { .. }), "{error}");
    }
    for streamer in [
        Streamer::new(sides("padded:max=50")),
        Streamer::new(Budget::padded(50)).shapes("exact+multiple:8".parse().unwrap()),
    ] {
        let error = streamer.feed().unwrap_err();
        assert!(matches!(error, Error::NoSecond { .. }), "{error}");
    }
}

#[test]
fn loose_plans_say_the_same() {
    let (pairs, workspace) = (speech(3000), Workspace::new());
    for shapes in ["exact", "multiple:64+multiple:8", "ladder:9"] {
        let planner =
            Planner::new(Paired::default(), Budget::padded(20_000)).shapes(shapes.parse().unwrap());
        let spans = planner.spans_in(&workspace, &pairs, 1).unwrap();
        let plan = planner.plan(&pairs, 1).unwrap();
        assert!(spans.is_paired());
        assert_eq!(spans.digest(), plan.digest());
        assert!(spans.shapes().eq(plan.shapes()));
        let measures = plan.measure(&pairs);
        let of_loose = spans.measure(&spans.positions(&workspace, &pairs));
        assert_eq!((of_loose.cells, of_loose.shapes), (measures.cells, measures.shapes));
        assert_eq!(of_loose.padding_rate, measures.padding_rate);
        assert_eq!(spans.gathered(&workspace).unwrap(), plan);
    }
}

#[test]
fn ranks_steps_and_resuming_keep_both_lengths() {
    let pairs = speech(3000);
    let limits = Sides { max: Some(20_000), ..Sides::default() };
    for tail in [Tail::Split, Tail::Repeat, Tail::Drop] {
        for arrange in Arrange::ALL {
            let planner =
                Planner::new(Paired::default(), Budget::sides(limits)).tail(tail).arrange(arrange);
            let plan = planner.plan(&pairs, 1).unwrap();
            let schedule = plan.schedule(7).unwrap();
            let all = schedule.all_ranks();
            assert_eq!(all.second_batch_lengths().unwrap().len(), all.len());
            for (at, batch) in all.iter().enumerate() {
                let pair = (all.batch_lengths()[at], all.second_batch_lengths().unwrap()[at]);
                assert!(all.provenance().admits_pair(batch, pair, &pairs), "{tail} {arrange} {at}");
            }
            if tail == Tail::Split {
                check(&all, &pairs, &limits, "all ranks");
                let counts = schedule.counts(&pairs);
                let seconds: u64 = counts.iter().map(|counts| counts.second_positions).sum();
                assert_eq!(seconds, pairs.second().unwrap().total());
                let cursor = schedule.cursor(9).unwrap();
                let rest = plan.resume(&cursor, 5).unwrap().all_ranks();
                assert_eq!(rest.second_batch_lengths().unwrap().len(), rest.len());
            }
        }
    }
    // Every epoch has the same number of batches.
    let planner = Planner::new(Paired::default(), Budget::sides(limits));
    let planner = planner.constant_steps(&pairs).unwrap();
    let counts: Vec<usize> =
        (0..6).map(|epoch| planner.plan(&pairs, epoch).unwrap().len()).collect();
    assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}");
}

#[test]
fn measures_are_of_both_rectangles() {
    let [first, second] = [[10, 8, 6], [2, 3, 4]].map(|l| Lengths::new(l).unwrap());
    let pairs = Pairs::new(first, second).unwrap();
    let plan = Planner::new(Paired::default(), Budget::sequences(3)).plan(&pairs, 0).unwrap();
    let measures = plan.measure(&pairs);
    assert_eq!((measures.cells, measures.shapes, measures.steps), (42, 1, 14));
    assert_eq!(measures.padding_rate, 1.0 - 33.0 / 42.0);
    let [of_first, of_second] = measures.sides.unwrap();
    assert_eq!((of_first.cells, of_first.padding_rate), (30, 1.0 - 24.0 / 30.0));
    assert_eq!((of_second.cells, of_second.padding_rate), (12, 1.0 - 9.0 / 12.0));
    let alone = Lengths::new([10, 8, 6]).unwrap();
    let plan =
        Planner::new(lengthwise::strategy::Sorted, Budget::sequences(3)).plan(&alone, 0).unwrap();
    assert_eq!(plan.measure(&alone).sides, None);
}

#[test]
fn extreme_pairs_are_planned() {
    let longest = || Lengths::new([u32::MAX; 3]).unwrap();
    let pairs = Pairs::new(longest(), longest()).unwrap();
    for budget in [Budget::sequences(2), Budget::padded(u64::MAX), Budget::dynamic(u32::MAX)] {
        let plan = Planner::new(Paired::default(), budget).plan(&pairs, u64::MAX).unwrap();
        assert_eq!(plan.measure(&pairs).cells, 6 * u64::from(u32::MAX));
    }
    let one = Pairs::new(Lengths::new([1]).unwrap(), Lengths::new([1]).unwrap()).unwrap();
    assert_eq!(Planner::new(Paired::default(), Budget::padded(2)).plan(&one, 0).unwrap().len(), 1);
}

#[test]
fn proportional_steps_of_pairs_are_small_copies_of_the_data() {
    let pairs = speech(20_000);
    let positions: u64 = (0..pairs.len())
        .map(|at| u64::from(pairs.as_slice()[at] + pairs.second().unwrap().as_slice()[at]))
        .sum();
    let padding = |strategy: &str, batches: Option<u32>| {
        let strategy: Strategy = batches
            .map_or(strategy.to_owned(), |n| format!("{strategy}:batches={n}"))
            .parse()
            .unwrap();
        let planner = Planner::new(strategy.clone(), Budget::padded(200_000))
            .update(lengthwise::Update::Tokens(positions / 100));
        let plan = planner.plan(&pairs, 3).unwrap();
        assert_eq!(plan, planner.plan(&pairs, 3).unwrap());
        check(
            &plan,
            &pairs,
            &Sides { sum: Some(200_000), ..Sides::default() },
            &strategy.to_string(),
        );
        let schedule = plan.schedule(1).unwrap();
        let mix = schedule.step_mix(&pairs);
        (plan.measure(&pairs).padding_rate, mix.log_length, schedule)
    };
    let (shuffled, ..) = padding("shuffled", None);
    let (default, mix, schedule) = padding("proportional", None);
    assert!(default < 0.4 * shuffled && mix < 0.3, "{default} of {shuffled}, {mix}");
    assert_eq!(schedule.len(), 100);
    let mut before = 1.0;
    for batches in [2, 4, 8, 16] {
        let (padding, mix, schedule) = padding("proportional", Some(batches));
        assert_eq!((schedule.len(), schedule.accumulate()), (100, batches));
        assert!(padding < before && mix < 1.0, "{batches}: {padding}, {mix}");
        before = padding;
        let sizes: Vec<usize> = schedule.all_ranks().iter().map(<[u32]>::len).collect();
        let first = &sizes[..batches as usize];
        for step in sizes.chunks(batches as usize) {
            assert!(first.iter().zip(step).all(|(a, b)| a.abs_diff(*b) <= 1), "{first:?} {step:?}");
        }
    }
}

#[test]
fn what_is_recommended_for_pairs_makes_steps_like_the_data() {
    // Micro-batches of a few sequences are worth it only if it takes no time to launch them.
    let free = "c=1".parse().unwrap();
    let cases = [
        (speech(20_000), 200_000, Model::default()),
        (speech(600), 20_000, Model::default()),
        (small(), 600, free),
    ];
    for (pairs, budget, model) in cases {
        let wanted = Wanted { model, ..Wanted::new(Budget::padded(budget)) };
        let found = recommend(&pairs, &wanted).unwrap();
        let best = found.best();
        assert!(found.within_limits() && best.step_mix <= 1.01, "{best:?}");
        assert!(best.padding_rate < 0.8 * found.random.padding_rate, "{best:?}");
        let plan = Planner::named(best.settings.clone()).unwrap().plan(&pairs, 0).unwrap();
        let rate = plan.measure(&pairs).padding_rate;
        assert!((rate - best.padding_rate).abs() < 0.05, "{rate} {}", best.padding_rate);
    }
    // One batch a step for a loop that updates after every batch.
    let wanted = Wanted { micro_batches: Some(1), ..Wanted::new(Budget::padded(200_000)) };
    let found = recommend(&speech(20_000), &wanted).unwrap();
    assert_eq!(found.best().micro_batches, 1);
}
