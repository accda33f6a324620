//! Going on in the middle of an epoch: nothing is lost and nothing seen twice.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::cases;
use lengthwise::{
    Arrange, Budget, Cursor, Error, Example, Lengths, OverLong, Plan, Planner, Schedule, Segment,
    Shapes, Steps, Strategy, Tail,
    custom::{Purpose, Rng, Stream},
    strategy::{Blurred, Sorted},
};
use proptest::prelude::*;

/// Takes `steps` steps of a schedule: no rank may see what was seen before, nor anything twice that
/// the schedule does not list. Returns how often something was seen again.
fn take(schedule: &Schedule, steps: usize, seen: &mut [bool]) -> usize {
    let mut now = vec![0_usize; seen.len()];
    let repeated = schedule.repeated();
    for rank in 0..schedule.world_size() {
        let share = schedule.for_rank(rank).unwrap();
        for batch in share.iter().take(steps * schedule.accumulate() as usize) {
            for &sequence in batch {
                let before = seen[sequence as usize] && !repeated.contains(&sequence);
                assert!(!before, "sequence {sequence} was seen before");
                now[sequence as usize] += 1;
            }
        }
    }
    for (sequence, &count) in now.iter().enumerate() {
        let listed = repeated.iter().filter(|&&other| other as usize == sequence).count();
        assert!(count <= 1 + listed);
        seen[sequence] |= count > 0;
    }
    now.iter().map(|count| count.saturating_sub(1)).sum()
}

/// Settings at random, from those that a run may have.
fn random_plan(random: &mut Stream) -> (Lengths, Plan) {
    let count = 1 + random.below(400);
    let most = [4, 60, 900][random.below(3) as usize];
    let lengths: Vec<u32> = (0..count).map(|_| 1 + random.below(most)).collect();
    let lengths = Lengths::new(lengths).unwrap();
    let strategies = Strategy::all_of_one_length();
    let strategy = strategies[random.below(strategies.len() as u32) as usize].clone();
    let budget = match random.below(3) {
        0 => Budget::sequences(1 + random.below(9)),
        1 => Budget::padded(u64::from(lengths.max()) * (1 + u64::from(random.below(6)))),
        _ => Budget::dynamic(1 + random.below(5)),
    };
    let shapes = [Shapes::Exact, Shapes::Ladder(3)][random.below(2) as usize].clone();
    let mut planner = Planner::new(strategy, budget)
        .shapes(shapes)
        .arrange(Arrange::ALL[random.below(5) as usize])
        // Mostly the default.
        .tail(
            [Tail::Split, Tail::Split, Tail::Split, Tail::Repeat, Tail::Drop]
                [random.below(5) as usize],
        )
        .seed(u64::from(random.next_u32()));
    if random.below(4) > 0 {
        planner = planner.steps(Steps::ALL[random.below(3) as usize]);
    }
    match random.below(4) {
        0 => planner = planner.accumulate(1 + random.below(3)),
        1 => planner = planner.canonical_ranks(1 + random.below(12)),
        2 => planner = planner.constant_steps(&lengths).unwrap(),
        _ => {}
    }
    let plan = planner.plan(&lengths, u64::from(random.below(5))).unwrap();
    (lengths, plan)
}

/// 10,000 epochs, each stopped and continued up to five times on any number of ranks.
#[test]
fn epochs_in_pieces_see_every_sequence_once() {
    let mut random = Rng::new(17, 0).stream(Purpose::Own(0));
    let (mut changes, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let (lengths, plan) = random_plan(&mut random);
        let mut seen = vec![false; lengths.len()];
        let most = lengths.len().min(16) as u32;
        let mut world_size = 1 + random.below(most);
        let Ok(mut schedule) = plan.schedule(world_size) else {
            // Only where a step has more places than there are sequences, or batches.
            let made = plan.provenance();
            let places = (made.accumulate * world_size) as usize;
            let batches = if made.tail == Tail::Drop { plan.len() } else { lengths.len() };
            assert!(places > batches || made.canonical_ranks.is_some());
            refused += 1;
            continue;
        };
        let finish = |schedule: &Schedule, steps: usize, seen: &mut [bool]| {
            let unseen = seen.iter().filter(|seen| !**seen).count();
            let places = (schedule.world_size() * schedule.accumulate()) as usize;
            let again = take(schedule, steps, seen);
            // Nothing is repeated unless there are fewer sequences than places for them.
            let few = unseen < places * schedule.len();
            assert!(again == 0 || few || plan.provenance().tail == Tail::Repeat);
        };
        for _ in 0..random.below(6) {
            let steps = match random.below(5) {
                0 => 0,
                1 => schedule.len(),
                _ => random.below(schedule.len() as u32 + 1) as usize,
            };
            let cursor = schedule.cursor(steps).unwrap();
            let next = 1 + random.below(most);
            let Ok(resumed) = plan.resume(&cursor, next) else {
                refused += 1;
                continue;
            };
            finish(&schedule, steps, &mut seen);
            changes += usize::from(next != world_size);
            (schedule, world_size) = (resumed, next);
        }
        finish(&schedule, schedule.len(), &mut seen);
        for sequence in schedule.dropped() {
            assert!(!std::mem::replace(&mut seen[sequence as usize], true));
        }
        assert!(seen.iter().all(|&seen| seen), "lost");
    }
    assert!(changes > 10_000 && refused < 2000, "{changes} changes, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// With as many batches a step, going on is the same schedule, at every step of the epoch.
    #[test]
    fn the_same_ranks_go_on_as_if_nothing_had_happened(case in cases(), world_size in 1_u32..6) {
        prop_assume!(case.lengths.len() >= world_size as usize && !case.strategy.makes_steps());
        let plan = case.plan();
        let schedule = plan.schedule(world_size).unwrap();
        let whole = schedule.all_ranks();
        let batches: Vec<&[u32]> = whole.iter().collect();
        let every = 1 + schedule.len() / 10;
        for steps in (0..=schedule.len()).step_by(every) {
            let resumed = plan.resume(&schedule.cursor(steps).unwrap(), world_size).unwrap();
            prop_assert_eq!(resumed.len(), schedule.len() - steps);
            let rest = resumed.all_ranks();
            let expected = &batches[steps * world_size as usize..];
            prop_assert_eq!(rest.iter().collect::<Vec<_>>(), expected);
            // Stopped again: the same cursor as if it had gone through.
            for more in [0, resumed.len() / 2, resumed.len()] {
                prop_assert_eq!(resumed.cursor(more), schedule.cursor(steps + more));
            }
        }
    }
}

#[test]
fn the_end_of_an_epoch_leaves_nothing() {
    let lengths = Example::Speech.lengths();
    let plan = Planner::new(Blurred::default(), Budget::padded(12_800)).plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(8).unwrap();
    let end = schedule.cursor(schedule.len()).unwrap();
    for world_size in [8, 3, 100] {
        let rest = plan.resume(&end, world_size).unwrap();
        assert!(rest.is_empty() && rest.for_rank(0).unwrap().is_empty());
        assert!(rest.for_rank(0).unwrap().measure(&lengths).padding_rate.abs() < 1e-12);
        assert!(rest.idle_share().abs() < 1e-12 && rest.idle_bound().abs() < 1e-12);
        assert_eq!(rest.cursor(0).unwrap().steps(), end.steps());
    }
    assert_eq!(
        schedule.cursor(schedule.len() + 1).err(),
        Some(Error::TooManySteps { asked: schedule.len() + 1, steps: schedule.len() })
    );
}

/// What was dropped because it filled no step is not lost when the rest is assigned again.
#[test]
fn dropped_batches_come_back_when_the_rest_is_dealt_again() {
    let lengths = Lengths::new((1..=70).collect::<Vec<u32>>()).unwrap();
    let planner = Planner::new(Sorted, Budget::sequences(10)).tail(Tail::Drop);
    let plan = planner.plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(3).unwrap();
    assert_eq!((schedule.len(), schedule.dropped().len()), (2, 10));
    let rest = plan.resume(&schedule.cursor(1).unwrap(), 2).unwrap();
    assert_eq!(rest.len(), 2);
    assert_eq!(rest.all_ranks().indices().len(), 40);
}

#[test]
fn cursors_of_other_runs_are_refused_by_what_differs() {
    let lengths = Example::Bimodal.lengths();
    let planner = Planner::new(Blurred::default(), Budget::padded(20_000)).seed(3);
    let plan = planner.plan(&lengths, 2).unwrap();
    let cursor = plan.schedule(4).unwrap().cursor(5).unwrap();
    assert!(plan.resume(&cursor, 4).is_ok());

    let mut others = lengths.as_slice().to_vec();
    others.swap(0, 1);
    let others = Lengths::new(others).unwrap();
    let changed = [
        ("lengths", planner.plan(&others, 2)),
        ("epoch", planner.plan(&lengths, 3)),
        ("seed", planner.clone().seed(4).plan(&lengths, 2)),
        ("strategy", Planner::new(Sorted, Budget::padded(20_000)).seed(3).plan(&lengths, 2)),
        (
            "budget",
            Planner::new(Blurred::default(), Budget::padded(20_001)).seed(3).plan(&lengths, 2),
        ),
        ("shapes", planner.clone().shapes(Shapes::Multiple(8)).plan(&lengths, 2)),
        ("arrange", planner.clone().arrange(Arrange::Shuffled).plan(&lengths, 2)),
        ("over-long", planner.clone().over_long(OverLong::Drop).plan(&lengths, 2)),
        ("steps", planner.clone().steps(Steps::Aligned).plan(&lengths, 2)),
        ("tail", planner.clone().tail(Tail::Drop).plan(&lengths, 2)),
        ("batches", planner.clone().constant_steps(&lengths).unwrap().plan(&lengths, 2)),
        ("cost-model", planner.clone().cost_model("encoder".parse().unwrap()).plan(&lengths, 2)),
    ];
    for (what, other) in changed {
        match other.unwrap().resume(&cursor, 4).unwrap_err() {
            Error::OtherRun { what: named, cursor, plan } => {
                assert_eq!(named, what);
                assert_ne!(cursor, plan);
            }
            error => panic!("{what}: {error}"),
        }
    }
    // The same settings in words, and other batches: a strategy that changed.
    let damaged = Cursor { plan: cursor.plan ^ 1, ..cursor.clone() };
    let error = plan.resume(&damaged, 4).unwrap_err();
    assert!(matches!(&error, Error::OtherRun { what, .. } if what == "plan"), "{error}");

    let segments = |segments: &[(u32, u32)]| Cursor {
        segments: segments.iter().map(|&(ranks, steps)| Segment { ranks, steps }).collect(),
        ..cursor.clone()
    };
    for (given, expected) in [
        (segments(&[(4, 100_000)]), "counts 100000 steps of 4 batches"),
        (segments(&[(3, u32::MAX), (3, u32::MAX)]), "counts 4294967295 steps of 3 batches"),
        (segments(&[(0, 1)]), "a step of 0 batches"),
        (segments(&[(u32::MAX, 1)]), "a step of 4294967295 batches"),
        (segments(&[(2, 1); 2000]), "2000 changes"),
    ] {
        let error = plan.resume(&given, 4).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().is_some());
    }
    // Nothing taken is nothing taken, however it is said.
    assert_eq!(
        plan.resume(&segments(&[(5, 0), (4, 0)]), 4).unwrap().all_ranks(),
        plan.schedule(4).unwrap().all_ranks()
    );
}

#[test]
fn ranks_that_stopped_at_different_steps_are_refused() {
    let lengths = Example::Bimodal.lengths();
    let plan = Planner::new(Blurred::default(), Budget::padded(20_000)).plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(4).unwrap();
    let at = |steps| schedule.cursor(steps).unwrap();
    assert_eq!(Cursor::of_ranks(&[at(5), at(5), at(5), at(5)]), Ok(at(5)));
    let error = Cursor::of_ranks(&[at(5), at(5), at(6), at(5)]).unwrap_err();
    assert_eq!(error.to_string(), "rank 0 stopped after 5 steps, but rank 2 after 6");
    assert_eq!(Cursor::of_ranks(&[]), Err(Error::NoRanks));
    let other = Planner::new(Blurred::default(), Budget::padded(20_000)).plan(&lengths, 1).unwrap();
    let other = other.schedule(4).unwrap().cursor(5).unwrap();
    assert!(matches!(Cursor::of_ranks(&[at(5), other]), Err(Error::RanksOfOtherRuns { .. })));
}

/// Steps taken together on different numbers of ranks are the same steps where the ranks divide the
/// canonical ones: a cursor does not even show the change.
#[test]
fn canonical_ranks_make_changes_invisible() {
    let lengths = Example::Speech.lengths();
    let planner = Planner::new(Blurred::default(), Budget::padded(12_800)).canonical_ranks(8);
    let plan = planner.plan(&lengths, 1).unwrap();
    let whole = plan.schedule(8).unwrap();
    let half = plan.resume(&whole.cursor(30).unwrap(), 4).unwrap();
    let alone = plan.resume(&half.cursor(11).unwrap(), 1).unwrap();
    assert_eq!(alone.cursor(9).unwrap(), whole.cursor(50).unwrap());
    // The rest has the same batches in every step, in any slots.
    let (rest, all) = (alone.all_ranks(), whole.all_ranks());
    let steps = |plan: &Plan, skipped: usize| -> Vec<Vec<Vec<u32>>> {
        let batches: Vec<Vec<u32>> = plan.iter().skip(skipped * 8).map(<[u32]>::to_vec).collect();
        let sorted = |step: &[Vec<u32>]| {
            let mut step = step.to_vec();
            step.sort();
            step
        };
        batches.chunks(8).map(sorted).collect()
    };
    assert_eq!(steps(&rest, 0), steps(&all, 41));
    // Five ranks cannot share eight batches: ten are nearest.
    assert_eq!(plan.resume(&whole.cursor(3).unwrap(), 5).unwrap().accumulate(), 2);
}
