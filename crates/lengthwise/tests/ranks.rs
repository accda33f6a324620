//! Steps over ranks: the same number for all, nothing lost, and what they cost.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Case, cases};
use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Lengths, Plan, Planner, Schedule, Shapes, Steps,
    Strategy, Tail,
    custom::{Purpose, Rng},
    strategy::{Blurred, Shuffled, Sorted},
};
use proptest::{prelude::*, sample::select, strategy::Strategy as Strategy_};

/// How often each sequence occurs.
fn occurrences<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for &sequence in plans.into_iter().flat_map(Plan::indices) {
        *counts.entry(sequence).or_default() += 1;
    }
    counts
}

/// The batches of every step, in no order.
fn steps_of(schedule: &Schedule) -> Vec<BTreeSet<Vec<u32>>> {
    let all = schedule.all_ranks();
    let batches: Vec<Vec<u32>> = all.iter().map(<[u32]>::to_vec).collect();
    let places = (schedule.world_size() * schedule.accumulate()) as usize;
    batches.chunks(places).map(|step| step.iter().cloned().collect()).collect()
}

#[derive(Clone, Debug)]
struct Ranks {
    steps: Option<Steps>,
    tail: Tail,
    accumulate: u32,
    world_size: u32,
    constant: bool,
}

fn ranks() -> impl Strategy_<Value = Ranks> {
    let steps =
        select(vec![None, Some(Steps::Stratified), Some(Steps::Aligned), Some(Steps::InOrder)]);
    let constant = prop_oneof![4 => Just(false), 1 => Just(true)];
    (steps, select(Tail::ALL.to_vec()), 1_u32..4, 1_u32..12, constant).prop_map(
        |(steps, tail, accumulate, world_size, constant)| Ranks {
            steps,
            tail,
            accumulate,
            world_size,
            constant,
        },
    )
}

fn plan(case: &Case, ranks: &Ranks) -> Plan {
    let mut planner = case.planner().tail(ranks.tail).accumulate(ranks.accumulate);
    if let Some(steps) = ranks.steps {
        planner = planner.steps(steps);
    }
    if ranks.constant {
        planner = planner.constant_steps(&case.lengths).unwrap();
    }
    planner.plan(&case.lengths, case.epoch).unwrap()
}

/// The fewest sequences that `places` places repeat, by trying every way to divide the sequences
/// into batches that keep the budget: where there are fewer batches than places, the smallest one is
/// repeated.
fn fewest_repeated(lengths: &[u32], cells: u64, places: usize) -> usize {
    let mut fewest = usize::MAX;
    let mut batch_of = vec![0; lengths.len()];
    loop {
        let count = 1 + batch_of.iter().max().unwrap();
        let (mut sizes, mut longest) = (vec![0; count], vec![0; count]);
        for (&batch, &length) in batch_of.iter().zip(lengths) {
            sizes[batch] += 1;
            longest[batch] = length.max(longest[batch]);
        }
        let fits = |(&size, &length): (&usize, &u32)| size as u64 * u64::from(length) <= cells;
        if count <= places && sizes.iter().zip(&longest).all(fits) {
            fewest = fewest.min((places - count) * sizes.iter().min().unwrap());
        }
        // The next division: each batch is named by the first sequence that is in it.
        let most = |batch_of: &[usize], at: usize| batch_of[..at].iter().max().map_or(0, |b| b + 1);
        let Some(at) = (0..batch_of.len()).rev().find(|&at| batch_of[at] < most(&batch_of, at))
        else {
            return fewest;
        };
        batch_of[at] += 1;
        batch_of[at + 1..].fill(0);
    }
}

#[test]
fn a_split_tail_repeats_one_sequence_where_one_is_missing() {
    let lengths = Lengths::new([85, 64, 51, 27, 31]).unwrap();
    for steps in Steps::ALL {
        let planner = Planner::new(Sorted, Budget::padded(100)).arrange(Arrange::AsBuilt);
        let schedule = planner.steps(steps).plan(&lengths, 0).unwrap().schedule(3).unwrap();
        assert_eq!((schedule.len(), schedule.repeated().len()), (2, 1), "{steps}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// A split tail repeats as few sequences as any batches in as many steps could.
    #[test]
    fn a_split_tail_repeats_no_more_than_it_must(
        lengths in proptest::collection::vec(1_u32..60, 1..8),
        more in 0_u64..150,
        strategy in select(vec!["shuffled", "sorted", "neighbours", "pooled:batches=2", "rotating"]),
        steps in select(Steps::ALL.to_vec()),
        world_size in 2_u32..6,
    ) {
        let column = Lengths::new(lengths.clone()).unwrap();
        let cells = u64::from(column.max()) + more;
        let strategy: Strategy = strategy.parse().unwrap();
        let plan = Planner::new(strategy, Budget::padded(cells)).steps(steps).plan(&column, 1);
        let plan = plan.unwrap();
        let Ok(schedule) = plan.schedule(world_size) else {
            prop_assert!(lengths.len() < world_size as usize);
            return Ok(());
        };
        prop_assert_eq!(schedule.len(), plan.len().div_ceil(world_size as usize));
        let places = schedule.len() * world_size as usize;
        let fewest = fewest_repeated(&lengths, cells, places);
        prop_assert_eq!(fewest, places.saturating_sub(lengths.len()));
        prop_assert_eq!(schedule.repeated().len(), fewest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn ranks_take_equal_steps_and_share_the_epoch(case in cases(), ranks in ranks()) {
        prop_assume!(!case.strategy.makes_steps());
        let plan = plan(&case, &ranks);
        let sequences = case.lengths.len();
        let places = (ranks.world_size * ranks.accumulate) as usize;
        let schedule = match plan.schedule(ranks.world_size) {
            Ok(schedule) => schedule,
            Err(Error::TooFewForRanks { .. }) => {
                prop_assert!(sequences < places);
                return Ok(());
            }
            Err(Error::NoFullStep { .. }) => {
                prop_assert!(ranks.tail == Tail::Drop && plan.len() < places);
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let steps = match ranks.tail {
            Tail::Drop => plan.len() / places,
            _ => plan.len().div_ceil(places),
        };
        prop_assert_eq!(schedule.len(), steps);
        let shares: Vec<Plan> =
            (0..ranks.world_size).map(|rank| schedule.for_rank(rank).unwrap()).collect();
        let all = schedule.all_ranks();
        for (rank, share) in shares.iter().enumerate() {
            prop_assert_eq!(share.len(), steps * ranks.accumulate as usize);
            prop_assert_eq!(share, &plan.for_rank(rank as u32, ranks.world_size).unwrap());
            // Giving all of them out in turn gives each rank its own.
            let taken: Vec<&[u32]> =
                all.iter().skip(rank).step_by(ranks.world_size as usize).collect();
            prop_assert_eq!(taken, share.iter().collect::<Vec<_>>());
        }

        // Each sequence once, but for what is listed.
        let mut counts = occurrences(&shares);
        for sequence in schedule.dropped() {
            prop_assert_eq!(ranks.tail, Tail::Drop);
            prop_assert_eq!(counts.insert(sequence, 1), None);
        }
        let repeated = schedule.repeated();
        let allowed = match ranks.tail {
            Tail::Split => sequences < places * steps,
            tail => tail == Tail::Repeat,
        };
        prop_assert!(allowed || repeated.is_empty());
        for sequence in repeated {
            *counts.get_mut(&sequence).unwrap() -= 1;
        }
        prop_assert_eq!(counts.len(), sequences);
        prop_assert!(counts.values().all(|&count| count == 1));

        // Every batch is part of one of the plan, or as small and as short: it keeps the budget.
        let shapes: Vec<(usize, u32)> =
            plan.iter().map(<[u32]>::len).zip(plan.batch_lengths().iter().copied()).collect();
        for (batch, &length) in all.iter().zip(all.batch_lengths()) {
            prop_assert!(!batch.is_empty());
            prop_assert!(batch.iter().all(|&i| case.lengths.as_slice()[i as usize] <= length));
            if plan.is_packed() {
                // Sequences of several rows may be in a new one.
                let sum: u32 = batch.iter().map(|&i| case.lengths.as_slice()[i as usize]).sum();
                prop_assert!(sum <= length && shapes.iter().any(|&(_, l)| length <= l));
                prop_assert!(shapes.iter().any(|&(s, _)| batch.len() <= s));
                let ladder = matches!(plan.provenance().shapes, Shapes::Ladder(_));
                prop_assert!(!ladder || plan.batch_lengths().contains(&length));
            } else {
                prop_assert!(shapes.iter().any(|&(s, l)| batch.len() <= s && length <= l));
                prop_assert!(plan.batch_lengths().contains(&length));
            }
        }

        let counts = schedule.counts(&case.lengths);
        prop_assert_eq!(counts.len(), steps);
        for (counts, step) in counts.iter().zip(all.counts(&case.lengths).chunks(places)) {
            prop_assert_eq!(*counts, step.iter().copied().sum());
        }

        let (idle, bound) = (schedule.idle_share(), schedule.idle_bound());
        prop_assert!((0.0..1.0).contains(&idle) && bound <= idle + 1e-12, "{idle} {bound}");
        if ranks.world_size == 1 {
            prop_assert!(idle < 1e-12);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every epoch has the same number of batches, and no sequence is lost for it.
    #[test]
    fn constant_steps_are_constant(case in cases(), epochs in proptest::collection::vec(any::<u64>(), 6)) {
        let planner = case.planner().constant_steps(&case.lengths).unwrap();
        let again = case.planner().constant_steps(&case.lengths).unwrap();
        let first = planner.plan(&case.lengths, 0).unwrap();
        for epoch in epochs {
            let plan = planner.plan(&case.lengths, epoch).unwrap();
            prop_assert_eq!(plan.len(), first.len());
            prop_assert_eq!(&plan, &again.plan(&case.lengths, epoch).unwrap());
            let counts = occurrences([&plan]);
            prop_assert!(counts.len() == case.lengths.len() && counts.values().all(|&n| n == 1));
        }
    }

    /// With canonical ranks every step has the same batches on any number of ranks that divides
    /// them.
    #[test]
    fn canonical_ranks_give_the_same_steps_on_any_number_of_ranks(
        case in cases(), canonical in select(vec![1_u32, 2, 6, 8, 12]),
    ) {
        prop_assume!(case.lengths.len() >= canonical as usize && !case.strategy.makes_steps());
        let planner = case.planner().canonical_ranks(canonical);
        let plan = planner.plan(&case.lengths, case.epoch).unwrap();
        let whole = plan.schedule(canonical).unwrap();
        for world_size in (1..=canonical).filter(|n| canonical % n == 0) {
            let schedule = plan.schedule(world_size).unwrap();
            prop_assert_eq!(schedule.len(), whole.len());
            prop_assert_eq!(schedule.accumulate() * world_size, canonical);
            prop_assert_eq!(steps_of(&schedule), steps_of(&whole));
            for rank in 0..world_size {
                let share = schedule.for_rank(rank).unwrap();
                prop_assert_eq!(share.len(), whole.len() * (canonical / world_size) as usize);
            }
        }
    }
}

/// What the slowest ranks take together, with the best assignment of the batches.
fn least(times: &[f64], world_size: usize) -> f64 {
    let Some((first, others)) = times.split_first() else { return 0.0 };
    // Every choice of other batches for the first batch, as bits.
    (0_u32..1 << others.len())
        .filter(|picked| picked.count_ones() as usize == world_size - 1)
        .map(|picked| {
            let with = |bit: bool| {
                let chosen = move |at: &usize| (picked >> at & 1 == 1) == bit;
                (0..others.len()).filter(chosen).map(|at| others[at])
            };
            let rest: Vec<f64> = with(false).collect();
            with(true).fold(*first, f64::max) + least(&rest, world_size)
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn no_other_assignment_waits_less_than_aligned_steps() {
    for epoch in 0..60 {
        let mut random = Rng::new(11, epoch).stream(Purpose::Own(0));
        let lengths: Vec<u32> = (0..18).map(|_| 1 + random.below(50)).collect();
        let lengths = Lengths::new(lengths).unwrap();
        for world_size in [2_u32, 3] {
            let planner = Planner::new(Shuffled, Budget::sequences(2)).steps(Steps::Aligned);
            let schedule = planner.plan(&lengths, epoch).unwrap().schedule(world_size).unwrap();
            let all = schedule.all_ranks();
            let times: Vec<f64> = all.batch_lengths().iter().map(|&l| f64::from(l)).collect();
            let work: f64 = times.iter().sum();
            let least = least(&times, world_size as usize);
            let bound = 1.0 - work / (f64::from(world_size) * least);
            assert!((schedule.idle_share() - bound).abs() < 1e-12, "{epoch} {world_size}");
            assert!((schedule.idle_bound() - bound).abs() < 1e-12, "{epoch} {world_size}");
        }
    }
}

/// Lengths like those of read speech, of documents with a heavy tail, of two kinds of recordings,
/// and of a lognormal distribution.
fn set(name: &str, count: u32) -> Lengths {
    let mut random = Rng::new(5, u64::from(count)).stream(Purpose::Own(7));
    let mut uniform = || (f64::from(random.next_u32()) + 0.5) / 4_294_967_296.0;
    // Twelve uniform numbers have variance 1; enough for test data.
    let normal = |uniform: &mut dyn FnMut() -> f64| (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let lengths = (0..count).map(|_| {
        let length = match name {
            "speech" => 88.0 + 712.0 * (1.0 - uniform().powf(1.0 / 1.1) * uniform().sqrt()),
            "lognormal" => 500.0 * (0.6 * normal(&mut uniform)).exp(),
            "heavy" if uniform() < 0.8 => 200.0 * (0.6 * normal(&mut uniform)).exp(),
            "heavy" => 300.0 * uniform().powf(-1.0 / 1.2),
            _ if uniform() < 0.6 => 120.0 + 30.0 * normal(&mut uniform),
            _ => 1200.0 + 150.0 * normal(&mut uniform),
        };
        length.clamp(8.0, 8192.0) as u32
    });
    Lengths::new(lengths.collect::<Vec<_>>()).unwrap()
}

const SETS: [&str; 4] = ["speech", "lognormal", "heavy", "bimodal"];

/// World sizes, and sequences enough for some dozens of steps.
const SIZES: [(u32, u32); 3] = [(8, 60_000), (64, 200_000), (1024, 700_000)];

/// A budget for attention: a step of 16,384 positions and half as much again for pairs of them.
const ATTENTION: &str = "cost:c=1e-6,d=1.6276e-10,limit=0.02";

#[test]
fn aligned_steps_wait_as_little_as_can_be() {
    for (world_size, count) in SIZES {
        for set_name in SETS {
            let lengths = set(set_name, count);
            for (strategy, budget, shapes) in [
                ("blurred", "padded:16384", "exact"),
                ("semi-sorted", "sequences:16", "exact"),
                ("shuffled", "padded:16384", "ladder:16"),
                ("blurred", "cost:recurrent,limit=2", "exact"),
            ] {
                let planner = Planner::new(
                    strategy.parse::<Strategy>().unwrap(),
                    budget.parse::<Budget>().unwrap(),
                );
                let planner = planner.shapes(shapes.parse().unwrap()).steps(Steps::Aligned);
                let schedule = planner.plan(&lengths, 0).unwrap().schedule(world_size).unwrap();
                let (idle, bound) = (schedule.idle_share(), schedule.idle_bound());
                assert!(
                    idle <= bound + 1e-9,
                    "{set_name} {budget} on {world_size} ranks: {idle:.4}, at least {bound:.4}"
                );
                assert!(schedule.repeated().is_empty() && schedule.dropped().is_empty());
            }
        }
    }
}

/// The variance over steps of the mean logarithm of lengths in a step: the mean over positions.
fn variance(schedule: &Schedule, lengths: &Lengths) -> f64 {
    let all = schedule.all_ranks();
    let batches: Vec<&[u32]> = all.iter().collect();
    let means: Vec<f64> = batches
        .chunks(schedule.world_size() as usize)
        .map(|step| {
            let lengths =
                step.iter().copied().flatten().map(|&i| f64::from(lengths.as_slice()[i as usize]));
            lengths.clone().map(|length| length * length.ln()).sum::<f64>() / lengths.sum::<f64>()
        })
        .collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (means.len() as f64 - 1.0)
}

/// The share of the machine that does useful work: neither waiting nor padding.
fn useful(schedule: &Schedule, lengths: &Lengths) -> f64 {
    let model = CostModel::new(0.0, 0.0, 1e-6, 1.6276e-10).unwrap();
    let work: f64 = lengths.as_slice().iter().map(|&length| model.seconds(1, length)).sum();
    work / (f64::from(schedule.world_size()) * schedule.duration_by(&model))
}

#[test]
fn stratified_steps_are_busy_and_fairer_than_random() {
    for (world_size, count) in SIZES {
        for set_name in SETS {
            let lengths = set(set_name, count);
            let budget: Budget = ATTENTION.parse().unwrap();
            let schedule = |strategy: Strategy, steps| {
                let plan = Planner::new(strategy, budget).steps(steps).plan(&lengths, 0).unwrap();
                plan.schedule(world_size).unwrap()
            };
            let random = schedule(Shuffled.into(), Steps::InOrder);
            let ours = schedule(Blurred { blur: 0.005 }.into(), Steps::Stratified);
            assert!(ours.repeated().is_empty() && ours.dropped().is_empty());
            let ratio = variance(&ours, &lengths) / variance(&random, &lengths);
            assert!(ratio <= 1.0, "{set_name} on {world_size} ranks: variance × {ratio:.3}");
            let busy = useful(&ours, &lengths);
            let least = match (set_name, world_size) {
                ("lognormal", 8 | 64) => 0.95,
                ("lognormal", _) => 0.93,
                ("heavy", _) => 0.89,
                _ => 0.95,
            };
            assert!(busy >= least, "{set_name} on {world_size} ranks: {busy:.4} busy");
        }
    }
}

#[test]
fn the_cost_model_chooses_how_steps_are_made() {
    let lengths = Example::Documents.lengths();
    let steps = |budget: &str, arrange: Arrange| {
        let planner = Planner::new(Blurred::default(), budget.parse::<Budget>().unwrap());
        planner.arrange(arrange).plan(&lengths, 0).unwrap().provenance().steps
    };
    assert_eq!(steps("padded:48000", Arrange::Spread), Steps::Stratified);
    assert_eq!(steps("dynamic:4", Arrange::LongFirst), Steps::Stratified);
    assert_eq!(steps("cost:encoder,limit=0.2", Arrange::Spread), Steps::Stratified);
    assert_eq!(steps("cost:recurrent,limit=3", Arrange::Spread), Steps::Aligned);
    assert_eq!(steps("sequences:16", Arrange::Shuffled), Steps::Aligned);
    assert_eq!(steps("padded:48000", Arrange::ShortFirst), Steps::Aligned);
    assert_eq!(steps("sequences:16", Arrange::AsBuilt), Steps::InOrder);
    let planner =
        Planner::new(Sorted, Budget::padded(48_000)).cost_model("recurrent".parse().unwrap());
    assert_eq!(planner.plan(&lengths, 0).unwrap().provenance().steps, Steps::Aligned);
}

#[test]
fn one_rank_has_the_plan_itself() {
    let lengths = Example::Bimodal.lengths();
    for steps in Steps::ALL {
        let planner = Planner::new(Blurred::default(), Budget::padded(20_000)).steps(steps);
        let plan = planner.plan(&lengths, 4).unwrap();
        assert_eq!(plan.for_rank(0, 1).unwrap(), plan);
    }
}

#[test]
fn impossible_ranks_are_refused() {
    let lengths = Lengths::new([3, 1, 4, 1, 5]).unwrap();
    let plan = Planner::new(Sorted, Budget::sequences(2)).plan(&lengths, 0).unwrap();
    assert_eq!(plan.for_rank(2, 2), Err(Error::BadRank { rank: 2, world_size: 2 }));
    assert_eq!(plan.for_rank(0, 0), Err(Error::BadRank { rank: 0, world_size: 0 }));
    assert_eq!(plan.schedule(0).err(), Some(Error::NoRanks));
    let few = Error::TooFewForRanks { sequences: 5, places: 6, world_size: 6 };
    assert_eq!(plan.schedule(6).err(), Some(few));
    assert_eq!(plan.schedule(5).unwrap().len(), 1);
    assert!(matches!(plan.schedule(u32::MAX), Err(Error::TooFewForRanks { .. })));
    let planner = Planner::new(Sorted, Budget::sequences(2));
    for (planner, of) in [
        (planner.clone().accumulate(0), "gradient-accumulation"),
        (planner.clone().canonical_ranks(0), "canonical"),
        (planner.clone().batches(0), "fixed"),
        (planner.clone().batches(6), "fixed"),
    ] {
        assert!(planner.plan(&lengths, 0).unwrap_err().to_string().contains(of));
    }
    assert_eq!(
        planner.clone().batches(2).plan(&lengths, 0),
        Err(Error::TooManyBatches { batches: 3, fixed: 2 })
    );
    let many = planner.clone().accumulate(u32::MAX).plan(&lengths, 0).unwrap();
    assert!(matches!(many.schedule(2), Err(Error::TooManyRanks { .. })));
    let dropped = planner.tail(Tail::Drop).plan(&lengths, 0).unwrap();
    assert_eq!(dropped.schedule(4).err(), Some(Error::NoFullStep { batches: 3, places: 4 }));
}

/// Ranks that take several batches in a step have nearly equal loads, whatever divides what.
#[test]
fn accumulated_batches_are_balanced() {
    let lengths = Example::Documents.lengths();
    for (world_size, accumulate) in [(6, 2), (3, 4), (12, 2), (8, 2), (5, 3), (2, 7)] {
        let planner = Planner::new(Blurred::default(), Budget::padded(16_384));
        let plan = |accumulate| {
            let planner = planner.clone().steps(Steps::Stratified).accumulate(accumulate);
            planner.plan(&lengths, 0).unwrap()
        };
        let (one, several) = (plan(1), plan(accumulate));
        let idle = several.schedule(world_size).unwrap().idle_share();
        // Sums of several batches differ less than single ones do.
        let single = one.schedule(world_size).unwrap().idle_share();
        assert!(idle < 0.75 * single, "{world_size} × {accumulate}: {idle:.4} {single:.4}");
    }
}

/// Split batches of `rotating` are not mixed: no pair repeats, on any number of ranks.
#[test]
fn rotating_keeps_its_promise_on_ranks() {
    let lengths = Lengths::new((1..=2000).collect::<Vec<u32>>()).unwrap();
    let strategy: Strategy = "rotating:epochs=10".parse().unwrap();
    let planner = Planner::new(strategy, Budget::sequences(8));
    for world_size in [7, 64, 250] {
        let mut met = BTreeSet::new();
        for epoch in 0..10 {
            let schedule = planner.plan(&lengths, epoch).unwrap().schedule(world_size).unwrap();
            assert!(schedule.repeated().is_empty());
            for batch in &schedule.all_ranks() {
                for (at, &one) in batch.iter().enumerate() {
                    for &other in &batch[at + 1..] {
                        let pair = (one.min(other), one.max(other));
                        assert!(met.insert(pair), "{pair:?} met twice on {world_size} ranks");
                    }
                }
            }
        }
    }
}

/// On a ladder the shapes of a rank's batches are few, and the same in every epoch.
#[test]
fn shapes_of_ranks_stay_few() {
    let lengths = Example::Speech.lengths();
    for steps in [Steps::Stratified, Steps::Aligned] {
        let planner =
            Planner::new(Shuffled, Budget::dynamic(16)).shapes(Shapes::Ladder(16)).steps(steps);
        let shapes = |epoch| {
            let all = planner.plan(&lengths, epoch).unwrap().schedule(8).unwrap().all_ranks();
            let sizes = all.iter().map(<[u32]>::len);
            let mut shapes: Vec<(usize, u32)> =
                sizes.zip(all.batch_lengths().iter().copied()).collect();
            shapes.sort_unstable();
            shapes.dedup();
            shapes
        };
        let first = shapes(0);
        assert!(first.len() <= 32, "{}", first.len());
        for epoch in 1..5 {
            assert_eq!(shapes(epoch), first);
        }
    }
}

/// Weighted by counts, the mean of the ranks' losses is the loss over all positions of a step.
#[test]
fn counts_weigh_the_losses_of_ranks() {
    let lengths = Example::Documents.lengths();
    let plan = Planner::new(Blurred::default(), Budget::padded(24_000)).plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(4).unwrap();
    let shares: Vec<Plan> = (0..4).map(|rank| schedule.for_rank(rank).unwrap()).collect();
    // Any loss of a position will do: here the logarithm of the length it is in.
    let loss = |batch: &[u32]| -> f64 {
        let lengths = batch.iter().map(|&i| f64::from(lengths.as_slice()[i as usize]));
        lengths.map(|length| length * length.ln()).sum()
    };
    for (step, counts) in schedule.counts(&lengths).iter().enumerate() {
        let batches = shares.iter().map(|share| share.get(step).unwrap());
        let all: f64 = batches.clone().map(loss).sum::<f64>() / counts.positions as f64;
        let weighted = batches.zip(&shares).map(|(batch, share)| {
            let mean = loss(batch) / share.counts(&lengths)[step].positions as f64;
            let weight =
                share.counts(&lengths)[step].positions as f64 * 4.0 / counts.positions as f64;
            weight * mean
        });
        assert!((weighted.sum::<f64>() / 4.0 / all - 1.0).abs() < 1e-12);
        let size: usize = shares.iter().map(|share| share.get(step).unwrap().len()).sum();
        assert_eq!(counts.sequences, size as u64);
    }
}
