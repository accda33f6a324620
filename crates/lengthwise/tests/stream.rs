//! Batches of streams: within the budget, each sequence once, no long waits, and exact resume.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use lengthwise::{
    Budget, CostModel, Error, Example, OverLong, Shapes, Tail,
    custom::{Purpose, Rng},
    stream::{Pivot, StreamBatch, StreamState, Streamer},
};
use proptest::{collection::vec, prelude::*, sample::select, strategy::Strategy as Strategy_};

/// All batches of a rank over these lengths.
fn batches(streamer: &Streamer, lengths: &[u32]) -> Vec<StreamBatch<u32>> {
    let length = |&length: &u32| length;
    streamer.over(lengths.iter().copied(), length).unwrap().map(Result::unwrap).collect()
}

/// What is compared after a resume.
fn rest(streamer: &Streamer, state: &StreamState, lengths: &[u32]) -> Vec<StreamBatch<u32>> {
    let source = lengths.iter().copied().skip(state.from() as usize);
    let rest = streamer.resume_over(state, source, |&length| length).unwrap();
    rest.map(Result::unwrap).collect()
}

fn random_lengths(count: u32, below: u32, seed: u64) -> Vec<u32> {
    let mut stream = Rng::new(seed, 0).stream(Purpose::Own(1));
    (0..count).map(|_| 1 + stream.below(below)).collect()
}

fn budgets() -> Vec<Budget> {
    vec![
        Budget::sequences(1),
        Budget::sequences(7),
        Budget::padded(64),
        Budget::padded(300),
        Budget::padded(500).at_most(9),
        Budget::padded(400).multiple_of(4),
        Budget::cost(CostModel::new(1e-3, 1e-5, 1e-6, 1e-8).unwrap(), 0.005),
    ]
}

fn streamers() -> impl Strategy_<Value = Streamer> {
    let shapes =
        vec![Shapes::Exact, Shapes::Multiple(8), Shapes::Ladder(4), Shapes::Rungs(vec![5, 20, 64])];
    let settings = (select(budgets()), select(shapes), 12_u32..80, 0_u64..4);
    let ranks = (1_u32..6, select(Tail::ALL.to_vec()), any::<bool>());
    (settings, ranks).prop_map(|((budget, shapes, window, seed), (ranks, tail, quantile))| {
        let ranks = if quantile { 1 } else { ranks };
        Streamer::new(budget)
            .shapes(shapes)
            .window(window)
            .seed(seed)
            .rank(0, ranks)
            .tail(tail)
            .pivot(if quantile { Pivot::Quantile } else { Pivot::Oldest })
    })
}

fn lengths() -> impl Strategy_<Value = Vec<u32>> {
    prop_oneof![vec(1_u32..=64, 0..400), vec(1_u32..=3, 0..400), vec(Just(17_u32), 0..200)]
}

/// The world size that was drawn.
fn world_size(streamer: &Streamer) -> u32 {
    (1..8).find(|&ranks| streamer.clone().rank(ranks, ranks + 1).feed().is_ok()).map_or(1, |_| {
        let text = format!("{streamer:?}");
        let (_, after) = text.split_once("ranks: ").unwrap();
        after.split(',').next().unwrap().parse().unwrap()
    })
}

fn fits(budget: &Budget, size: usize, length: u32) -> bool {
    let text = budget.to_string();
    let cells = size as u64 * u64::from(length);
    let number = |text: &str| -> u64 {
        text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    let after = |name: &str| text.split_once(name).map(|(_, after)| number(after));
    after("sequences:").is_none_or(|most| size as u64 <= most)
        && after("padded:").is_none_or(|most| cells <= most)
        && after("at-most=").is_none_or(|most| size as u64 <= most)
        && (!text.starts_with("cost") || {
            let model = CostModel::new(1e-3, 1e-5, 1e-6, 1e-8).unwrap();
            model.seconds(size as u32, length) <= 0.005
        })
}

/// The budget that was drawn.
fn budget(streamer: &Streamer) -> Budget {
    budgets()
        .into_iter()
        .find(|budget| format!("{streamer:?}").contains(&format!("{budget:?}")))
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every batch is within the budget and not shorter than its sequences, all ranks take as many
    /// batches, and each sequence is seen exactly once, but for what the tail says.
    #[test]
    fn batches_keep_the_budget_and_lose_nothing(streamer in streamers(), lengths in lengths()) {
        let (ranks, budget) = (world_size(&streamer), budget(&streamer));
        let all: Vec<_> =
            (0..ranks).map(|rank| batches(&streamer.clone().rank(rank, ranks), &lengths)).collect();
        let mut seen = BTreeMap::new();
        for batch in all.iter().flatten() {
            prop_assert!(fits(&budget, batch.items.len(), batch.length), "{batch:?} {budget}");
            for (&position, &item) in batch.positions.iter().zip(&batch.items) {
                prop_assert_eq!(lengths[position as usize], item);
                prop_assert!(item <= batch.length);
                *seen.entry(position).or_insert(0) += 1;
            }
        }
        let steps = all[0].len();
        prop_assert!(all.iter().all(|batches| batches.len() == steps));
        let text = format!("{streamer:?}");
        if !text.contains("tail: Drop") {
            prop_assert_eq!(seen.len(), lengths.len());
        }
        if text.contains("tail: Drop") || ranks == 1 {
            prop_assert!(seen.values().all(|&times| times == 1));
        }
        // Only the last step has anything twice.
        let before = all.iter().flat_map(|batches| &batches[..steps.saturating_sub(1)]);
        let mut once = BTreeSet::new();
        prop_assert!(before.flat_map(|batch| &batch.positions).all(|&position| once.insert(position)));
        // And under `split` only where it has fewer sequences than there are ranks.
        if text.contains("tail: Split") && seen.values().any(|&times| times > 1) {
            let last = all.iter().flat_map(|batches| &batches[steps - 1].positions);
            prop_assert!((last.collect::<BTreeSet<_>>().len() as u32) < ranks);
        }
    }

    /// From the state after every step all that comes is the same, on every rank.
    #[test]
    fn states_go_on_exactly(streamer in streamers(), lengths in lengths()) {
        let ranks = world_size(&streamer);
        let streamer = streamer.rank(ranks - 1, ranks);
        let whole = batches(&streamer, &lengths);
        let mut running = streamer.over(lengths.iter().copied(), |&length| length).unwrap();
        for step in 0..=whole.len() {
            let state = running.state();
            prop_assert_eq!(state.steps, step as u64);
            let rest = rest(&streamer, &state, &lengths);
            prop_assert_eq!(&rest[..], &whole[step..], "after {} steps", step);
            // All ranks have the same state, also while they read again.
            let again = streamer.clone().rank(0, ranks).resume(&state).unwrap();
            prop_assert_eq!(again.state(), state);
            running.next();
        }
    }

    /// A step takes the oldest, so no sequence is held for more steps than there are places; with quantiles
    /// three windows of steps are enough on streams that stay as they are.
    #[test]
    fn no_sequence_waits_long(streamer in streamers(), lengths in lengths()) {
        let mut feed = streamer.feed().unwrap();
        let window = feed_window(&streamer);
        let bound = if format!("{streamer:?}").contains("Quantile") { 3 * window } else { window };
        let (mut came, mut steps) = (BTreeMap::new(), 0_u64);
        let mut source = lengths.iter();
        loop {
            while feed.needs() {
                match source.next() {
                    Some(&length) => {
                        came.insert(feed.position(), steps);
                        feed.push(length).unwrap();
                    }
                    None => feed.end().unwrap(),
                }
            }
            prop_assert!(u64::from(feed.held()) <= window);
            let before = feed.state();
            let Some(step) = feed.step().unwrap() else { break };
            steps += 1;
            for position in step.batches().flat_map(|batch| batch.positions.to_vec()) {
                prop_assert!(steps - came[&position] <= bound);
            }
            // Rungs are learned by the step.
            let rungs = feed.rungs().to_vec();
            prop_assert_eq!(feed.state_before_step(), StreamState { rungs, ..before });
        }
    }

    /// Resumed with other numbers of ranks, again and again: all are seen, and what is seen twice is
    /// of the last step.
    #[test]
    fn ranks_may_change(lengths in vec(1_u32..=64, 100..400), counts in vec(1_u32..6, 1..5)) {
        let base = Streamer::new(Budget::padded(300)).window(40).seed(5);
        let (mut state, mut seen) = (base.feed().unwrap().state(), Vec::new());
        for (turn, &ranks) in counts.iter().enumerate() {
            let last = turn + 1 == counts.len();
            let mut states = Vec::new();
            for rank in 0..ranks {
                let source = lengths.iter().copied().skip(state.from() as usize);
                let streamer = base.clone().rank(rank, ranks);
                let mut running = streamer.resume_over(&state, source, |&length| length).unwrap();
                let some = running.by_ref().take(if last { usize::MAX } else { 3 });
                seen.extend(some.flat_map(|batch| batch.unwrap().positions));
                states.push(running.state());
            }
            prop_assert!(states.iter().all(|other| *other == states[0]));
            state = states.swap_remove(0);
        }
        let distinct: BTreeSet<u64> = seen.iter().copied().collect();
        prop_assert_eq!(distinct.len(), lengths.len());
        prop_assert!(seen.len() - distinct.len() < 6);
    }
}

/// The window that was drawn.
fn feed_window(streamer: &Streamer) -> u64 {
    let text = format!("{streamer:?}");
    text.split_once("window: ").unwrap().1.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_stream_need_not_end() {
    let endless = Example::Speech.lengths();
    let endless = endless.as_slice().iter().copied().cycle();
    let streamer = Streamer::new(Budget::padded(12_800)).window(512);
    let taken = streamer.over(endless, |&length| length).unwrap().take(3000);
    let (mut cells, mut filled) = (0_u64, 0_u64);
    for batch in taken.map(Result::unwrap) {
        cells += batch.items.len() as u64 * u64::from(batch.length);
        filled += batch.items.iter().copied().map(u64::from).sum::<u64>();
    }
    assert!(filled as f64 > 0.97 * cells as f64, "{filled} of {cells}");
}

#[test]
fn an_empty_stream_has_no_batches() {
    for ranks in [1, 4] {
        for tail in Tail::ALL {
            let streamer = Streamer::new(Budget::padded(100)).rank(0, ranks).tail(tail);
            assert!(batches(&streamer, &[]).is_empty());
        }
    }
}

#[test]
fn a_window_of_one_keeps_the_order() {
    let lengths = random_lengths(100, 30, 1);
    let streamer = Streamer::new(Budget::padded(64)).window(1);
    let positions: Vec<u64> =
        batches(&streamer, &lengths).into_iter().flat_map(|batch| batch.positions).collect();
    assert!(positions.into_iter().eq(0..100));
}

#[test]
fn a_window_below_a_batch_makes_smaller_batches() {
    let lengths = random_lengths(1000, 30, 1);
    for ranks in [1, 4] {
        let streamer = Streamer::new(Budget::sequences(64)).window(10).rank(ranks - 1, ranks);
        let made = batches(&streamer, &lengths);
        assert_eq!(made.len(), 100);
        let sizes: BTreeSet<usize> = made.iter().map(|batch| batch.items.len()).collect();
        assert!(sizes.iter().all(|&size| (2..=10).contains(&size)), "{sizes:?}");
    }
}

/// Nothing to sort by is no reason to keep the order of the stream.
#[test]
fn equal_lengths_meet_at_random() {
    let lengths = vec![9; 20_000];
    let made = batches(&Streamer::new(Budget::sequences(10)).window(1000), &lengths);
    assert!(made.iter().all(|batch| batch.items.len() == 10 && batch.length == 9));
    let spread: f64 = made
        .iter()
        .map(|batch| {
            let least = batch.positions.iter().min().unwrap();
            (batch.positions.iter().max().unwrap() - least) as f64
        })
        .sum::<f64>()
        / made.len() as f64;
    assert!(spread > 1000.0, "{spread}");
    let other = batches(&Streamer::new(Budget::sequences(10)).window(1000).seed(1), &lengths);
    assert_ne!(made, other);
    let other = batches(&Streamer::new(Budget::sequences(10)).window(1000).epoch(1), &lengths);
    assert_ne!(made, other);
}

#[test]
fn larger_windows_pad_less() {
    for example in Example::ALL {
        let lengths = example.lengths();
        let budget = Budget::padded(4 * u64::from(lengths.max()));
        let padding = [64, 512, 4096].map(|window| {
            let made = batches(&Streamer::new(budget).window(window), lengths.as_slice());
            let cells: u64 = made.iter().map(|b| b.items.len() as u64 * u64::from(b.length)).sum();
            1.0 - lengths.total() as f64 / cells as f64
        });
        assert!(padding.is_sorted_by(|more, less| more > less), "{example} {padding:?}");
        assert!(padding[2] < 0.05, "{example} {padding:?}");
    }
}

/// On a ladder all batches have one of its lengths, and batch-mates are of one rung where possible.
#[test]
fn ladders_are_learned_and_kept() {
    let lengths = Example::Speech.lengths();
    let streamer = Streamer::new(Budget::padded(12_800)).shapes(Shapes::Ladder(8)).window(1024);
    let mut running = streamer.over(lengths.as_slice().iter().copied(), |&length| length).unwrap();
    assert!(running.feed().rungs().is_empty());
    let made: Vec<_> = running.by_ref().map(Result::unwrap).collect();
    let rungs = running.state().rungs;
    assert!((8..11).contains(&rungs.len()), "{rungs:?}");
    assert!(made.iter().all(|batch| rungs.contains(&batch.length)));
    let full = made.iter().filter(|batch| {
        let size = 12_800 / batch.length;
        batch.items.len() == size as usize
    });
    assert!(full.count() * 100 > made.len() * 98);
}

/// A record adds a rung above it, and no more than that.
#[test]
fn longer_sequences_add_rungs() {
    let mut lengths = random_lengths(2000, 50, 2);
    lengths[1500] = 300;
    lengths[1600] = 320;
    lengths[1700] = 400;
    let streamer = Streamer::new(Budget::padded(410)).shapes(Shapes::Ladder(3)).window(100);
    let mut running = streamer.over(lengths.iter().copied(), |&length| length).unwrap();
    let alone: Vec<_> = running.by_ref().map(Result::unwrap).filter(|b| b.length > 60).collect();
    assert_eq!(alone.iter().map(|batch| batch.length).collect::<Vec<_>>(), [337, 337, 410]);
    let state = running.state();
    assert_eq!(state.rungs[3..], [337, 410]);
}

#[test]
fn over_long_sequences_are_treated_as_asked() {
    let lengths = [5, 200, 6, 150, 7];
    let streamer = Streamer::new(Budget::padded(100)).window(4);
    let first = streamer.over(lengths, |&length| length).unwrap().next().unwrap();
    let error = first.unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 1 of length 200 alone costs 200 cells, over the budget of 100"
    );
    let treated = |over_long| batches(&streamer.clone().over_long(over_long), &lengths);
    let alone = treated(OverLong::Alone);
    assert_eq!(alone.iter().filter(|batch| batch.length > 100).count(), 2);
    assert!(alone.iter().all(|batch| batch.length <= 100 || batch.items.len() == 1));
    assert_eq!(alone.iter().map(|batch| batch.items.len()).sum::<usize>(), 5);
    let dropped = treated(OverLong::Drop);
    assert_eq!(dropped.iter().map(|batch| batch.items.len()).sum::<usize>(), 3);
    assert_eq!(dropped.iter().flat_map(|batch| batch.left_out.clone()).collect::<Vec<_>>(), [1, 3]);
    let cut = treated(OverLong::Truncate);
    assert_eq!(cut.iter().map(|batch| batch.items.len()).sum::<usize>(), 5);
    assert!(cut.iter().all(|batch| batch.length as usize * batch.items.len() <= 100));

    let streamer = Streamer::new(Budget::sequences(2)).shapes(Shapes::Rungs(vec![10, 160]));
    let error = streamer.over(lengths, |&length| length).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error, Error::LadderTooShort { top: 160, index: 1, length: 200 });
    let error = streamer.over([4, 0], |&length| length).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "sequence 1 has length 0");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let streamer = |budget: &str| Streamer::new(budget.parse().unwrap());
    for (streamer, what) in [
        (streamer("dynamic:4"), "the budget of a stream cannot be `dynamic:4`"),
        (streamer("padded:100").window(0), "the window cannot be `0`"),
        (streamer("padded:100").window(3).rank(0, 4), "the window cannot be `3`"),
        (streamer("padded:100").rank(4, 4), "there is no rank 4 among 4 ranks"),
        (streamer("padded:100").rank(0, 0), "there are no ranks"),
        (
            streamer("padded:100").rank(0, 2).pivot(Pivot::Quantile),
            "the pivot of several ranks that read one stream cannot be `quantile`",
        ),
        (streamer("padded:100").shapes(Shapes::Ladder(0)), "shapes `ladder` cannot be `0`"),
    ] {
        let error = streamer.feed().unwrap_err();
        assert_eq!(error.to_string(), what);
        assert!(error.hint().is_some());
    }
    let given = streamer("dynamic:4").shapes(Shapes::Rungs(vec![10, 20]));
    let made = batches(&given, &random_lengths(100, 20, 3));
    assert!(made.iter().all(|batch| batch.items.len() as u32 * batch.length <= 80));
}

/// Nothing is held that no step could have.
#[test]
fn what_is_not_needed_is_refused() {
    let mut feed = Streamer::new(Budget::sequences(1)).window(2).feed().unwrap();
    feed.push(3).unwrap();
    feed.push(4).unwrap();
    assert_eq!(feed.push(5), Err(Error::NotNeeded { position: 2, ended: false }));
    feed.step().unwrap();
    feed.end().unwrap();
    assert_eq!(feed.push(5), Err(Error::NotNeeded { position: 2, ended: true }));
    assert!(feed.step().unwrap().is_some() && feed.step().unwrap().is_none());
}

/// A ladder that was learned from a few lines is not kept for a file that grows.
#[test]
fn what_is_left_out_is_in_no_batch_and_is_not_asked_for_again() {
    let streamer = Streamer::new(Budget::padded(60)).window(16).seed(3);
    let lengths = random_lengths(200, 20, 1);
    let out = |position: u64| position % 7 == 2;
    // Plans up to so many steps; gives the batches, and how many lengths were asked for.
    let run = |feed: &mut lengthwise::stream::Feed, steps: usize| {
        let (mut batches, mut asked) = (Vec::new(), 0);
        while batches.len() < steps {
            while feed.needs() {
                let position = feed.position();
                match lengths.get(position as usize) {
                    None => feed.end().unwrap(),
                    Some(_) if feed.was_taken(position) || out(position) => {
                        feed.leave_out().unwrap();
                    }
                    Some(&length) => {
                        asked += 1;
                        feed.push(length).unwrap();
                    }
                }
            }
            let Some(step) = feed.step().unwrap() else { break };
            batches.push(step.batch(0).positions.to_vec());
        }
        (batches, asked)
    };
    let (whole, _) = run(&mut streamer.feed().unwrap(), usize::MAX);
    let mut seen: Vec<u64> = whole.concat();
    seen.sort_unstable();
    assert_eq!(seen, (0..200).filter(|&position| !out(position)).collect::<Vec<_>>());
    for steps in [0, 1, 9, whole.len()] {
        let mut feed = streamer.feed().unwrap();
        let (before, _) = run(&mut feed, steps);
        let mut resumed = streamer.resume(&feed.state()).unwrap();
        let (after, asked) = run(&mut resumed, usize::MAX);
        assert_eq!(asked, after.concat().len());
        assert_eq!([before, after].concat(), whole);
        assert_eq!(resumed.over_long(), (200 / 7 + 1, 0));
    }
    let mut ended = streamer.feed().unwrap();
    ended.end().unwrap();
    assert!(matches!(ended.leave_out(), Err(Error::NotNeeded { position: 0, ended: true })));
}

#[test]
fn ladders_of_short_beginnings_are_learned_anew() {
    let streamer = Streamer::new(Budget::padded(300)).window(50).shapes(Shapes::Ladder(3));
    let lengths = random_lengths(400, 60, 8);
    let ended = |state: &StreamState, lengths: &[u32]| {
        let source = lengths.iter().copied().skip(state.from() as usize);
        let mut running = streamer.resume_over(state, source, |&length| length).unwrap();
        assert!(running.by_ref().all(|batch| batch.is_ok()));
        running.state()
    };
    let none = streamer.feed().unwrap().state();
    let first = ended(&none, &lengths[..3]);
    assert!(first.rungs.is_empty() && first.read == 3);
    let second = ended(&first, &lengths[..200]);
    assert!(second.rungs.len() >= 3);
    assert_eq!(ended(&second, &lengths).rungs[..3], second.rungs[..3]);
}

/// What is left out or cut need not be rounded.
#[test]
fn over_long_lengths_are_not_rounded() {
    let streamer = Streamer::new(Budget::padded(100)).shapes(Shapes::Multiple(8));
    for (over_long, sizes) in [(OverLong::Drop, vec![1]), (OverLong::Truncate, vec![1, 1])] {
        let made = batches(&streamer.clone().over_long(over_long), &[7, u32::MAX]);
        let made: Vec<usize> = made.iter().map(|batch| batch.items.len()).collect();
        assert_eq!(made, sizes);
    }
    let mut feed = streamer.over_long(OverLong::Alone).feed().unwrap();
    assert!(matches!(feed.push(u32::MAX), Err(Error::LengthOverflow { .. })));
}

#[test]
fn states_of_other_streams_are_refused() {
    let lengths = random_lengths(500, 50, 4);
    let streamer = Streamer::new(Budget::padded(300)).window(50);
    let mut running = streamer.over(lengths.iter().copied(), |&length| length).unwrap();
    _ = running.by_ref().take(10).count();
    let state = running.state();
    for (other, what) in [
        (Streamer::new(Budget::padded(301)).window(50), "budget `padded:300`"),
        (streamer.clone().window(51), "window `50`"),
        (streamer.clone().shapes(Shapes::Multiple(8)), "shapes `exact`"),
        (streamer.clone().pivot(Pivot::Quantile), "pivot `oldest`"),
        (streamer.clone().seed(1), "seed `0`"),
        (streamer.clone().epoch(1), "epoch `0`"),
    ] {
        let error = other.resume(&state).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }

    // What is over-long was an error, so it may now be treated in another way, but not the reverse.
    let dropping = streamer.clone().over_long(OverLong::Drop);
    assert_eq!(rest(&dropping, &state, &lengths), rest(&streamer, &state, &lengths));
    let mut running = dropping.over(lengths.iter().copied(), |&length| length).unwrap();
    _ = running.by_ref().take(10).count();
    let error = streamer.resume(&running.state()).unwrap_err();
    assert!(error.to_string().contains("over_long `drop`"), "{error}");

    // Another source, or one that is read from elsewhere.
    let first = |source: Vec<u32>| {
        streamer.resume_over(&state, source, |&length| length).unwrap().next().unwrap().unwrap_err()
    };
    let error = first(lengths.clone());
    assert!(matches!(&error, Error::OtherStream { what, .. } if what == "lengths"), "{error}");
    let error = first(lengths[state.from() as usize..][..20].to_vec());
    let read = state.read;
    assert_eq!(error, Error::StreamTooShort { at: state.from() + 20, read });

    let broken = |change: &dyn Fn(&mut StreamState)| {
        let mut state = state.clone();
        change(&mut state);
        streamer.resume(&state).unwrap_err()
    };
    for error in [
        broken(&|state| state.held.reverse()),
        broken(&|state| state.held.extend(1000..1100)),
        broken(&|state| state.read = state.from()),
        broken(&|state| state.rungs = vec![4, 4]),
        broken(&|state| (state.read, state.held) = (u64::MAX, Vec::new())),
        broken(&|state| state.steps = u64::MAX),
    ] {
        assert!(matches!(error, Error::BadState { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

/// The mean over steps of how long ranks work while the slowest does.
fn busy(works: &[Vec<f64>]) -> f64 {
    let steps = works.iter().map(Vec::len).min().unwrap();
    let (mut work, mut time) = (0.0, 0.0);
    for step in 0..steps {
        let of = works.iter().map(|rank| rank[step]);
        work += of.clone().sum::<f64>();
        time += of.fold(0.0, f64::max) * works.len() as f64;
    }
    work / time
}

/// Ranks that read one stream, and ranks with streams of their own, wait little for each other, and
/// far less than with batches in the order of the stream.
#[test]
fn ranks_have_equal_work() {
    let lengths = Example::Speech.lengths();
    let work = |batches: Vec<StreamBatch<u32>>| -> Vec<f64> {
        batches.iter().map(|batch| f64::from(batch.length)).collect()
    };
    let streamer = Streamer::new(Budget::sequences(16)).window(2048);
    let one: Vec<_> = (0..8)
        .map(|rank| work(batches(&streamer.clone().rank(rank, 8), lengths.as_slice())))
        .collect();
    let shard = |rank: usize| -> Vec<u32> {
        lengths.as_slice().iter().skip(rank).step_by(8).copied().cycle().take(10_000).collect()
    };
    let quantile = streamer.clone().window(512).pivot(Pivot::Quantile);
    let own: Vec<_> =
        (0..8).map(|rank| work(batches(&quantile, &shard(rank))[..500].to_vec())).collect();
    let plain: Vec<_> = (0..8)
        .map(|rank| {
            let shard = shard(rank);
            shard.chunks(16).map(|batch| f64::from(*batch.iter().max().unwrap())).collect()
        })
        .collect();
    let own_oldest: Vec<_> = (0..8)
        .map(|rank| work(batches(&streamer.clone().window(512), &shard(rank))[..500].to_vec()))
        .collect();
    let [one, own, plain, own_oldest] = [one, own, plain, own_oldest].map(|works| busy(&works));
    assert!(one > 0.96, "{one}");
    assert!(own > 0.93, "{own}");
    assert!(plain < 0.97 && own_oldest < 0.8, "{plain} {own_oldest}");
}

/// So they do where most batches are of many short sequences, and what fills a batch alone waits for many
/// windows of others until its place is met.
#[test]
fn ranks_with_streams_of_their_own_keep_in_step_on_heavy_tails() {
    let lengths = Example::Documents.lengths();
    let own = |rank: u64| -> Vec<u32> {
        let mut random = Rng::new(rank, 0).stream(Purpose::Own(0));
        let count = lengths.len() as u32;
        (0..60_000).map(|_| lengths.as_slice()[random.below(count) as usize]).collect()
    };
    let works = |pivot: Pivot| -> Vec<Vec<f64>> {
        let streamer = Streamer::new(Budget::padded(24_000)).window(1024).pivot(pivot);
        let length = |batch: &StreamBatch<u32>| f64::from(batch.length);
        let made = (0..8).map(|rank| batches(&streamer, &own(rank))[..1200].to_vec());
        made.map(|batches| batches.iter().map(length).collect()).collect()
    };
    let [quantile, oldest] = [Pivot::Quantile, Pivot::Oldest].map(|pivot| busy(&works(pivot)));
    assert!(quantile > 0.9, "{quantile}");
    assert!(oldest < 0.5, "{oldest}");
}

/// What streams are today they stay: a digest of the batches of every setting.
#[test]
fn streams_do_not_change() {
    let lengths = Example::Documents.lengths();
    let mut digests = String::new();
    for (shapes, pivot, ranks) in [
        (Shapes::Exact, Pivot::Oldest, 1),
        (Shapes::Exact, Pivot::Quantile, 1),
        (Shapes::Multiple(64), Pivot::Oldest, 4),
        (Shapes::Ladder(8), Pivot::Oldest, 3),
    ] {
        let streamer = Streamer::new(Budget::padded(24_000))
            .window(500)
            .shapes(shapes.clone())
            .pivot(pivot)
            .rank(ranks - 1, ranks)
            .seed(7);
        let made = batches(&streamer, lengths.as_slice());
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        for number in made
            .iter()
            .flat_map(|batch| batch.positions.iter().copied().chain([u64::from(batch.length)]))
        {
            digest = (digest ^ number).wrapping_mul(0x100_0000_01b3);
        }
        _ = writeln!(digests, "{shapes} {pivot} {ranks}: {} batches, {digest:016x}", made.len());
    }
    expect_test::expect![[r#"
        exact oldest 1: 154 batches, a629ffc76c6dfca4
        exact quantile 1: 154 batches, cb1225c3855c832c
        multiple:64 oldest 4: 41 batches, 39ab6b57b2b1555d
        ladder:8 oldest 3: 66 batches, 378f6c2483ca3227
    "#]]
    .assert_eq(&digests);
}
