//! What it costs to plan a thousand shards separately, compared with one plan of all lengths and with shards
//! that exchange no statistics.

use std::{
    collections::HashSet,
    fmt::Write as _,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Lengths, Plan, Planner, Shapes, Strategy,
    custom::{Purpose, Rng},
    measure::{effective_mates, mate_repeat_rate},
    shard::{Shard, Statistics},
    strategy::{Blurred, Shuffled},
};

use crate::{
    args::Args,
    data,
    output::Output,
    stats::{grouped, line, short},
};

const SHARDS: usize = 1000;

/// Epochs that mixing is estimated from.
const EPOCHS: u64 = 4;

/// How a corpus is cut into shards.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    Random,
    Reassigned,
    Drifting,
    Sorted,
    Unequal,
}

impl Cut {
    const ALL: [Cut; 5] = [Cut::Random, Cut::Reassigned, Cut::Drifting, Cut::Sorted, Cut::Unequal];

    fn name(self) -> &'static str {
        match self {
            Cut::Random => "random",
            Cut::Reassigned => "random, anew each epoch",
            Cut::Drifting => "pieces, like lengths near each other",
            Cut::Sorted => "pieces of a sorted corpus",
            Cut::Unequal => "random, 1 to 10 in size",
        }
    }

    /// The sequences of every shard; all shards have about the same total length, or from one to ten
    /// parts of it.
    fn shards(self, all: &Lengths, epoch: u64) -> Vec<Vec<u32>> {
        let length = |&sequence: &u32| all.as_slice()[sequence as usize];
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        let turn = if self == Cut::Reassigned { epoch } else { 0 };
        let chance: Vec<u32> =
            Rng::new(11, turn).words(Purpose::Own(7), all.len() as u32).collect();
        let chance = |sequence: &u32| chance[*sequence as usize];
        match self {
            Cut::Random | Cut::Reassigned | Cut::Unequal => order.sort_unstable_by_key(chance),
            Cut::Drifting => order
                .sort_unstable_by_key(|at| u64::from(length(at)) * u64::from(1 + chance(at) % 50)),
            Cut::Sorted => order.sort_unstable_by_key(length),
        }
        let share = |shard: usize| match self {
            Cut::Unequal => 1.0 + 9.0 * shard as f64 / (SHARDS - 1) as f64,
            _ => 1.0,
        };
        let whole: f64 = (0..SHARDS).map(share).sum();
        let (mut start, mut sum, mut due) = (0, 0, 0.0);
        let mut shards = Vec::with_capacity(SHARDS);
        for shard in 0..SHARDS {
            due += all.total() as f64 * share(shard) / whole;
            let mut end = start;
            while end < order.len() && (end == start || (sum as f64) < due || shard + 1 == SHARDS) {
                sum += u64::from(length(&order[end]));
                end += 1;
            }
            shards.push(order[start..end].to_vec());
            start = end;
        }
        shards
    }
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    example: Example,
    setting: String,
    cut: &'static str,
    who: &'static str,
    steps: usize,
    batches: u64,
    padding: f64,
    fill: f64,
    shapes: u64,
    lengths: usize,
    over: usize,
    idle: f64,
    mates: Option<f64>,
    again: Option<f64>,
    seconds: f64,
}

/// Plans every cut of every corpus.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<(Vec<Row>, Vec<String>)> {
    let each = if args.quick { 300 } else { 10_000 };
    let count = args.sequences.unwrap_or(each * SHARDS as u32);
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for (example, times) in [(Example::Speech, 16), (Example::Documents, 2)] {
        let all = data::lengths(example, count);
        let budget = Budget::padded(times * u64::from(all.max()));
        for (strategy, shapes) in [
            (Strategy::from(Shuffled), Shapes::Ladder(16)),
            (Blurred::default().into(), Shapes::Exact),
        ] {
            let planner = Planner::new(strategy, budget).shapes(shapes);
            let cells = times * u64::from(all.max());
            let mut add = |row: Row| {
                output.raw(&raw(&row, count))?;
                rows.push(row);
                io::Result::Ok(())
            };
            eprintln!("one plan of {} sequences of {example}", grouped(count.into()));
            add(one_plan(example, &planner, &all, cells))?;
            for cut in Cut::ALL {
                eprintln!("{SHARDS} shards of {example}: {}", cut.name());
                match sharded(example, &planner, &all, cells, cut) {
                    Ok(row) => add(row)?,
                    Err(error) => refused.push(format!("{example}, {}: {error}", cut.name())),
                }
                if cut != Cut::Reassigned {
                    add(apart(example, &planner, &all, cells, cut))?;
                }
            }
        }
    }
    Ok((rows, refused))
}

/// One plan, assigned to as many ranks as there are shards.
fn one_plan(example: Example, planner: &Planner<Strategy>, all: &Lengths, cells: u64) -> Row {
    let start = Instant::now();
    let plan = planner.plan(all, 0).expect("the budget has room for the longest");
    let time = start.elapsed();
    let schedule = plan.schedule(SHARDS as u32).expect("there are enough sequences");
    let plans: Vec<Plan> =
        (0..EPOCHS).map(|epoch| planner.plan(all, epoch).expect("as before")).collect();
    let cells_only = CostModel::new(0.0, 0.0, 1.0, 0.0).expect("a cost model");
    let idle = schedule.idle_share_by(&cells_only);
    let cut = ("one plan", "assigned to 1,000 ranks");
    row(example, cut, all, cells, &plans, (schedule.len(), idle, time))
}

/// Shards that are planned with the statistics of all; refused if one has fewer sequences than all
/// have batches.
fn sharded(
    example: Example,
    planner: &Planner<Strategy>,
    all: &Lengths,
    cells: u64,
    cut: Cut,
) -> Result<Row, Error> {
    let merged = |parts: Vec<Statistics>| {
        parts.into_iter().reduce(|one, other| one.merge(&other).expect("fits")).expect("some")
    };
    let (mut plans, mut of_first) = (Vec::new(), (0, 0.0, Duration::ZERO));
    for epoch in 0..EPOCHS {
        let ids = cut.shards(all, epoch);
        let lengths: Vec<Lengths> = ids.iter().map(|shard| part(all, shard)).collect();
        let statistics = Arc::new(merged(lengths.iter().map(Statistics::of).collect()));
        let on =
            |shard: usize| planner.clone().shard(Shard { number: shard as u32, of: SHARDS as u32 });
        let known = |all: &Arc<Statistics>| -> Vec<Lengths> {
            let part = |one: &Lengths| one.clone().part_of(Arc::clone(all)).expect("its part");
            lengths.iter().map(part).collect()
        };
        let parts = known(&statistics);
        let needs = parts.iter().enumerate().map(|(shard, part)| on(shard).needs(part));
        let needs = merged(needs.map(|needs| needs.expect("as before")).collect());
        let parts = known(&Arc::new(statistics.merge(&needs).expect("fits")));
        let start = Instant::now();
        let made: Vec<Plan> = parts
            .iter()
            .enumerate()
            .map(|(shard, part)| on(shard).plan(part, epoch))
            .collect::<Result<_, _>>()?;
        let time = start.elapsed();
        assert!(made.iter().all(|plan| plan.len() == made[0].len()), "all take as many steps");
        if epoch == 0 {
            of_first = (made[0].len(), idle(&made), time);
        }
        plans.push(together(&made, &ids));
    }
    Ok(row(example, (cut.name(), "shards with statistics"), all, cells, &plans, of_first))
}

/// Shards that exchange no statistics, each in its own random order.
fn apart(
    example: Example,
    planner: &Planner<Strategy>,
    all: &Lengths,
    cells: u64,
    cut: Cut,
) -> Row {
    let planner = planner.clone().arrange(Arrange::Shuffled);
    let ids = cut.shards(all, 0);
    let lengths: Vec<Lengths> = ids.iter().map(|shard| part(all, shard)).collect();
    let (mut plans, mut of_first) = (Vec::new(), (0, 0.0, Duration::ZERO));
    for epoch in 0..EPOCHS {
        let start = Instant::now();
        let own = |(seed, part): (u64, &Lengths)| {
            planner.clone().seed(seed).plan(part, epoch).expect("as before")
        };
        let made: Vec<Plan> = (0..).zip(&lengths).map(own).collect();
        let time = start.elapsed();
        if epoch == 0 {
            let most = made.iter().map(Plan::len).max().unwrap_or(0);
            of_first = (most, idle(&made), time);
        }
        plans.push(together(&made, &ids));
    }
    row(example, (cut.name(), "shards apart"), all, cells, &plans, of_first)
}

fn part(all: &Lengths, shard: &[u32]) -> Lengths {
    let lengths: Vec<u32> = shard.iter().map(|&at| all.as_slice()[at as usize]).collect();
    Lengths::new(lengths).expect("no shard is empty")
}

/// The batches of all shards as one plan, so that all can be measured alike.
fn together(made: &[Plan], ids: &[Vec<u32>]) -> Plan {
    let (mut indices, mut ends, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for (plan, ids) in made.iter().zip(ids) {
        ends.extend(plan.ends().iter().map(|end| indices.len() as u32 + end));
        indices.extend(plan.indices().iter().map(|&at| ids[at as usize]));
        lengths.extend_from_slice(plan.batch_lengths());
    }
    Plan::restore(made[0].provenance().clone(), indices, ends, lengths, Vec::new())
        .expect("whole batches")
}

/// The share of their time that shards wait for the slowest at each step, if time follows cells.
fn idle(made: &[Plan]) -> f64 {
    let steps = made.iter().map(Plan::len).max().unwrap_or(0);
    let (mut slowest, mut work) = (vec![0.0_f64; steps], 0.0);
    for plan in made {
        for (step, (size, length)) in plan.shapes().enumerate() {
            let cells = f64::from(size) * f64::from(length);
            slowest[step] = slowest[step].max(cells);
            work += cells;
        }
    }
    1.0 - work / (slowest.iter().sum::<f64>() * made.len() as f64)
}

fn row(
    example: Example,
    (cut, who): (&'static str, &'static str),
    all: &Lengths,
    cells: u64,
    plans: &[Plan],
    (steps, idle, time): (usize, f64, Duration),
) -> Row {
    let plan = &plans[0];
    let mut met = plan.indices().to_vec();
    met.sort_unstable();
    assert!(met.iter().copied().eq(0..all.len() as u32), "every sequence is in one batch");
    drop(met);
    let measures = plan.measure(all);
    let over = plan.shapes().filter(|&(a, b)| u64::from(a) * u64::from(b) > cells).count();
    let lengths: HashSet<u32> = plan.batch_lengths().iter().copied().collect();
    let made = plan.provenance();
    Row {
        example,
        setting: format!("{}, {}", made.strategy, made.shapes),
        cut,
        who,
        steps,
        batches: measures.batches,
        padding: measures.padding_rate,
        fill: all.total() as f64 / (measures.batches as f64 * cells as f64),
        shapes: measures.shapes,
        lengths: lengths.len(),
        over,
        idle,
        mates: effective_mates(plans),
        again: mate_repeat_rate(&plans[0], &plans[1]),
        seconds: time.as_secs_f64(),
    }
}

/// One line of JSON.
fn raw(row: &Row, sequences: u32) -> String {
    let number = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => "null".to_owned(),
    };
    format!(
        "{{\"kind\":\"shards\",\"lengths\":\"{}\",\"sequences\":{sequences},\"setting\":\"{}\",\
         \"cut\":\"{}\",\"who\":\"{}\",\"steps\":{},\"batches\":{},\"padding_rate\":{},\"fill\":{},\
         \"shapes\":{},\"batch_lengths\":{},\"over_budget\":{},\"idle\":{},\"effective_mates\":{},\
         \"mate_repeat_rate\":{},\"plan_s\":{}}}",
        row.example,
        row.setting,
        row.cut,
        row.who,
        row.steps,
        row.batches,
        row.padding,
        row.fill,
        row.shapes,
        row.lengths,
        row.over,
        row.idle,
        number(row.mates),
        number(row.again),
        row.seconds
    )
}

/// Every row, in Markdown.
pub(crate) fn table((rows, refused): &(Vec<Row>, Vec<String>)) -> String {
    let mut text = "## Shards\n\n\
        | lengths | setting | shards | planned | steps | batches | padding % | fill % | shapes | batch \
        lengths | over budget | idle % | pool of batch-mates | met again % |\n\
        |---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        text += &line(&[
            row.example.to_string(),
            row.setting.clone(),
            row.cut.to_owned(),
            row.who.to_owned(),
            row.steps.to_string(),
            grouped(row.batches),
            format!("{:.2}", 100.0 * row.padding),
            format!("{:.2}", 100.0 * row.fill),
            grouped(row.shapes),
            grouped(row.lengths as u64),
            row.over.to_string(),
            format!("{:.2}", 100.0 * row.idle),
            row.mates.map_or_else(|| "–".to_owned(), short),
            row.again.map_or_else(|| "0".to_owned(), |again| format!("{:.3}", 100.0 * again)),
        ]);
    }
    for one in refused {
        _ = writeln!(text, "\nRefused: {one}.");
    }
    text + "\n"
}
