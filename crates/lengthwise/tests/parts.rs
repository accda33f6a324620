//! Parts of an epoch over several ranks.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Budget, Error, Example, Lengths, Plan, Planner, Rule, Tail,
    strategy::{Shuffled, Sorted},
};

fn speech(tail: Tail) -> (Lengths, Plan) {
    let lengths = Example::Speech.lengths();
    let planner = Planner::new(Shuffled, Budget::padded(20_000)).tail(tail);
    let plan = planner.plan(&lengths, 0).unwrap();
    (lengths, plan)
}

#[test]
fn the_first_steps_are_those_of_the_whole() {
    let (lengths, plan) = speech(Tail::Split);
    let whole = plan.schedule(8).unwrap();
    let (first, rest) = (whole.clone().first(30).unwrap(), whole.len() - 30);
    assert_eq!(first.len(), 30);
    assert_eq!(first.counts(&lengths), whole.counts(&lengths)[..30]);
    assert!(first.all_ranks().iter().eq(whole.all_ranks().iter().take(240)));
    assert!(first.for_rank(5).unwrap().iter().eq(whole.for_rank(5).unwrap().iter().take(30)));
    assert_eq!(first.cursor(30), whole.cursor(30));
    let left = plan.resume(&first.cursor(30).unwrap(), 8).unwrap();
    assert_eq!(left.clone().first(rest).unwrap().all_ranks(), left.all_ranks());
    assert_eq!(
        left.first(rest + 1).unwrap_err(),
        Error::TooManySteps { asked: rest + 1, steps: rest }
    );
}

/// What is repeated in steps that were taken is no concern of those that are left.
#[test]
fn repeated_sequences_are_those_of_the_steps_that_are_left() {
    let (_, plan) = speech(Tail::Repeat);
    let whole = plan.schedule(8).unwrap();
    let all = whole.repeated().len();
    assert!(all > 0, "the example must have a tail");
    let mut listed = 0;
    for steps in 0..=whole.len() {
        let left = plan.resume(&whole.cursor(steps).unwrap(), 8).unwrap();
        let taken = whole.clone().first(steps).unwrap();
        assert_eq!(taken.repeated().len() + left.repeated().len(), all, "after {steps}");
        listed += usize::from(!left.repeated().is_empty());
    }
    assert!(listed > 0);
}

#[test]
fn a_batch_keeps_the_budget_or_not() {
    let lengths = Lengths::new([10, 20, 30, 40]).unwrap();
    let admits = |budget: Budget, batch: &[u32], length: u32| {
        let plan = Planner::new(Sorted, budget).plan(&lengths, 0).unwrap();
        plan.provenance().admits(batch, length, &lengths)
    };
    assert!(admits(Budget::sequences(2), &[2, 3], 40));
    assert!(!admits(Budget::sequences(2), &[1, 2, 3], 40));
    assert!(admits(Budget::padded(80), &[2, 3], 40));
    assert!(!admits(Budget::padded(80), &[2, 3], 41));
    assert!(admits(Budget::dynamic(2), &[0, 1, 2], 26), "78 of 80 cells");
    assert!(!admits(Budget::dynamic(2), &[0, 1, 2], 30));
    assert!(admits(Budget::dynamic(2).rule(Rule::Over), &[1, 2, 3], 40));
    assert!(!admits(Budget::dynamic(1).rule(Rule::Over), &[2, 2, 3], 40));
    assert!(!admits(Budget::padded(1000).at_most(1), &[0, 1], 20));
}
