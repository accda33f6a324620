//! What random settings give, kept as digests, a few settings to each: divided steps, streams, recommendations, cost models,
//! bounds on memory, plans of pairs and steps by cost. Other plans are in `promises/kept.rs`. A changed digest is a change
//! that a user sees, and belongs in the changelog; `UPDATE_EXPECT=1 cargo test` rewrites the lists.

use std::fmt::Write as _;

use expect_test::expect_file;
use lengthwise::{
    Budget, CostModel, Error, Lengths, OverLong, Pairs, Planner, Rule, Shapes, Steps, Strategy,
    Tail, Update, Workspace,
    balance::{Balance, balance, partitions},
    cost,
    custom::{Purpose, Rng, Stream},
    groups::Together,
    measure::{effective_mates, mixing},
    stream::{Arrival, Pivot, Streamer},
    tune::{Conditions, Kind, Like, Limits, Wanted, batches_only, frontier, recommend},
};
use xxhash_rust::xxh3::xxh3_64;

use crate::common::in_digits;

fn stream(number: u64, of: u64) -> Stream {
    Rng::new(of, number).stream(Purpose::Own(7))
}

/// One line for each of `count` numbers, with the digest of all that `give` tells of `each` settings.
fn kept(count: u64, each: u64, mut give: impl FnMut(u64) -> String) -> String {
    let mut list = String::new();
    for line in 0..count {
        let text: String = (line * each..(line + 1) * each).map(&mut give).collect();
        _ = writeln!(list, "{:5} {:016x}", line * each, xxh3_64(text.as_bytes()));
    }
    list
}

/// Lengths of which few are long.
fn lengths(random: &mut Stream, count: u32, most: u32) -> Vec<u32> {
    let draw = |_| {
        let bits = random.below(1 + most.ilog2());
        1 + random.below((most >> bits).max(1))
    };
    (0..count).map(draw).collect()
}

#[test]
fn divided_steps_never_change() {
    let give = |number| {
        let mut random = stream(number, 1);
        let count = 1 + random.below(70);
        let lengths = lengths(&mut random, count, 400);
        let longest = lengths.iter().copied().max().unwrap();
        let mut below = |most: u32| random.below(most);
        let split = below(2) == 0;
        let ranks = if split { 8 } else { 1 + below(7) };
        let mut wanted = Balance::new(ranks);
        if split {
            wanted = wanted.split(vec![1, 2, 4]).communication(f64::from(below(8)));
        } else {
            let groups: Vec<u32> = (0..count).map(|_| below(1 + count)).collect();
            let kinds = groups.iter().map(|group| group % 3).collect();
            match below(4) {
                0 => wanted = wanted.together(groups, Together::Rank),
                1 => wanted = wanted.kinds(kinds),
                2 => wanted = wanted.together(groups, Together::Rank).kinds(kinds),
                _ => wanted = wanted.speeds((0..ranks).map(|_| f64::from(1 + below(4))).collect()),
            }
        }
        if below(3) > 0 {
            wanted = wanted.capacity(longest + below(600));
        }
        if below(2) == 0 {
            wanted = wanted.cost(CostModel::new(0.0, 0.0, 24.0, 1.0).unwrap());
        }
        if below(3) == 0 {
            wanted = wanted.min_micro_batches(1 + below(3));
        }
        if below(6) == 0 {
            wanted = wanted.max_micro_batches(2 + below(6));
        }
        let costs: Vec<f64> = lengths.iter().copied().map(f64::from).collect();
        let parts = partitions(&costs, 1 + below(5), below(2) == 0);
        let step = balance(&lengths, &wanted);
        let facts = step.as_ref().map(|step| {
            let spans = (0..step.ranks()).map(|rank| step.span(rank, 0)).collect::<Vec<_>>();
            (
                (step.sequences_by_degree(), spans, step.restore()),
                (step.time(), step.lower_bound(), step.idle_share(), step.loads().to_vec()),
            )
        });
        in_digits(&(&step, facts, parts))
    };
    expect_file!["kept/divided.txt"].assert_eq(&kept(50, 30, give));
}

#[test]
fn streams_never_change() {
    let give = |number| {
        let mut random = stream(number, 2);
        let count = 20 + random.below(180);
        let lengths = lengths(&mut random, count, 300);
        let mut below = |most: u32| random.below(most);
        let budget = match below(3) {
            0 => Budget::sequences(1 + below(12)),
            1 => Budget::padded(u64::from(300 + below(600))),
            _ => Budget::padded(u64::from(150 + below(600))).at_most(1 + below(12)),
        };
        let ranks = 1 + below(4);
        let shapes = ["exact", "multiple:16", "ladder:5", "ladder:40/90/300"][below(4) as usize];
        let over_long = [OverLong::Alone, OverLong::Drop, OverLong::Truncate][below(3) as usize];
        let mut streamer = Streamer::new(budget.multiple_of(1 + below(3)))
            .shapes(shapes.parse().unwrap())
            .window(ranks + below(90))
            .over_long(over_long)
            .tail(Tail::ALL[below(Tail::ALL.len() as u32) as usize])
            .seed(below(9).into())
            .epoch(below(9).into())
            .rank(below(ranks), ranks);
        if ranks == 1 && below(2) == 0 {
            streamer = streamer.pivot(Pivot::Quantile);
        }
        let grouped = below(3) == 0;
        let interrupted = below(20);
        let mut feed = streamer.feed().unwrap();
        let mut text = String::new();
        let mut taken = 0;
        loop {
            while feed.needs() {
                let Some(&length) = lengths.get(feed.position() as usize) else {
                    feed.end().unwrap();
                    break;
                };
                let (sequences, kind) = if grouped { (1 + length % 3, length % 2) } else { (1, 0) };
                let pushed = feed.push(Arrival { length, sequences, kind: kind.into() });
                _ = write!(text, "{pushed:?}");
                if pushed.is_err() {
                    feed.leave_out().unwrap();
                }
            }
            let step = feed.step().map(Option::<&_>::cloned);
            _ = writeln!(text, "{step:?} {} {:?}", feed.held(), feed.over_long());
            match step {
                Ok(Some(_)) => taken += 1,
                _ => return text,
            }
            if taken == interrupted {
                _ = writeln!(text, "{:?} {:?}", feed.state(), feed.state_before_step());
                feed = streamer.resume(&feed.state()).unwrap();
                let first = feed.position();
                let was_taken: Vec<bool> = (0..first).map(|at| feed.was_taken(at)).collect();
                _ = writeln!(text, "{first} {was_taken:?} {:?}", feed.rungs());
            }
        }
    };
    expect_file!["kept/streams.txt"].assert_eq(&kept(40, 10, give));
}

/// What is recommended for few lengths, and what it was chosen from.
#[test]
fn recommendations_never_change() {
    let give = |number| {
        let mut random = stream(number, 3);
        let count = 40 + random.below(160);
        let mut given = Lengths::new(lengths(&mut random, count, 200)).unwrap();
        let mut below = |most: u32| random.below(most);
        match below(4) {
            0 => {
                let second = (0..count).map(|_| 1 + below(30)).collect::<Vec<_>>();
                given = Pairs::new(given, Lengths::new(second).unwrap()).unwrap().into();
            }
            1 => given = given.together(&(0..count).map(|at| at / 2).collect::<Vec<_>>()).unwrap(),
            _ => {}
        }
        let budget = match below(4) {
            0 => Budget::sequences(4 + below(8)),
            1 => Budget::dynamic(2 + below(6)).rule([Rule::Printed, Rule::Over][below(2) as usize]),
            _ => Budget::padded(u64::from(500 + below(1500))),
        };
        let mut wanted = Wanted { ranks: 1 + below(3), ..Wanted::new(budget) };
        wanted.model.kind = [Kind::Attention, Kind::Recurrent, Kind::Packed][below(3) as usize];
        if below(4) == 0 {
            let cost = CostModel::new(1e-3, 1e-6, 1e-6, 1e-9).unwrap();
            wanted.model.cost = Some(cost.with_launch(2e-3).unwrap());
        }
        if below(3) == 0 {
            wanted.micro_batches = Some(1 + below(4));
        }
        if below(3) == 0 {
            wanted.settings.update = Some(match below(2) {
                0 => Update::Sequences((8 + below(30)).into()),
                _ => Update::Tokens((2000 + below(4000)).into()),
            });
        }
        if below(4) == 0 {
            wanted.shapes =
                Some(["exact", "multiple:8", "ladder:6"][below(3) as usize].parse().unwrap());
        }
        if below(4) == 0 {
            wanted.like = Some(Like { batch_size: 4 + below(8), keep_steps: below(2) == 0 });
        }
        let share = |below: u32| Some(f64::from(below) / 20.0);
        wanted.limits = match below(6) {
            0 => Limits { max_padding: share(below(8)), ..Limits::default() },
            1 => Limits { min_mixing: share(below(20)), ..Limits::default() },
            2 => Limits {
                max_shapes: Some(1 + below(12)),
                max_step_mix: share(30),
                ..Limits::default()
            },
            3 => Limits { min_mates: Some(below(30).into()), ..Limits::default() },
            4 => Limits { max_steps: Some((1 + below(20)).into()), ..Limits::default() },
            _ => Limits { min_steps: Some((1 + below(20)).into()), ..Limits::default() },
        };
        let found = recommend(&given, &wanted);
        let growth = found.as_ref().map(|found| (found.update_growth(), found.within_limits()));
        let only = batches_only(&given, budget, None, wanted.shapes.clone());
        in_digits(&(&found, growth, only))
    };
    expect_file!["kept/recommended.txt"].assert_eq(&kept(20, 2, give));
}

/// The curves of all families, and the mixing that they rest on.
#[test]
fn curves_never_change() {
    let give = |number| {
        let mut random = stream(number, 4);
        let count = 60 + random.below(60);
        let given = Lengths::new(lengths(&mut random, count, 200)).unwrap();
        let budget = [Budget::sequences(6), Budget::padded(900)][random.below(2) as usize];
        let cost_model = (random.below(2) == 0).then(|| CostModel::preset("recurrent").unwrap());
        let conditions = Conditions { budget, shapes: Shapes::Exact, seed: number, cost_model };
        let curves = frontier(&given, &conditions, 4, 3, |_| ());
        let plans = [0, 1, 2].map(|epoch| {
            let planner = Planner::new("blurred:blur=0.2".parse::<Strategy>().unwrap(), budget);
            planner.plan(&given, epoch).unwrap()
        });
        in_digits(&(curves, mixing(&plans), effective_mates(&plans)))
    };
    expect_file!["kept/curves.txt"].assert_eq(&kept(10, 1, give));
}

#[test]
fn fitted_models_never_change() {
    let give = |number| {
        let mut random = stream(number, 5);
        let term = |random: &mut Stream, most: f64| match random.below(3) {
            0 => 0.0,
            _ => most * f64::from(1 + random.below(99)) / 100.0,
        };
        let [a, b, c, d] = [1e-2, 1e-4, 1e-5, 1e-8].map(|most| term(&mut random, most));
        let Ok(model) = CostModel::new(a, b, c, d) else { return "none\n".to_owned() };
        let model = match random.below(2) {
            0 => model.with_launch(4e-3).unwrap().with_new_shape(0.5).unwrap(),
            _ => model,
        };
        let noise = random.below(3);
        let steps = (0..4 + random.below(20)).map(|_| {
            let (size, length) = (1 + random.below(32), 1 + random.below(800));
            let noise = 1.0 + f64::from(random.below(1 + 100 * noise)) / 1000.0;
            cost::Step { size, length, seconds: model.seconds(size, length) * noise }
        });
        let steps: Vec<cost::Step> = steps.collect();
        let fit = CostModel::fit(&steps);
        let flat = fit.as_ref().is_ok_and(cost::Fit::is_flat);
        let row = model.row_seconds(900, steps.iter().map(|step| step.length));
        in_digits(&(fit.map_err(|error| error.to_string()), flat, row, model.to_string()))
    };
    expect_file!["kept/fitted.txt"].assert_eq(&kept(40, 5, give));
}

/// How many bytes are enough, for every strategy.
#[test]
fn bounds_on_memory_never_change() {
    let mut random = stream(0, 6);
    let few = Lengths::new(lengths(&mut random, 3000, 900)).unwrap();
    let long = Lengths::new(lengths(&mut random, 3000, 5_000_000)).unwrap();
    let mut list = String::new();
    for strategy in Strategy::all_of_one_length() {
        _ = write!(list, "{:24}", strategy.to_string());
        for (given, budget, shapes, over_long) in [
            (&few, "padded:9000,at-most=40", "exact", OverLong::Error),
            (&few, "sequences:10,multiple-of=4", "ladder:5", OverLong::Error),
            (&few, "padded:500", "multiple:8", OverLong::Alone),
            (&few, "padded:500", "exact", OverLong::Truncate),
            (&long, "padded:2000000", "exact", OverLong::Drop),
            (&long, "dynamic:12", "ladder:5", OverLong::Error),
        ] {
            for threads in [1, 3] {
                let planner = Planner::new(strategy.clone(), budget.parse().unwrap())
                    .shapes(shapes.parse().unwrap())
                    .over_long(over_long);
                let workspace = Workspace::new().threads(threads).memory(1);
                match planner.spans_in(&workspace, given, 3) {
                    Err(Error::OverMemory { needed, .. }) => _ = write!(list, " {needed}"),
                    other => _ = write!(list, " {:?}", other.map(|plan| plan.digest())),
                }
            }
        }
        list.push('\n');
    }
    expect_file!["kept/memory.txt"].assert_eq(&list);
}

/// Plans of two lengths that depend on each other or do not.
#[test]
fn plans_of_pairs_never_change() {
    let give = |number| {
        let mut random = stream(number, 9);
        let count = 1 + random.below(400);
        let first = lengths(&mut random, count, 600);
        let mut below = |most: u32| random.below(most);
        let kind = below(4);
        let second = first.iter().map(|length| match kind {
            0 => 1 + below(80),
            1 => 1 + length / 4 + below(9),
            2 => 1 + length % 7,
            _ => 12,
        });
        let second = Lengths::new(second.collect::<Vec<_>>()).unwrap();
        let pairs = Pairs::new(Lengths::new(first).unwrap(), second).unwrap();
        let blur = ["paired:blur=0", "paired:blur=0.02", "paired", "paired:blur=1", "neighbours"];
        let shapes = ["exact", "multiple:8", "ladder:6", "ladder:12+ladder:3"][below(4) as usize];
        let budget = match below(3) {
            0 => Budget::sequences(1 + below(24)),
            1 => Budget::dynamic(1 + below(12)),
            _ => Budget::padded(800 + u64::from(below(4000))),
        };
        let strategy: Strategy = blur[below(5) as usize].parse().unwrap();
        let planner = Planner::new(strategy, budget).shapes(shapes.parse().unwrap()).seed(number);
        let plan = planner.plan(&pairs, below(5).into());
        in_digits(&plan.map(|plan| (plan.digest(), plan.measure(&pairs))))
    };
    expect_file!["kept/pairs.txt"].assert_eq(&kept(40, 10, give));
}

/// Steps of several ranks where a cost decides, for every strategy and every way to make steps.
#[test]
fn steps_by_cost_never_change() {
    let give = |number| {
        let mut random = stream(number, 8);
        let count = 100 + random.below(100);
        let given = Lengths::new(lengths(&mut random, count, 500)).unwrap();
        let mut below = |most: u32| random.below(most);
        let all = Strategy::all_of_one_length();
        let strategy = match below(3) {
            0 => "packed:balance=cost,capacity=600".parse().unwrap(),
            1 => "packed:capacity=700,at-most=9".parse().unwrap(),
            _ => all[below(all.len() as u32) as usize].clone(),
        };
        let ranks = 1 + below(5);
        let model = CostModel::attention(64 << below(4), 2, below(2) == 0).unwrap();
        let mut planner = Planner::new(strategy, Budget::padded(600 + u64::from(below(900))))
            .cost_model(model)
            .steps(Steps::ALL[below(3) as usize])
            .tail(Tail::ALL[below(Tail::ALL.len() as u32) as usize])
            .for_ranks(ranks);
        planner = match below(3) {
            0 => planner.accumulate(1 + below(3)),
            1 => planner.update(Update::Tokens(u64::from(2000 + below(4000)))),
            _ => planner,
        };
        let Ok(plan) = planner.plan(&given, 2) else { return "refused\n".to_owned() };
        let Ok(schedule) = plan.schedule(ranks) else { return "too few\n".to_owned() };
        let idle = [schedule.idle_share(), schedule.idle_bound(), schedule.idle_bound_by(&model)];
        let cursor = schedule.cursor(schedule.len() / 2).unwrap();
        let rest = plan.resume(&cursor, 1 + below(4)).map(|rest| rest.all_ranks().digest());
        in_digits(&(plan.digest(), schedule.all_ranks().digest(), idle, cursor, rest.ok()))
    };
    expect_file!["kept/steps.txt"].assert_eq(&kept(40, 10, give));
}
