//! What lengths, plans and settings tell of themselves.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use expect_test::expect;
use lengthwise::{
    Arrange, Budget, Chunks, Error, Example, Lengths, OverLong, Plan, Planner, Shapes, Steps,
    Strategy, Tail, Update, Workspace,
    balance::Balance,
    groups::{Mix, Together},
    measure::{Mixing, Per},
    shard::{Needs, Shard, Statistics},
    strategy::Rotating,
    stream::{StreamState, Streamer},
    tune::{Conditions, Curve, Family, Kind, Like, Limits, Model},
};

fn some() -> Lengths {
    Lengths::new([5, 3, 9, 3, 7, 1]).unwrap()
}

#[test]
fn pages_have_a_title_and_text() {
    let pages = [
        Arrange::explain(),
        Balance::explain(),
        Budget::explain(),
        Limits::explain(),
        Mixing::explain(),
        Shapes::explain(),
        Shard::explain(),
        Steps::explain(),
        Streamer::explain(),
        Together::explain(),
    ];
    for page in pages {
        assert!(page.starts_with("# ") && page.len() > 400, "{page}");
    }
}

#[test]
fn names_and_descriptions() {
    let families: Vec<&str> = Family::ALL.into_iter().map(Family::name).collect();
    let per: Vec<&str> = Per::ALL.into_iter().map(Per::name).collect();
    let examples: Vec<&str> = Example::ALL.into_iter().map(Example::describe).collect();
    expect![[r#"
        ["blurred", "semi-sorted", "alternated", "bucketed", "length-buckets", "optimal-buckets", "pooled"]
        ["pair", "sequence"]
        [
            "10,480 read sentences in frames, like LJSpeech",
            "6,000 web documents in tokens, with a heavy tail",
            "8,000 recordings in frames: short commands and long dictation",
        ]
    "#]].assert_eq(&format!("{families:?}\n{per:?}\n{examples:#?}\n"));
}

#[test]
fn models_are_read_as_they_are_written() {
    for text in ["attention", "recurrent", "packed", "a=0.1,c=0.001"] {
        let model: Model = text.parse().unwrap();
        assert_eq!(model.to_string().parse::<Model>().unwrap(), model);
    }
    assert_eq!("packed".parse::<Model>().unwrap(), Model::new(Kind::Packed, None));
    assert_eq!(Model::new(Kind::Recurrent, None).to_string(), "recurrent");
    assert_eq!("32".parse::<Like>().unwrap().to_string(), "32");
    let like: Like = "32,keep=steps".parse().unwrap();
    assert_eq!(
        (like.to_string(), like.update(3)),
        ("32,keep=steps".to_owned(), Some(Update::Sequences(96)))
    );
    assert_eq!(
        "packed:capacity=99".parse::<Strategy>().unwrap().own_budget(),
        Some(Budget::padded(99))
    );
    assert_eq!("packed".parse::<Strategy>().unwrap().own_budget(), None);
}

#[test]
fn impossible_limits_are_refused() {
    let check =
        |limits: Limits| limits.check().map_err(|(name, given, _)| format!("{name} {given}"));
    let mut told = Vec::new();
    for value in [-0.5, 0.0, 0.5, 1.0, 1.5, f64::NAN, f64::INFINITY] {
        let limits = [
            Limits { max_padding: Some(value), ..Limits::default() },
            Limits { min_mixing: Some(value), ..Limits::default() },
            Limits { min_mates: Some(value), ..Limits::default() },
            Limits { max_step_mix: Some(value), ..Limits::default() },
            Limits { max_seconds: Some(value), ..Limits::default() },
        ];
        told.extend(limits.map(check).into_iter().filter_map(Result::err));
    }
    assert_eq!(check(Limits { max_shapes: Some(1), ..Limits::default() }), Ok(()));
    told.extend(check(Limits { max_shapes: Some(0), ..Limits::default() }).err());
    expect![[r#"
        [
            "max_padding -0.5",
            "min_mixing -0.5",
            "min_mates -0.5",
            "max_step_mix -0.5",
            "max_seconds -0.5",
            "max_padding 0",
            "min_mates 0",
            "max_step_mix 0",
            "max_seconds 0",
            "min_mates 0.5",
            "max_padding 1",
            "max_padding 1.5",
            "min_mixing 1.5",
            "max_padding NaN",
            "min_mixing NaN",
            "min_mates NaN",
            "max_step_mix NaN",
            "max_seconds NaN",
            "max_padding inf",
            "min_mixing inf",
            "min_mates inf",
            "max_seconds inf",
        ]
    "#]]
    .assert_eq(&format!("{told:#?}\n"));
}

#[test]
fn plans_tell_of_themselves() {
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(12));
    let (plan, workspace) = (planner.plan(&some(), 0).unwrap(), Workspace::new());
    let spans = planner.spans_in(&workspace, &some(), 0).unwrap();
    expect![[r#"
        Plan { batches: 4, sequences: 6, digest: ce8838880ed51869, .. }
        SpanPlan { batches: 4, sequences: 6, digest: ce8838880ed51869, .. }
        Workspace { threads: None, memory: None, .. }
        [5, 3, 9, 3, 7, 1]
    "#]]
    .assert_eq(&format!("{plan:?}\n{spans:?}\n{workspace:?}\n{:?}\n", some().as_slice()));
    assert_eq!((spans.len(), spans.sequences(), spans.is_empty()), (plan.len(), 6, false));
    for batch in 0..plan.len() + 2 {
        let expected = plan.get(batch).zip(plan.batch_length(batch));
        assert_eq!(spans.get(batch), expected, "{batch}");
    }
    let back: Vec<&[u32]> = plan.iter().rev().collect();
    let mut forth: Vec<&[u32]> = plan.iter().collect();
    forth.reverse();
    assert_eq!(back, forth);
    assert_eq!(plan.iter().len(), plan.len());
    let mut one = plan.iter();
    assert_eq!((one.next_back(), one.len()), (plan.get(plan.len() - 1), plan.len() - 1));
}

#[test]
fn second_batch_lengths_are_checked() {
    let plan = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(3));
    let plan = plan.plan(&some(), 0).unwrap();
    let paired = plan.with_second_batch_lengths(vec![4, 6]).unwrap();
    assert_eq!(paired.second_batch_lengths(), Some(&[4, 6][..]));
    assert_eq!(paired.indices(), plan.indices());
    for (seconds, what) in
        [(vec![4], "2 batches and 1 second"), (vec![4, 0], "batch 1 are padded to 0")]
    {
        let error = plan.with_second_batch_lengths(seconds).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// What idle time follows depends on the settings.
#[test]
fn time_follows_a_model_or_the_way_of_steps() {
    let told = |text: &str, steps: Steps, model: Option<&str>| {
        let mut planner =
            Planner::new(text.parse::<Strategy>().unwrap(), Budget::padded(20)).steps(steps);
        if let Some(model) = model {
            planner = planner.cost_model(model.parse().unwrap());
        }
        planner.plan(&some(), 0).unwrap().provenance().time_follows()
    };
    assert_eq!(told("sorted", Steps::Stratified, None), "cells");
    assert_eq!(told("sorted", Steps::Aligned, None), "batch length");
    assert_eq!(told("packed", Steps::Aligned, None), "cells");
    assert_eq!(told("sorted", Steps::Aligned, Some("recurrent")), "cost model");
}

#[test]
fn cursors_say_for_how_many_ranks_steps_were_planned() {
    let planner = Planner::new("proportional".parse::<Strategy>().unwrap(), Budget::padded(12));
    let lengths = Lengths::new((0..60).map(|at| 1 + at % 9).collect::<Vec<u32>>()).unwrap();
    let cursor = |planner: Planner<Strategy>, ranks| {
        planner.plan(&lengths, 0).unwrap().schedule(ranks).unwrap().cursor(1).unwrap()
    };
    let of_three = cursor(planner.update(Update::Tokens(60)).for_ranks(3), 3);
    assert_eq!((of_three.planned_ranks(), of_three.steps()), (Some(3), 1));
    let plain = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(12));
    assert_eq!(cursor(plain, 2).planned_ranks(), None);
}

#[test]
fn work_stops_when_it_is_told_to() {
    let stop = Arc::new(AtomicBool::new(false));
    let workspace = Workspace::new().stopped_by(Arc::clone(&stop));
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(12));
    assert!(workspace.check_stop().is_ok() && planner.plan_in(&workspace, &some(), 0).is_ok());
    stop.store(true, Relaxed);
    assert!(matches!(workspace.check_stop(), Err(Error::Stopped)));
    assert!(matches!(planner.plan_in(&workspace, &some(), 0), Err(Error::Stopped)));
    assert!(Workspace::new().check_stop().is_ok());
}

#[test]
fn statistics_of_lengths_and_of_shards() {
    let statistics = Statistics::of(&some());
    assert_eq!((statistics.total(), statistics.count()), (28, 6));
    assert!((statistics.mean() - 28.0 / 6.0).abs() < 1e-12);
    let needs = |shards: Vec<[u32; 2]>, most: u32, sum: u64| Needs {
        settings: String::new(),
        statistics: 0,
        of: 9,
        shards,
        most,
        least: 1,
        sum,
    };
    assert!((needs(vec![[0, 4]], 5, 15).added_share() - 0.25).abs() < 1e-12);
    assert!(needs(vec![], 5, 15).added_share().abs() < 1e-12);
    assert_eq!(needs(vec![[0, 4], [6, 9]], 5, 15).counted(), 7);
    assert_eq!(needs(vec![[0, 4], [6, 9]], 5, 15).first_missing(), Some(4));
    assert_eq!(needs(vec![[1, 9]], 5, 15).first_missing(), Some(0));
    assert_eq!(needs(vec![[0, 9]], 5, 15).first_missing(), None);
}

#[test]
fn groups_and_kinds_are_numbered_as_they_appear() {
    let plain = some();
    assert_eq!((plain.group_ids(), plain.kind_ids()), (None, None));
    assert_eq!(plain.groups_in(&[4, 2]), [4, 2]);
    let grouped = some().together(&[8, 5, 8, 2, 2, 5]).unwrap();
    assert_eq!(grouped.group_ids(), Some(&[0, 1, 0, 2, 2, 1][..]));
    assert_eq!(grouped.groups_in(&[3, 4, 0, 2]), [2, 0]);
    let kinds = some().kinds(&[4, 4, 9, 4, 9, 1]).unwrap();
    assert_eq!(kinds.kind_ids(), Some(vec![0, 0, 1, 0, 1, 2]));
    assert_eq!(kinds.group_ids(), Some(&[0, 1, 2, 3, 4, 5][..]));
}

#[test]
fn ladders_and_cycles_of_groups() {
    let lengths = Lengths::new((0..40).map(|at| 1 + at * 7 % 31).collect::<Vec<u32>>()).unwrap();
    let ids: Vec<u32> = (0..40).map(|at| at / 2).collect();
    let grouped = lengths.clone().together(&ids).unwrap();
    let planner = Planner::new(Strategy::from(Rotating { epochs: 4 }), Budget::padded(200));
    assert_eq!(planner.rungs(&grouped).unwrap(), None);
    let on_ladder = planner.clone().shapes(Shapes::Rungs(vec![16, 31]));
    assert_eq!(on_ladder.rungs(&grouped).unwrap(), Some(vec![16, 31]));
    assert_eq!(on_ladder.rungs(&lengths).unwrap(), Some(vec![16, 31]));
    let cycles = [&lengths, &grouped].map(|lengths| planner.cycle(lengths).unwrap());
    expect![[r#"
        [11, 7]
    "#]]
    .assert_eq(&format!("{cycles:?}\n"));
    let plain = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(200));
    assert_eq!((plain.cycle(&lengths).unwrap(), plain.cycle(&grouped).unwrap()), (1, 1));
}

#[test]
fn pieces_of_long_sequences() {
    let chunks = Chunks::new(&some(), 4).unwrap();
    let all: Vec<_> = (0..=chunks.len() as u32).map(|piece| chunks.get(piece)).collect();
    expect![[r#"
        10 [4, 1, 3, 4, 4, 1, 3, 4, 3, 1]
        [Some(Chunk { sequence: 0, offset: 0, length: 4 }), Some(Chunk { sequence: 0, offset: 4, length: 1 }), Some(Chunk { sequence: 1, offset: 0, length: 3 }), Some(Chunk { sequence: 2, offset: 0, length: 4 }), Some(Chunk { sequence: 2, offset: 4, length: 4 }), Some(Chunk { sequence: 2, offset: 8, length: 1 }), Some(Chunk { sequence: 3, offset: 0, length: 3 }), Some(Chunk { sequence: 4, offset: 0, length: 4 }), Some(Chunk { sequence: 4, offset: 4, length: 3 }), Some(Chunk { sequence: 5, offset: 0, length: 1 }), None]
    "#]].assert_eq(&format!("{} {:?}\n{all:?}\n", chunks.len(), chunks.lengths().as_slice()));
}

#[test]
fn groups_of_a_mix_are_counted() {
    let mix = Mix::new([3.0, 1.0, 0.5]).unwrap();
    let counts: Vec<Vec<u32>> = [1, 2, 3, 9, 10, 45].map(|groups| mix.counts(groups)).into();
    expect![[r#"
        [[1, 0, 0], [1, 1, 0], [2, 1, 0], [6, 2, 1], [7, 2, 1], [30, 10, 5]]
    "#]]
    .assert_eq(&format!("{counts:?}\n"));
}

/// Padding between two measured points is on a straight line between their logarithms.
#[test]
fn curves_are_interpolated() {
    let lengths = Example::Documents.lengths();
    let conditions = Conditions {
        budget: Budget::sequences(8),
        shapes: Shapes::Exact,
        seed: 0,
        cost_model: None,
    };
    let points = ["blurred:blur=0.01", "blurred:blur=0.1", "blurred:blur=1"];
    let points =
        points.map(|text| conditions.measure(text.parse().unwrap(), &lengths, 0, 2).unwrap());
    let curve = Curve { family: Family::Blurred, points: points.to_vec() };
    for per in Per::ALL {
        let of = |at: usize| (points[at].mixing.per(per), points[at].padding_rate);
        for (at, share) in [(0, 0.0), (0, 0.25), (0, 0.8), (1, 0.3), (1, 1.0)] {
            let ((low, less), (high, more)) = (of(at), of(at + 1));
            let level = low * (high / low).powf(share) * (1.0 - 1e-12_f64 * share);
            let expected = less * (more / less).powf(share);
            let found = curve.padding_at(level, per).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!(curve.padding_at(of(2).0 * 1.01, per), None);
        assert_eq!(curve.padding_at(of(0).0 * 0.99, per), None);
    }
}

/// The memory of large tables is refused before they are made.
#[test]
fn tables_that_are_too_large_are_refused() {
    let longest = 4_000_000;
    let lengths: Vec<u32> =
        (0..700_000_u32).map(|at| 1 + at.wrapping_mul(2_654_435_761) % longest).collect();
    let lengths = Lengths::new(lengths).unwrap();
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(16));
    let planner = planner.over_long(OverLong::Error);
    let workspace = Workspace::new().threads(1).memory(1_000_000);
    let error = planner.spans_in(&workspace, &lengths, 0).unwrap_err();
    expect![[r#"
        planning 700000 sequences by `sorted` takes about 156.8MB of memory, over the bound of 1000KB
    "#]].assert_eq(&format!("{error}\n"));
}

/// A number with commas is read as several settings, and what was meant is said.
#[test]
fn mistyped_settings_are_told_what_was_meant() {
    let budgets = [
        "padded:20,000",
        "padded:1,000,000",
        "padded:2000,000",
        "padded:20,00",
        "padded:20,0x0",
        "padded:,000",
    ];
    let mut told = String::new();
    for text in budgets {
        let error = text.parse::<Budget>().unwrap_err();
        _ = writeln!(told, "{text}: {error}; {:?}", error.hint());
    }
    for text in
        ["sortd", "sor", "so", "x", "shufled", "shuffledshuffledshuffled", "neighbors", "pck"]
    {
        let error = text.parse::<Strategy>().unwrap_err();
        _ = writeln!(told, "{text}: {:?}", error.hint());
    }
    expect![[r#"
        padded:20,000: budget `padded` cannot be `20,000`; Some("it must be written without commas: `padded:20000`")
        padded:1,000,000: budget `padded` cannot be `1,000,000`; Some("it must be written without commas: `padded:1000000`")
        padded:2000,000: unknown parameter `000` of budget `padded`; Some("its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`")
        padded:20,00: unknown parameter `00` of budget `padded`; Some("its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`")
        padded:20,0x0: unknown parameter `0x0` of budget `padded`; Some("its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`")
        padded:,000: budget `padded` cannot be `0`; Some("it must be a whole number from 1")
        sortd: Some("did you mean `sorted`? `NAMES` lists all")
        sor: Some("did you mean `sorted`? `NAMES` lists all")
        so: Some("one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`")
        x: Some("one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`")
        shufled: Some("did you mean `shuffled`? `NAMES` lists all")
        shuffledshuffledshuffled: Some("one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`")
        neighbors: Some("did you mean `neighbours`? `NAMES` lists all")
        pck: Some("one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`")
    "#]].assert_eq(&told);
}

#[test]
fn bytes_are_told_in_units() {
    let mut told = String::new();
    for needed in [9_999, 10_000, 12_345, 9_999_999, 10_000_000, 12_345_678, 12_345_678_901] {
        let error = Error::OverMemory { what: "it".to_owned(), needed, bound: needed - 1 };
        _ = writeln!(told, "{error}");
    }
    expect![[r#"
        it takes about 9999 bytes of memory, over the bound of 9998 bytes
        it takes about 10KB of memory, over the bound of 9999 bytes
        it takes about 12.4KB of memory, over the bound of 12.3KB
        it takes about 10000KB of memory, over the bound of 9999.9KB
        it takes about 10MB of memory, over the bound of 9999.9KB
        it takes about 12.4MB of memory, over the bound of 12.3MB
        it takes about 12.4GB of memory, over the bound of 12.3GB
    "#]]
    .assert_eq(&told);
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(3));
    let plan = planner.plan(&some(), 0).unwrap();
    let restore = |indices: &[u32], ends: &[u32], lengths: &[u32]| {
        let made = plan.provenance().clone();
        Plan::restore(made, indices.into(), ends.into(), lengths.into(), Vec::new())
    };
    let again = restore(plan.indices(), plan.ends(), plan.batch_lengths()).unwrap();
    assert_eq!(again.digest(), plan.digest());
    let six = [0, 1, 2, 3, 4, 5];
    let bad: [(&[u32], &[u32], &[u32]); 6] = [
        (&six, &[3, 6], &[9]),
        (&six, &[3, 3], &[9, 9]),
        (&six, &[3, 2], &[9, 9]),
        (&six, &[3, 6], &[9, 0]),
        (&six, &[3, 5], &[9, 9]),
        (&six, &[3, 7], &[9, 9]),
    ];
    let told = bad.map(|(indices, ends, lengths)| {
        format!("{}\n", restore(indices, ends, lengths).unwrap_err())
    });
    expect![[r#"
        the plan is not valid: 2 batches and 1 batch lengths
        the plan is not valid: batch 1 is empty
        the plan is not valid: batch 1 is empty
        the plan is not valid: batch 1 is empty
        the plan is not valid: the last batch ends at 5 of 6 sequences
        the plan is not valid: the last batch ends at 7 of 6 sequences
    "#]]
    .assert_eq(&told.concat());
}

/// A part of a schedule has no rest that it drops, unless it is the whole.
#[test]
fn the_first_steps_of_a_schedule() {
    let lengths = Lengths::new((0..23).map(|at| 1 + at % 9).collect::<Vec<u32>>()).unwrap();
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::sequences(2));
    let plan = planner.tail(Tail::Drop).plan(&lengths, 0).unwrap();
    let schedule = plan.schedule(5).unwrap();
    assert_eq!((schedule.len(), schedule.dropped().len()), (2, 4));
    let [one, both] = [1, 2].map(|steps| schedule.clone().first(steps).unwrap());
    assert_eq!((one.len(), one.dropped().len(), one.all_ranks().len()), (1, 0, 5));
    assert_eq!((both.len(), both.dropped()), (2, schedule.dropped()));
    let error = schedule.first(3).unwrap_err();
    assert!(matches!(error, Error::TooManySteps { asked: 3, steps: 2 }), "{error}");
}

#[test]
fn states_that_contradict_themselves_are_refused() {
    let streamer = Streamer::new(Budget::padded(30)).window(8).shapes(Shapes::Ladder(3));
    let mut feed = streamer.feed().unwrap();
    let mut numbers = Vec::new();
    for length in (0..40).map(|at| 1 + at * 7 % 13) {
        while !feed.needs() {
            let step = feed.step().unwrap().unwrap();
            numbers.push(step.number());
        }
        feed.push(length).unwrap();
    }
    assert!(numbers.len() > 3 && numbers.iter().copied().eq(0..numbers.len() as u64));
    let state = feed.state();
    assert!(streamer.resume(&state).is_ok());
    let held = &state.held;
    let changed = [
        StreamState { held: (0..9).collect(), ..state.clone() },
        StreamState { held: vec![held[1], held[0]], ..state.clone() },
        StreamState { held: vec![held[0], held[0]], ..state.clone() },
        StreamState { held: vec![state.read], ..state.clone() },
        StreamState { rungs: vec![0, 5], ..state.clone() },
        StreamState { rungs: vec![5, 5], ..state.clone() },
        StreamState { steps: u64::MAX, ..state.clone() },
        StreamState { seed: 1, ..state.clone() },
        StreamState { epoch: 1, ..state.clone() },
    ];
    let told = changed.map(|state| format!("{}\n", streamer.resume(&state).unwrap_err()));
    expect![[r#"
        the state has 9 sequences held in a window of 8, which is impossible
        the state has positions that do not rise, which is impossible
        the state has positions that do not rise, which is impossible
        the state has position 40 held of 40 that were read, which is impossible
        the state has rungs that do not rise, which is impossible
        the state has rungs that do not rise, which is impossible
        the state has a count of 18446744073709551615, which is impossible
        the state was made with seed `1`, this stream has `0`
        the state was made with epoch `1`, this stream has `0`
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn needs_of_shards_are_merged() {
    let parts = [[5, 3, 9, 3], [7, 1, 8, 2], [9, 9, 9, 9]].map(|part| Lengths::new(part).unwrap());
    let all = parts.iter().map(Statistics::of).reduce(|all, one| all.merge(&one).unwrap());
    let all = Arc::new(all.unwrap());
    let needs: Vec<Statistics> = (0..)
        .zip(&parts)
        .map(|(number, part)| {
            let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(12));
            let planner = planner.shard(Shard::new(number, 3).unwrap());
            planner.needs(&part.clone().part_of(Arc::clone(&all)).unwrap()).unwrap()
        })
        .collect();
    let of = |numbers: &[usize]| {
        let some = numbers.iter().map(|&number| needs[number].clone());
        let merged = some.reduce(|all, one| all.merge(&one).unwrap()).unwrap();
        let Needs { shards, most, least, sum, .. } = merged.needs().unwrap();
        format!("{shards:?} {least} to {most}, {sum} in all\n")
    };
    let told = [&[0][..], &[0, 1], &[1, 0], &[0, 2], &[2, 0, 1]].map(of).concat();
    expect![[r#"
        [[0, 1]] 3 to 3, 3 in all
        [[0, 2]] 3 to 3, 6 in all
        [[0, 2]] 3 to 3, 6 in all
        [[0, 1], [2, 3]] 3 to 4, 7 in all
        [[0, 3]] 3 to 4, 10 in all
    "#]]
    .assert_eq(&told);
    let twice = needs[1].merge(&needs[1]).unwrap_err();
    assert!(matches!(twice, Error::CountedTwice { shard: 1 }), "{twice}");
}

#[test]
fn mixes_are_read_as_they_are_written() {
    let mix = Mix::new([3.0, 1.0, 0.0]).unwrap();
    assert_eq!(mix.to_string(), "3/1/0");
    assert_eq!("3/1/0".parse::<Mix>().unwrap(), mix);
    assert_eq!(mix.counts(3), [2, 1, 0]);
    assert_eq!(mix.weights(), [3.0, 1.0, 0.0]);
}

/// A row is within the budget and the limits of its strategy, or it is not.
#[test]
fn rows_that_exceed_a_limit_are_not_admitted() {
    let planner = Planner::new(
        "packed:capacity=12,at-most=3".parse::<Strategy>().unwrap(),
        Budget::padded(20),
    );
    let plan = planner.plan(&some(), 0).unwrap();
    let admits = |batch: &[u32], length: u32| plan.provenance().admits(batch, length, &some());
    assert!(admits(&[0, 1, 3], 11) && admits(&[0, 4], 12));
    assert!(!admits(&[0, 4], 13) && !admits(&[1, 3, 5, 0], 12));
    assert!(plan.iter().zip(plan.batch_lengths()).all(|(row, &length)| admits(row, length)));
}
