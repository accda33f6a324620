//! The same plans on every machine. These are few and short sequences, so that Miri can plan them as a processor of 32 bits
//! and as one with the highest byte first (`scripts/miri`). A changed digest is a breaking change; see `stability.rs`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fmt::Write as _, sync::Arc};

use expect_test::expect;
use lengthwise::{
    Budget, CostModel, Lengths, Pairs, Planner, Settings, Shapes, Steps, Strategy,
    balance::{Balance, balance},
    shard::{Shard, Statistics},
    strategy::Blurred,
    stream::Streamer,
    tune::{Wanted, batches_only, recommend},
};
use xxhash_rust::xxh3::xxh3_64;

/// Some lengths from 1 to 97, with many twice.
fn some(count: u32) -> Vec<u32> {
    (0..count).map(|at| 1 + (at * at * 31 + at * 7) % 97).collect()
}

fn lengths() -> Lengths {
    Lengths::new(some(60)).unwrap()
}

/// A digest of what has none of its own: of its text.
fn digest(value: &impl std::fmt::Debug) -> u64 {
    xxh3_64(format!("{value:?}").as_bytes())
}

/// The digests of every strategy's plan under a few budgets.
fn plans(lengths: &Lengths, strategies: Vec<Strategy>) -> String {
    let settings = [
        ("sequences:7", "exact"),
        ("padded:300,multiple-of=2", "multiple:8"),
        ("dynamic:5", "ladder:4"),
        ("cost:a=0.001,b=1e-5,c=1e-6,d=1e-8,limit=0.003", "exact"),
    ];
    let mut list = String::new();
    for strategy in strategies {
        _ = write!(list, "{:24}", strategy.to_string());
        for (budget, shapes) in settings {
            let planner = Planner::new(strategy.clone(), budget.parse().unwrap());
            let planner =
                planner.shapes(shapes.parse::<Shapes>().unwrap()).seed(0x0123_4567_89ab_cdef);
            let plan = planner.plan(lengths, 1 << 40).unwrap();
            _ = write!(list, " {:016x}", plan.digest());
        }
        list.push('\n');
    }
    list
}

#[test]
fn plans_are_the_same() {
    expect![[r#"
        shuffled                 576a36456b041075 f64fa36c3d195468 c9448aeb2cfcad16 d1723a23c43069ae
        sorted                   26e50b1cecfd27d2 17e2160582ea2b6b b11d321f91ee63d6 bc24b125a0b46e78
        semi-sorted:noise=0.1    c40f3db7620d162d 4d2b1dcff6c5abd2 f2bc6cd9429e5903 cf4e360f5a9daef1
        alternated:bins=64       3ca5ee7a5f406424 f291f5c902acbef2 64b3d7a5800108e6 89b5e38b9611f548
        bucketed:size=1024       576a36456b041075 f64fa36c3d195468 64b3d7a5800108e6 d1723a23c43069ae
        length-buckets:width=250 576a36456b041075 7b491575e0c578ca f68eaf659223a0ee d1723a23c43069ae
        optimal-buckets:count=6  18b84b43c2c63843 f7b3c20769844989 31402448779733d9 6b3f05947a93a504
        neighbours               f60685347636ba0b 05595b89bfcf7ad9 a5471f837bc14b95 59afba834b77bf75
        pooled:batches=50        21f1f4d9213e255a e9d293986c44a3ae b822ccce9b094078 cf56422356fa2de0
        blurred:blur=0.02        857fd4ece92d965c 85258e522f9285b7 4304c3e155ca0a61 011d07d4ed945ce2
        rotating:epochs=16       4b4807b3308af87e 2bf3b0a7fe28650f 6031d2291c933777 4b4807b3308af87e
        proportional             22754486a0e619ce 57680fd6f1d5f964 3a98a6eba0e0dd5b 72756563ca853022
        packed                   93eaf6445ee8967a 56ca3c399c3b4fe6 8fe27002507c692c d2efc7bccdce3084
    "#]]
    .assert_eq(&plans(&lengths(), Strategy::all_of_one_length()));
}

#[test]
fn plans_of_two_lengths_are_the_same() {
    let second: Vec<u32> = some(90)[30..].iter().map(|length| 1 + length / 8).collect();
    let pairs = Pairs::new(lengths(), Lengths::new(second).unwrap()).unwrap();
    expect![[r#"
        shuffled                 c24cc1d9e5d98919 ba0098a8be0d9ed4 5dd830e157b144fc 5295dc11e51a20aa
        sorted                   0b3141484d95f92a 851a0cfd77fa53b0 853b531f824c22cd 36bbd2a88092d64a
        semi-sorted:noise=0.1    d11ac2bb6685b6b6 a15bca38759b473b 64fba32a3d56274b c37245dc984fe696
        alternated:bins=64       00ed9cd4567f72cf ba0098a8be0d9ed4 320b2aa7924f5a55 79aee3e64f581722
        bucketed:size=1024       c24cc1d9e5d98919 ba0098a8be0d9ed4 320b2aa7924f5a55 5295dc11e51a20aa
        length-buckets:width=250 e4ae8656aa447fe1 02e25503abdef4da 7b7594aa55119946 5295dc11e51a20aa
        optimal-buckets:count=6  bb8755297f68fac7 804bfe50ce36d1e1 2c8704baf54fb0ea ca8c0f9dffd5293a
        neighbours               c2f88808e8908f88 ddabf152218a106f b7b0623e1f96d118 f95910463703e600
        pooled:batches=50        98d3ef41a3181b7c a489494399fc02dc f2c0305010a608da 25fa39d810278a8d
        blurred:blur=0.02        e3ad4c345c94e316 3a1b52a8978aaed0 444f42364473b8e7 1fbad8f7c8f56ecd
        rotating:epochs=16       b5dd7c65685f3f2d f4869d0fe0f4e268 64ef086783b1c66a b5dd7c65685f3f2d
        paired:blur=0.1          26c935a7d56a1c22 e7166f08681f9072 5dd830e157b144fc 6c8dc35cb71f2c15
    "#]]
    .assert_eq(&plans(&pairs, Strategy::all_for(&pairs)));
}

#[test]
fn steps_of_ranks_are_the_same() {
    let mut list = String::new();
    for steps in Steps::ALL {
        let planner = Planner::new(Blurred::default(), Budget::padded(200)).steps(steps);
        let plan = planner.plan(&lengths(), 1).unwrap();
        let schedule = plan.schedule(3).unwrap();
        let rest = plan.resume(&schedule.cursor(2).unwrap(), 2).unwrap();
        let [all, rest] = [schedule, rest].map(|schedule| schedule.all_ranks().digest());
        _ = writeln!(list, "{steps:10} {all:016x} {rest:016x}");
    }
    expect![[r#"
        stratified 6a8306e3823792f7 df76d543489c62c3
        aligned    c54e34ec56a52c2d 5fc5f6c9655e2648
        in-order   3d70e9e8642663c9 04e470a7a1347043
    "#]]
    .assert_eq(&list);
}

#[test]
fn shards_are_the_same() {
    let parts = some(60).chunks(20).map(|part| Lengths::new(part).unwrap()).collect::<Vec<_>>();
    let merged = |all: Vec<Statistics>| {
        Arc::new(all.into_iter().reduce(|all, one| all.merge(&one).unwrap()).unwrap())
    };
    let all = merged(parts.iter().map(Statistics::of).collect());
    let of = |part: &Lengths, all: &Arc<Statistics>| part.clone().part_of(Arc::clone(all)).unwrap();
    let budget = Budget::padded(200);
    let (strategy, shapes) = batches_only(&of(&parts[0], &all), budget, None, None).unwrap();
    let planner = |number: u32| {
        let planner = Planner::new(strategy.clone(), budget).shapes(shapes.clone());
        planner.shard(Shard::new(number, 3).unwrap())
    };
    let needs =
        (0..).zip(&parts).map(|(number, part)| planner(number).needs(&of(part, &all)).unwrap());
    let all = merged(std::iter::once((*all).clone()).chain(needs).collect());
    let mut list = format!("{:016x} {strategy} {shapes}\n", all.digest());
    for (number, part) in (0..).zip(&parts) {
        let plan = planner(number).plan(&of(part, &all), 1).unwrap();
        _ = writeln!(list, "{:016x}", plan.digest());
    }
    expect![[r#"
        7229f4647ab57dc4 shuffled ladder:16
        cb2d4b655d722e2c
        c470d578ccbb7b2b
        92dffa61ab47f93f
    "#]]
    .assert_eq(&list);
}

#[test]
fn streams_are_the_same() {
    let mut list = String::new();
    for shapes in ["exact", "ladder:4"] {
        let streamer = Streamer::new(Budget::padded(200)).shapes(shapes.parse().unwrap());
        let streamer = streamer.window(20).seed(7).rank(0, 2);
        let mut feed = streamer.feed().unwrap();
        let mut steps = Vec::new();
        for length in some(60) {
            feed.push(length).unwrap();
            while let Some(step) = feed.step().unwrap() {
                steps.push(format!("{step:?}"));
            }
        }
        let state = feed.state();
        feed.end().unwrap();
        while let Some(step) = feed.step().unwrap() {
            steps.push(format!("{step:?}"));
        }
        _ = writeln!(
            list,
            "{shapes:8} {:2} {:016x} {:016x}",
            steps.len(),
            digest(&steps),
            digest(&state)
        );
    }
    expect![[r#"
        exact    11 284457ddd87e5e9e 1ecaa8c632392bd5
        ladder:4 12 7229dc6bdc3997fd cbc68dadbab41ec6
    "#]]
    .assert_eq(&list);
}

#[test]
fn one_step_is_divided_the_same() {
    let model = CostModel::new(0.0, 0.0, 1e-6, 1e-9).unwrap();
    let wanted = Balance::new(3).capacity(200).cost(model);
    let step = balance(&some(60), &wanted).unwrap();
    expect!["8305aa8ff055b7de"].assert_eq(&format!(
        "{:016x}",
        digest(&(step.order(), step.ends(), step.time().to_bits()))
    ));
}

/// What a plan has without a strategy: it is chosen by measured rates, which must not differ in any way that matters.
#[test]
fn the_recommendation_is_the_same() {
    let found = recommend(&lengths(), &Wanted::new(Budget::padded(200))).unwrap();
    let of = |settings: &Settings| {
        let plan = Planner::named(settings.clone()).unwrap().plan(&lengths(), 1).unwrap();
        format!("{} {} {:016x}\n", settings.strategy, settings.shapes, plan.digest())
    };
    let list: String = found.offers.iter().map(|offer| of(&offer.settings)).collect();
    expect![[r#"
        proportional:batches=2 ladder:16 f761c2b4ac21469f
        proportional:batches=3 ladder:16 f761c2b4ac21469f
        proportional:batches=2 ladder:32 1b73f323b41f89da
        proportional:batches=3 ladder:32 1b73f323b41f89da
        proportional:batches=2 exact 7c17a21b77ca4e2f
        proportional:batches=3 exact 7c17a21b77ca4e2f
        shuffled exact 515b108a8574b89e
        shuffled ladder:4 ff7a7b40302bc31e
        blurred:blur=0.3 exact 468325f9bf7ccecb
        blurred:blur=0.1 exact 6d299df2ec8b0bea
        blurred:blur=0.05 exact 78329c7dc499a8b0
        shuffled ladder:8 b3c14eacdccbf6a2
        shuffled ladder:16 ccbcc4919137d468
        shuffled ladder:32 be856285cb0fffad
        blurred:blur=0.02 exact 3d70e9e8642663c9
        blurred:blur=0.005 exact 36318ece8037e765
    "#]]
    .assert_eq(&list);
}
