//! Sequences that stay together, kinds that do not mix, and mixes of kinds. That nothing is ever split, mixed or lost is
//! shown in `promises`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use lengthwise::{
    Budget, Error, Example, Lengths, OverLong, Plan, Planner, Strategy, Update,
    custom::{Purpose, Rng},
    groups::{Mix, OneKind, Together},
    measure::mixing,
    tune::{Wanted, recommend},
};

/// Preference pairs: two answers to a prompt, of like lengths.
fn pairs() -> (Lengths, Vec<u32>) {
    let lengths = Example::Documents.lengths();
    let lengths = &lengths.as_slice()[..4000];
    let ids: Vec<u32> = (0..lengths.len() as u32).map(|at| at / 2).collect();
    (Lengths::new(lengths.to_vec()).unwrap().together(&ids).unwrap(), ids)
}

fn planner(strategy: &str, budget: &str) -> Planner<Strategy> {
    Planner::new(strategy.parse().unwrap(), budget.parse().unwrap())
}

/// How many sequences of each kind some batches have.
fn counts<'a>(batches: impl Iterator<Item = &'a [u32]>, kinds: &[u32]) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for &sequence in batches.flatten() {
        *counts.entry(kinds[sequence as usize]).or_default() += 1;
    }
    counts
}

#[test]
fn packed_pairs_fill_their_rows() {
    let (lengths, _) = pairs();
    let single = Lengths::new(lengths.as_slice().to_vec()).unwrap();
    for strategy in ["packed", "packed:balance=cost"] {
        let planner = planner(strategy, "padded:16384").over_long(OverLong::Drop);
        let planner = planner.cost_model("attention:hidden=1024,layers=8".parse().unwrap());
        let [pairs, alone] = [&lengths, &single].map(|lengths| {
            let plan = planner.plan(lengths, 0).unwrap();
            let measures = plan.measure(lengths);
            let filled = (measures.cells as f64) / (plan.len() as f64 * 16_384.0);
            (plan, filled)
        });
        // Pairs are longer, and leave a little more space.
        assert!(pairs.1 > alone.1 - 0.03, "{strategy}: {} and {}", pairs.1, alone.1);
        assert!(
            pairs.0.iter().flat_map(|row| row.chunks(2)).all(|pair| pair[0] / 2 == pair[1] / 2)
        );
    }
}

/// More ranks than groups: nothing is made for every rank of a step.
#[test]
fn far_more_ranks_than_groups_take_no_memory() {
    let lengths = Lengths::new([5, 7, 9, 11]).unwrap().together(&[0, 0, 1, 1]).unwrap();
    let planner = planner("proportional", "padded:100").canonical_ranks(u32::MAX);
    let plan = planner.plan(&lengths, 0);
    assert_eq!(plan.map(|plan| plan.iter().map(<[u32]>::len).sum()), Ok(4));
}

/// A row of a group whose lengths have a sum beyond 32 bits.
#[test]
fn rows_of_the_longest_sequences_do_not_overflow() {
    let lengths = Lengths::new([u32::MAX, u32::MAX - 1, 5, 7, 9]).unwrap();
    let lengths = lengths.together(&[0, 0, 1, 1, 2]).unwrap();
    let planner = planner("packed", "padded:100").over_long(OverLong::Alone);
    let plan = planner.plan(&lengths, 0).unwrap();
    let mut rows: Vec<Vec<u32>> = plan.iter().map(<[u32]>::to_vec).collect();
    for row in &mut rows {
        row.sort_unstable();
    }
    rows.sort_unstable();
    assert_eq!(rows, [vec![0, 1], vec![2, 3, 4]]);
    assert!(plan.batch_lengths().contains(&u32::MAX));
}

#[test]
fn groups_that_share_a_rank_are_in_one_step_of_it_and_in_batches_by_length() {
    let (lengths, ids) = pairs();
    let budget = Budget::padded(16_384);
    let planner = Planner::new("proportional".parse::<Strategy>().unwrap(), budget)
        .over_long(OverLong::Truncate)
        .share(Together::Rank)
        .update(Update::Tokens(200_000))
        .for_ranks(4);
    let plan = planner.plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(4).unwrap();
    let mut apart = 0;
    for rank in 0..4 {
        let own = schedule.for_rank(rank).unwrap();
        let batches: Vec<&[u32]> = own.iter().collect();
        for step in batches.chunks(schedule.accumulate() as usize) {
            let here: BTreeSet<u32> = step.iter().copied().flatten().copied().collect();
            assert!(here.iter().all(|&one| here.contains(&(one ^ 1))));
            let of = |batch: &[u32]| -> BTreeSet<u32> {
                batch.iter().map(|&one| ids[one as usize]).collect()
            };
            apart += step.iter().map(|batch| of(batch).len()).sum::<usize>() - here.len() / 2;
        }
    }
    assert!(apart > 500, "{apart} pairs in two batches");
    // Batches by length are padded less than batches of pairs.
    let together = planner.clone().share(Together::Batch).plan(&lengths, 0).unwrap();
    let padding = |plan: &Plan| plan.measure(&lengths).padding_rate;
    assert!(padding(&plan) < padding(&together), "{} {}", padding(&plan), padding(&together));
    // Half as many ranks have whole groups too, and three do not.
    assert!(plan.schedule(2).is_ok());
    let error = plan.schedule(3).unwrap_err();
    assert!(error.hint().unwrap().contains("a divisor of 4"), "{error:?}");
    let other = planner.clone().share(Together::Batch);
    let blurred = Planner::with("blurred".parse::<Strategy>().unwrap(), planner.settings().clone());
    assert!(blurred.plan(&lengths, 0).unwrap_err().hint().unwrap().contains("share a rank"));
    assert!(other.plan(&lengths, 0).is_ok());
}

#[test]
fn proportional_steps_have_their_share_of_every_kind() {
    let lengths = Example::Documents.lengths();
    // Two large kinds and a rare one.
    let kind = |at: u32| if at.is_multiple_of(97) { 2 } else { u32::from(at.is_multiple_of(3)) };
    let kinds: Vec<u32> = (0..lengths.len() as u32).map(kind).collect();
    let of_kinds = lengths.kinds(&kinds).unwrap();
    let planner = planner("proportional", "padded:16384")
        .over_long(OverLong::Truncate)
        .update(Update::Tokens(120_000));
    let plan = planner.plan(&of_kinds, 0).unwrap();
    let schedule = plan.schedule(1).unwrap();
    let per_step = schedule.accumulate() as usize;
    let all = counts(plan.iter(), &kinds);
    let batches: Vec<&[u32]> = plan.iter().collect();
    let steps: Vec<_> = batches.chunks(per_step).collect();
    for (number, step) in steps.iter().enumerate() {
        let own = counts(step.iter().copied(), &kinds);
        for kind in [0, 1] {
            let expected = all[&kind] as f64 / steps.len() as f64;
            let found = own.get(&kind).copied().unwrap_or(0) as f64;
            assert!((found - expected).abs() <= 2.0, "step {number}: {found} of {expected}");
        }
    }
    // Lengths are mixed as well as without kinds.
    let mix = schedule.step_mix(&of_kinds).log_length;
    assert!(mix < 0.6, "{mix}");
    // Steps of one kind.
    let plan = planner.one_kind(OneKind::Step).plan(&of_kinds, 0).unwrap();
    let schedule = plan.schedule(1).unwrap();
    let all = schedule.all_ranks();
    let batches: Vec<&[u32]> = all.iter().collect();
    let kinds_of = batches.chunks(schedule.accumulate() as usize).map(|step| {
        let kinds: BTreeSet<u32> =
            step.iter().copied().flatten().map(|&one| kinds[one as usize]).collect();
        assert_eq!(kinds.len(), 1);
        kinds.first().copied()
    });
    let kinds_of: Vec<Option<u32>> = kinds_of.collect();
    let half = kinds_of.len() / 2;
    let of_half = |half: &[Option<u32>]| half.iter().filter(|kind| **kind == Some(1)).count();
    let [first, second] = [of_half(&kinds_of[..half]), of_half(&kinds_of[half..])];
    assert!(first.abs_diff(second) <= 3, "{first} and {second} steps of kind 1");
}

#[test]
fn a_mix_has_exact_counts_in_every_epoch_and_window() {
    let lengths = Example::Speech.lengths();
    let count = lengths.len() as u32;
    let kinds: Vec<u32> = (0..count).map(|at| u32::from(at % 5 == 0)).collect();
    let lengths = lengths.kinds(&kinds).unwrap();
    // Kind 0 appears second, after the first sequence.
    let mix = Mix::new([0.4, 0.6]).unwrap();
    let expected = mix.counts(count);
    let planner = planner("blurred", "padded:12800").mix(mix.clone());
    let mut often: Vec<u64> = vec![0; count as usize];
    for epoch in 0..10 {
        let plan = planner.plan(&lengths, epoch).unwrap();
        let found = counts(plan.iter(), &kinds);
        assert_eq!([found[&1], found[&0]], [expected[0] as usize, expected[1] as usize]);
        // Any part of the epoch has its share, to within two batches.
        let batches: Vec<&[u32]> = plan.iter().collect();
        let kind = |batch: &&[u32]| kinds[batch[0] as usize];
        let share =
            batches.iter().filter(|batch| kind(batch) == 1).count() as f64 / batches.len() as f64;
        for window in [8, 16, 64] {
            for part in batches.windows(window) {
                let own = part.iter().filter(|batch| kind(batch) == 1).count() as f64;
                assert!((own - share * window as f64).abs() <= 3.0, "{own} of {window}: {share}");
            }
        }
        for &sequence in plan.indices() {
            often[sequence as usize] += 1;
        }
    }
    // All sequences of a kind occur equally often.
    for kind in [0, 1] {
        let own = (0..count as usize).filter(|&at| kinds[at] == kind).map(|at| often[at]);
        let (least, most) = (own.clone().min().unwrap(), own.max().unwrap());
        assert!(most - least <= 1, "kind {kind}: {least} to {most}");
    }
    let error = planner.mix(Mix::new([1.0]).unwrap()).plan(&lengths, 0).unwrap_err();
    assert!(error.hint().unwrap().contains("one for each of 2 kinds"), "{error:?}");
    assert!(
        Mix::new([0.0, 0.0]).is_err() && Mix::new([f64::NAN]).is_err() && Mix::new([]).is_err()
    );
    assert_eq!("0.7/0.3".parse::<Mix>().unwrap(), Mix::new([0.7, 0.3]).unwrap());
    let plain = Lengths::new([4, 5]).unwrap();
    assert!(self::planner("blurred", "2").mix(mix).plan(&plain, 0).is_err());
}

#[test]
fn what_groups_are_called_does_not_matter() {
    let lengths = || Lengths::new([5, 9, 7, 8, 6, 3]).unwrap();
    let one = lengths().together(&[0, 0, 1, 1, 2, 2]).unwrap();
    let other = lengths().together(&[7, 7, 3, 3, 9, 9]).unwrap();
    assert_eq!((one.digest(), &one), (other.digest(), &other));
    assert_ne!(one.digest(), lengths().digest());
    assert_ne!(one.digest(), lengths().kinds(&[0, 0, 1, 1, 2, 2]).unwrap().digest());
    assert_ne!(one, lengths());
}

#[test]
fn a_restored_plan_needs_its_groups() {
    let (lengths, _) = pairs();
    let plan =
        planner("blurred", "padded:16384").over_long(OverLong::Drop).plan(&lengths, 0).unwrap();
    let restored = Plan::restore(
        plan.provenance().clone(),
        plan.indices().to_vec(),
        plan.ends().to_vec(),
        plan.batch_lengths().to_vec(),
        plan.over_long().1.to_vec(),
    );
    let restored = restored.unwrap();
    assert_eq!(restored.schedule(4).unwrap_err(), Error::NoPlanLengths);
    let whole = restored.with_lengths(&lengths).unwrap();
    let [one, other] = [&whole, &plan].map(|plan| plan.schedule(4).unwrap().all_ranks());
    assert_eq!(one, other);
    let single = Lengths::new(lengths.as_slice().to_vec()).unwrap();
    assert!(restored.with_lengths(&single).is_err());
}

#[test]
fn groups_count_as_one_in_mixing() {
    let (lengths, _) = pairs();
    let planner = planner("shuffled", "padded:65536").over_long(OverLong::Drop);
    let plans: Vec<Plan> = (0..4).map(|epoch| planner.plan(&lengths, epoch).unwrap()).collect();
    let mixing = mixing(&plans).unwrap();
    assert!(mixing.per_pair + 3.0 * mixing.per_pair_error > 1.0, "{mixing:?}");
}

#[test]
fn groups_beyond_the_budget_are_treated_as_asked() {
    let lengths = Lengths::new([60, 50, 10, 10, 20, 20]).unwrap();
    let lengths = lengths.together(&[0, 0, 1, 1, 2, 2]).unwrap();
    let planner = planner("sorted", "padded:100");
    let error = planner.plan(&lengths, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 0 and what stays together with it, 2 sequences in all, take 120 cells alone, over \
         the budget `padded:100`"
    );
    let plan = |over_long| planner.clone().over_long(over_long).plan(&lengths, 0).unwrap();
    assert_eq!(plan(OverLong::Drop).left_out(), [0, 1]);
    let alone = plan(OverLong::Alone);
    assert!(alone.iter().any(|batch| batch == [0, 1]));
    let cut = plan(OverLong::Truncate);
    assert_eq!(cut.truncated(), [0]);
    let at = cut.iter().position(|batch| batch.contains(&0)).unwrap();
    assert_eq!(cut.batch_length(at), Some(50));
    // A row has both one after another, and neither is cut.
    let rows = self::planner("packed", "padded:100").over_long(OverLong::Truncate);
    let error = rows.plan(&lengths, 0).unwrap_err();
    assert!(error.to_string().contains("110 positions"), "{error}");
    assert!(error.hint().unwrap().contains("not truncated"), "{error:?}");
}

#[test]
fn epochs_of_kinds_can_have_equally_many_batches() {
    let (lengths, ids) = pairs();
    let kinds: Vec<u32> = ids.iter().map(|id| id % 3).collect();
    let lengths = lengths.kinds(&kinds).unwrap();
    for strategy in ["shuffled", "packed", "proportional", "blurred"] {
        let planner = planner(strategy, "padded:16384").over_long(OverLong::Drop);
        let planner = planner.constant_steps(&lengths).unwrap();
        let count = |epoch| planner.plan(&lengths, epoch).unwrap().len();
        assert!((1..6).all(|epoch| count(epoch) == count(0)), "{strategy}");
    }
}

#[test]
fn what_is_recommended_for_groups_and_kinds_can_be_planned() {
    let (lengths, ids) = pairs();
    let kinds: Vec<u32> = ids.iter().map(|id| id % 5 / 2).collect();
    let of_kinds = lengths.clone().kinds(&kinds).unwrap();
    for lengths in [&lengths, &of_kinds] {
        for (share, ranks) in [(Together::Batch, 1), (Together::Rank, 2), (Together::Batch, 4)] {
            let mut wanted = Wanted::new(Budget::padded(32_768));
            wanted.settings.over_long = OverLong::Drop;
            wanted.settings.share = share;
            wanted.ranks = ranks;
            let found = recommend(lengths, &wanted).unwrap();
            let plan = Planner::named(found.best().settings.clone()).unwrap().plan(lengths, 1);
            let schedule = plan.unwrap().schedule(ranks).unwrap();
            assert!(found.best().time < 0.7, "{:?}", found.best());
            assert!(schedule.step_mix(lengths).log_length < 1.0);
        }
    }
}

/// Dialogues of many sizes, and many languages of which few are large: optimizer steps have the size that was asked for,
/// and look like the data.
#[test]
fn many_sizes_and_kinds_keep_the_size_of_updates() {
    let lengths = Example::Documents.lengths();
    let mut random = Rng::new(5, 0).stream(Purpose::Own(5));
    let (mut dialogues, mut id) = (Vec::new(), 0);
    while dialogues.len() < lengths.len() {
        id += 1;
        dialogues.extend(std::iter::repeat_n(id, 1 + random.below(20) as usize));
    }
    dialogues.truncate(lengths.len());
    let zipf = |word: u32| (1..=20).find(|kind| word < 1200 - 1200 / (kind + 1)).unwrap_or(20);
    let languages: Vec<u32> = (0..lengths.len()).map(|_| zipf(random.below(1200))).collect();
    let tokens = lengths.total();
    let cases = [lengths.clone().together(&dialogues), lengths.clone().kinds(&languages)];
    for (case, lengths) in cases.into_iter().enumerate() {
        let lengths = lengths.unwrap();
        for ranks in [1, 2] {
            let plan = planner("proportional", "padded:65536")
                .over_long(OverLong::Truncate)
                .update(Update::Tokens(tokens / 40))
                .for_ranks(ranks)
                .plan(&lengths, 0)
                .unwrap();
            let schedule = plan.schedule(ranks).unwrap();
            let mix = schedule.step_mix(&lengths).log_length;
            assert!(schedule.len().abs_diff(40) <= 2, "{case} {ranks}: {} steps", schedule.len());
            let blurred = planner("blurred", "padded:65536")
                .over_long(OverLong::Truncate)
                .update(Update::Tokens(tokens / 40))
                .for_ranks(ranks)
                .plan(&lengths, 0)
                .unwrap();
            let steps = blurred.schedule(ranks).unwrap().len();
            assert!(
                steps.abs_diff(40) <= 2,
                "{case} {ranks}: {steps} steps of {} batches",
                blurred.len()
            );
            assert!(mix < 1.5, "{case} {ranks}: {mix}");
        }
    }
}

/// Trainers ask once how many steps an epoch has.
#[test]
fn steps_are_constant_with_groups_that_share_a_rank_and_with_a_mix() {
    let lengths = Example::Documents.lengths();
    let lengths = Lengths::new(lengths.as_slice()[..1600].to_vec()).unwrap();
    let ids: Vec<u32> = (0..1600).map(|at| at / 8).collect();
    let kinds: Vec<u32> = ids.iter().map(|id| [0, 0, 0, 1, 1, 2][*id as usize % 6]).collect();
    let lengths = lengths.together(&ids).unwrap().kinds(&kinds).unwrap();
    let whole = |own: &BTreeSet<u32>| {
        own.iter().all(|&one| (0..8).all(|at| own.contains(&(one / 8 * 8 + at))))
    };
    let mix = Mix::new([1.0, 1.0, 1.0]).unwrap();
    for (number, (strategy, share, mix, update)) in [
        ("packed", Together::Rank, None, None),
        ("proportional", Together::Rank, None, None),
        ("proportional", Together::Rank, Some(&mix), Some(200_000)),
        ("packed", Together::Rank, Some(&mix), Some(200_000)),
        ("proportional", Together::Batch, Some(&mix), Some(300_000)),
        ("blurred", Together::Batch, Some(&mix), Some(300_000)),
        ("packed", Together::Batch, Some(&mix), Some(300_000)),
        ("shuffled", Together::Batch, Some(&mix), None),
        ("packed", Together::Batch, Some(&mix), None),
        ("sorted", Together::Batch, Some(&mix), None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut planner = planner(strategy, "padded:65536").over_long(OverLong::Drop).share(share);
        planner = mix.map_or(planner.clone(), |mix| planner.mix(mix.clone()));
        planner = update.map_or(planner.clone(), |tokens| planner.update(Update::Tokens(tokens)));
        let planner = planner.for_ranks(4).constant_steps(&lengths).unwrap();
        let mut first = None;
        for epoch in 0..24 {
            let plan = planner.plan(&lengths, epoch).unwrap();
            let schedule = plan.schedule(4).unwrap();
            let steps = (schedule.len(), schedule.accumulate());
            assert_eq!(*first.get_or_insert(steps), steps, "{number}, epoch {epoch}");
            for rank in 0..4 {
                let own = schedule.for_rank(rank).unwrap();
                let batches: Vec<&[u32]> = own.iter().collect();
                for batch in &batches {
                    assert!(
                        batch.iter().all(|&one| kinds[one as usize] == kinds[batch[0] as usize])
                    );
                }
                for step in batches.chunks(steps.1 as usize) {
                    assert!(whole(&step.iter().copied().flatten().copied().collect()), "{number}");
                }
            }
        }
    }
}
