//! Optimizer steps: as much data in each as was asked for, and how alike they are.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Lengths, OverLong, Pairs, Plan, Planner, Schedule,
    Shapes, Strategy, Update,
    shard::Shard,
    strategy::{Packed, Proportional, Shuffled, Sorted},
};

fn named(strategy: &str) -> Strategy {
    strategy.parse().unwrap()
}

/// What is said of a plan that cannot be made, and what it should be.
fn said(plan: Result<Plan, Error>) -> String {
    format!("{:?}", plan.unwrap_err())
}

/// The data of every step: sequences and tokens.
fn steps_of(schedule: &Schedule, lengths: &Lengths) -> Vec<(u64, u64)> {
    let counts = schedule.counts(lengths);
    counts.iter().map(|counts| (counts.sequences, counts.positions)).collect()
}

/// Every sequence once, in batches that keep the budget.
fn check(plan: &Plan, lengths: &Lengths) {
    let all: BTreeSet<u32> = plan.indices().iter().copied().collect();
    assert_eq!((all.len(), plan.indices().len()), (lengths.len(), lengths.len()));
    for (batch, &length) in plan.iter().zip(plan.batch_lengths()) {
        assert!(plan.provenance().admits(batch, length, lengths));
    }
}

#[test]
fn every_strategy_has_as_many_steps_as_the_size_of_an_update_says() {
    for example in [Example::Speech, Example::Documents, Example::Bimodal] {
        let lengths = example.lengths();
        let tokens = lengths.total() / 40;
        let budget = Budget::padded((tokens / 3).max(2 * u64::from(lengths.max())));
        for (update, expected) in
            [(Update::Tokens(tokens), 40), (Update::Sequences(lengths.len() as u64 / 25), 25)]
        {
            for strategy in Strategy::all_of_one_length() {
                for ranks in [1, 3] {
                    let planner = Planner::new(strategy.clone(), budget)
                        .shapes(Shapes::Ladder(12))
                        .canonical_ranks(ranks)
                        .update(update);
                    let constant = planner.clone().constant_steps(&lengths).unwrap();
                    for (planner, epoch) in [(&planner, 0), (&planner, 5), (&constant, 9)] {
                        let plan = planner.plan(&lengths, epoch).unwrap();
                        check(&plan, &lengths);
                        let schedule = plan.schedule(ranks).unwrap();
                        let about = format!("{strategy} {example} {update} on {ranks}");
                        // Where no batch has room for what equal shares leave, there is one step more.
                        let more = schedule.len() - expected;
                        assert!(more <= usize::from(schedule.accumulate() > 1), "{about}: {more}");
                        assert!(schedule.accumulate() > 1, "{about}");
                        assert_eq!(schedule.all_ranks().indices().len(), lengths.len());
                    }
                }
            }
        }
    }
}

#[test]
fn proportional_steps_are_small_copies_of_the_data() {
    for example in [Example::Speech, Example::Documents, Example::Bimodal] {
        let lengths = example.lengths();
        for (budget, ranks) in [("dynamic:8", 1), ("dynamic:32", 1), ("dynamic:8", 4)] {
            let budget: Budget = budget.parse().unwrap();
            let tokens = Update::Tokens(lengths.total() / 60);
            let planner = Planner::new(Proportional::default(), budget)
                .shapes(Shapes::Ladder(16))
                .canonical_ranks(ranks)
                .update(tokens);
            let plan = planner.plan(&lengths, 3).unwrap();
            check(&plan, &lengths);
            let schedule = plan.schedule(ranks).unwrap();
            let mix = schedule.step_mix(&lengths);
            let about = format!("{example} {budget} on {ranks}: {mix:?}");
            assert!(mix.log_length < 0.5 && mix.quartiles < 0.5, "{about}");
            let steps = steps_of(&schedule, &lengths);
            let mean = lengths.total() as f64 / steps.len() as f64;
            for &(sequences, tokens) in &steps {
                assert!((tokens as f64 / mean - 1.0).abs() < 0.25, "{about}: {tokens} of {mean}");
                let each = lengths.len() as f64 / steps.len() as f64;
                assert!((sequences as f64 - each).abs() <= f64::from(ranks), "{about}");
            }
            // All steps have the same numbers of batches of the same sizes, up to one sequence.
            let sizes = |step: &[&[u32]]| step.iter().map(|batch| batch.len()).collect::<Vec<_>>();
            let all = schedule.all_ranks();
            let batches: Vec<&[u32]> = all.iter().collect();
            let per_step = (ranks * schedule.accumulate()) as usize;
            let first = sizes(&batches[..per_step]);
            for step in batches.chunks(per_step) {
                assert!(
                    first.iter().zip(sizes(step)).all(|(a, b)| a.abs_diff(b) <= 1),
                    "{about}: {first:?} {:?}",
                    sizes(step)
                );
            }
        }
    }
}

#[test]
fn more_batches_a_step_mix_more_where_steps_are_stratified() {
    let lengths = Example::Documents.lengths();
    let mix = |cells: u64| {
        let plan = Planner::new(Shuffled, Budget::padded(cells))
            .shapes(Shapes::Ladder(16))
            .update(Update::Tokens(65_536))
            .plan(&lengths, 0)
            .unwrap();
        plan.schedule(1).unwrap().step_mix(&lengths).log_length
    };
    let one = Planner::new(Shuffled, Budget::padded(65_536)).shapes(Shapes::Ladder(16));
    let one = one.plan(&lengths, 0).unwrap().schedule(1).unwrap().step_mix(&lengths).log_length;
    assert!(
        mix(16_384) < mix(32_768) && mix(32_768) < one,
        "{} {} {one}",
        mix(16_384),
        mix(32_768)
    );
}

#[test]
fn micro_batches_can_be_counted() {
    let lengths = Example::Speech.lengths();
    let planner = |batches| {
        Planner::new(Proportional { batches }, Budget::dynamic(32))
            .update(Update::Tokens(lengths.total() / 100))
    };
    for batches in [4, 9, 20] {
        let plan = planner(Some(batches)).plan(&lengths, 0).unwrap();
        assert_eq!(plan.schedule(1).unwrap().accumulate(), batches);
    }
    let error = said(planner(Some(1)).plan(&lengths, 0));
    assert!(error.contains("at least"), "{error}");
}

#[test]
fn packed_rows_come_in_steps_too() {
    let lengths = Example::Documents.lengths();
    let packed = Packed { capacity: Some(16_384), ..Packed::default() };
    let plan = Planner::new(packed, Budget::padded(16_384))
        .update(Update::Tokens(65_536))
        .plan(&lengths, 0)
        .unwrap();
    let schedule = plan.schedule(1).unwrap();
    assert_eq!(schedule.len() as u64, (lengths.total() as f64 / 65_536.0).round() as u64);
    assert!(schedule.accumulate() >= 4);
}

#[test]
fn few_sequences_are_fewer_steps() {
    let lengths = Lengths::new([5, 9, 2, 7, 7]).unwrap();
    for strategy in ["shuffled", "proportional", "sorted"] {
        for ranks in [1, 2, 3, 5] {
            let plan = Planner::new(named(strategy), Budget::padded(10))
                .canonical_ranks(ranks)
                .update(Update::Tokens(1))
                .plan(&lengths, 0)
                .unwrap();
            check(&plan, &lengths);
            let steps = plan.schedule(ranks).unwrap().len();
            assert!((steps - 1) * (ranks as usize) < 5, "{steps} steps of {ranks} ranks");
        }
        let one = Planner::new(named(strategy), Budget::padded(10))
            .update(Update::Sequences(1_000_000))
            .plan(&lengths, 0)
            .unwrap();
        assert_eq!(one.schedule(1).unwrap().len(), 1);
    }
    // All stand alone.
    let plan = Planner::new(Proportional::default(), Budget::padded(1))
        .over_long(OverLong::Alone)
        .update(Update::Tokens(3))
        .plan(&lengths, 0)
        .unwrap();
    assert_eq!(plan.schedule(1).unwrap().len(), 5);
}

#[test]
fn a_step_is_the_same_on_any_number_of_ranks_that_divides_it() {
    let lengths = Example::Speech.lengths();
    let plan = Planner::new(Proportional { batches: Some(6) }, Budget::dynamic(16))
        .canonical_ranks(4)
        .update(Update::Tokens(lengths.total() / 50))
        .plan(&lengths, 0)
        .unwrap();
    let four = steps_of(&plan.schedule(4).unwrap(), &lengths);
    for ranks in [1, 2, 8, 12, 24] {
        assert_eq!(steps_of(&plan.schedule(ranks).unwrap(), &lengths), four, "{ranks} ranks");
    }
}

#[test]
fn an_epoch_of_steps_goes_on_where_it_stopped() {
    let lengths = Example::Documents.lengths();
    for strategy in ["proportional", "shuffled", "packed:capacity=16384"] {
        let planner = Planner::new(named(strategy), Budget::padded(16_384))
            .shapes(if strategy.starts_with("packed") { Shapes::Exact } else { Shapes::Ladder(8) })
            .update(Update::Tokens(80_000));
        let plan = planner.plan(&lengths, 2).unwrap();
        let whole = plan.schedule(1).unwrap();
        let cursor = whole.cursor(7).unwrap();
        let rest = plan.resume(&cursor, 1).unwrap();
        let expected: Vec<Vec<u32>> = whole.all_ranks().iter().map(<[u32]>::to_vec).collect();
        let found: Vec<Vec<u32>> = rest.all_ranks().iter().map(<[u32]>::to_vec).collect();
        assert_eq!(found, expected[7 * whole.accumulate() as usize..], "{strategy}");
        let other = planner.update(Update::Tokens(90_000)).plan(&lengths, 2).unwrap();
        assert!(matches!(other.resume(&cursor, 1), Err(Error::OtherRun { .. })), "{strategy}");
    }
}

#[test]
fn the_order_of_steps_is_that_of_the_plan() {
    // Steps are alike, so there is nothing to arrange.
    let lengths = Example::Speech.lengths();
    let planner = Planner::new(Proportional::default(), Budget::dynamic(8));
    let plan = planner.clone().arrange(Arrange::ShortFirst).plan(&lengths, 0).unwrap();
    assert_eq!(plan.batch_lengths(), planner.plan(&lengths, 0).unwrap().batch_lengths());
    assert_eq!(plan.provenance().arrange, Arrange::AsBuilt);
}

#[test]
fn what_cannot_be_is_refused() {
    let lengths = Example::Speech.lengths();
    let shuffled = Planner::new(Shuffled, Budget::dynamic(8));
    let refused = |planner: Planner<Shuffled>| said(planner.plan(&lengths, 0));
    let tokens = Update::Tokens(100_000);
    let error = refused(shuffled.clone().update(Update::Tokens(0)));
    assert!(error.contains("tokens:0"), "{error}");
    let error = refused(shuffled.clone().update(tokens).batches(1237));
    assert!(error.contains("1237") && error.contains("multiple of"), "{error}");
    let error = refused(shuffled.clone().update(tokens).shard(Shard::new(0, 2).unwrap()));
    assert!(error.contains("shard"), "{error}");
    let mut settings = shuffled.settings().clone();
    (settings.update, settings.accumulate) = (Some(tokens), 3);
    let error = refused(Planner::with(Shuffled, settings));
    assert!(error.contains("tokens:100000"), "{error}");
    // The later word counts.
    let plan = shuffled.update(tokens).accumulate(3).plan(&lengths, 0).unwrap();
    assert_eq!(plan.schedule(1).unwrap().accumulate(), 3);
    for bad in ["tokens", "tokens:0", "tokens:x", "words:5", "tokens:5,of=3"] {
        assert!(bad.parse::<Update>().is_err(), "{bad}");
    }
    let column = |lengths: [u32; 3]| Lengths::new(lengths).unwrap();
    let pairs = Pairs::new(column([1, 2, 3]), column([4, 5, 6])).unwrap();
    let error = Planner::new(Proportional::default(), Budget::padded(90)).shapes(Shapes::Ladder(2));
    let error = said(error.plan(&pairs, 0));
    assert!(error.contains("proportional"), "{error}");
    let sorted = Planner::new(Sorted, Budget::dynamic(8)).plan(&lengths, 0).unwrap();
    assert!(sorted.schedule(1).unwrap().step_mix(&lengths).log_length > 5.0);
}

/// With a cost model, ranks share the batches of a planned step by their time: the same steps, and less waiting.
#[test]
fn ranks_share_planned_steps_by_time() {
    let lengths = Example::Documents.lengths();
    let model: CostModel = "attention:hidden=1024,layers=12".parse().unwrap();
    let planner = || {
        Planner::new(Proportional { batches: Some(16) }, Budget::padded(16_384))
            .update(Update::Tokens(120_000))
            .canonical_ranks(8)
    };
    let plain = planner().plan(&lengths, 0).unwrap().schedule(8).unwrap();
    let timed = planner().cost_model(model).plan(&lengths, 0).unwrap().schedule(8).unwrap();
    let steps = |schedule: &Schedule| -> Vec<BTreeSet<Vec<u32>>> {
        let each = 8 * schedule.accumulate() as usize;
        let all: Vec<Vec<u32>> = schedule.all_ranks().iter().map(<[u32]>::to_vec).collect();
        all.chunks(each).map(|step| step.iter().cloned().collect()).collect()
    };
    assert_eq!(steps(&plain), steps(&timed));
    let [before, after] = [&plain, &timed].map(|schedule| schedule.idle_share_by(&model));
    assert!(after < 0.4 * before, "{before} {after}");
}
