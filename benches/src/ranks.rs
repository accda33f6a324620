//! What ranks cost: the batches of one rank, and resuming in the middle of an epoch, compared with the plan
//! that both start from.

use std::{
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use lengthwise::{Budget, Example, Lengths, Plan, Planner, Steps, strategy::Blurred};

use crate::{
    args::Args,
    data,
    output::{Output, list},
    stats::{Spread, grouped, line, short},
};

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    example: Example,
    sequences: u32,
    steps: Steps,
    world_size: u32,
    /// How many steps a rank takes, and how long it waits, at least and in fact.
    count: usize,
    idle: f64,
    bound: f64,
    /// Time of the plan and the share of one rank over time of the plan alone.
    share: Spread,
    /// Time to go on at the beginning, in the middle and near the end, on as many ranks and on
    /// fewer, over time of the plan.
    resume: [[Spread; 3]; 2],
}

struct Round {
    plan: Duration,
    share: Duration,
    resume: [[Duration; 3]; 2],
}

const WORLD_SIZES: [u32; 4] = [1, 8, 64, 1024];

/// Measures every setting that has enough batches for a few steps.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    // Ten million take as long as the ratios of one million say.
    for count in args.counts().into_iter().filter(|&count| count <= 1_000_000) {
        // So that batches are small enough for many ranks.
        for (example, times) in [(Example::Speech, 16), (Example::Documents, 2)] {
            let lengths = data::lengths(example, count);
            let budget = Budget::padded(times * u64::from(lengths.max()));
            for steps in [Steps::Stratified, Steps::Aligned] {
                let planner = Planner::new(Blurred::default(), budget).steps(steps);
                for world_size in WORLD_SIZES {
                    let plan =
                        planner.plan(&lengths, 0).expect("the budget has room for the longest");
                    if plan.len() < 5 * world_size as usize {
                        continue;
                    }
                    let sequences = grouped(u64::from(count));
                    eprintln!(
                        "{world_size} ranks, {steps} steps, {sequences} sequences of {example}"
                    );
                    let rounds: Vec<Round> = (1..=args.rounds(count))
                        .map(|epoch| one_round(&planner, &lengths, epoch.into(), world_size))
                        .collect();
                    output.raw(&raw(example, count, steps, world_size, &rounds))?;
                    rows.push(Row::new(example, count, world_size, &plan, &rounds));
                }
            }
        }
    }
    Ok(rows)
}

fn one_round(planner: &Planner<Blurred>, lengths: &Lengths, epoch: u64, world_size: u32) -> Round {
    let timed = |what: &dyn Fn()| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    let plan = || planner.plan(black_box(lengths), epoch).expect("as before");
    let made = plan();
    let schedule = made.schedule(world_size).expect("there are enough sequences");
    let cursors = [1, 50, 99]
        .map(|percent| schedule.cursor(schedule.len() * percent / 100).expect("before the end"));
    let resume = |ranks: u32| {
        cursors.each_ref().map(|cursor| {
            timed(&|| _ = black_box(made.resume(cursor, ranks).expect("of this plan").len()))
        })
    };
    Round {
        plan: timed(&|| _ = black_box(plan())),
        share: timed(&|| {
            _ = black_box(plan().for_rank(world_size / 2, world_size).expect("a rank"));
        }),
        resume: [resume(world_size), resume((world_size * 3).div_ceil(4))],
    }
}

impl Row {
    fn new(
        example: Example,
        sequences: u32,
        world_size: u32,
        plan: &Plan,
        rounds: &[Round],
    ) -> Self {
        let schedule = plan.schedule(world_size).expect("there are enough sequences");
        let over = |value: &dyn Fn(&Round) -> Duration| {
            let ratio = |round: &Round| value(round).as_secs_f64() / round.plan.as_secs_f64();
            Spread::of(rounds.iter().map(ratio))
        };
        Self {
            example,
            sequences,
            steps: plan.provenance().steps,
            world_size,
            count: schedule.len(),
            idle: schedule.idle_share(),
            bound: schedule.idle_bound(),
            share: over(&|round| round.share),
            resume: [0, 1]
                .map(|other| [0, 1, 2].map(|place| over(&|round| round.resume[other][place]))),
        }
    }
}

/// One line of JSON with all rounds.
fn raw(example: Example, count: u32, steps: Steps, world_size: u32, rounds: &[Round]) -> String {
    let times =
        |value: &dyn Fn(&Round) -> Duration| list(rounds.iter().map(|r| value(r).as_nanos()));
    let resume = |other: usize| {
        let places = [0, 1, 2].map(|place| times(&|round| round.resume[other][place]));
        format!("[{}]", places.join(","))
    };
    format!(
        "{{\"kind\":\"ranks\",\"lengths\":\"{example}\",\"sequences\":{count},\"steps\":\"{steps}\",\
         \"world_size\":{world_size},\"plan_ns\":{},\"plan_and_share_ns\":{},\"resume_ns\":{},\
         \"resume_on_others_ns\":{}}}",
        times(&|round| round.plan),
        times(&|round| round.share),
        resume(0),
        resume(1),
    )
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Ranks\n\n\
        | sequences | lengths | steps | ranks | steps a rank | idle % | at least | share/plan | min | \
        max | resume/plan at 1 % | 50 % | 99 % | on ¾ of the ranks at 1 % | 50 % | 99 % |\n\
        |--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let mut cells = vec![
            grouped(u64::from(row.sequences)),
            row.example.to_string(),
            row.steps.to_string(),
            row.world_size.to_string(),
            row.count.to_string(),
            format!("{:.2}", 100.0 * row.idle),
            format!("{:.2}", 100.0 * row.bound),
            format!("{:.2}", row.share.median),
            format!("{:.2}", row.share.min),
            format!("{:.2}", row.share.max),
        ];
        cells.extend(row.resume.as_flattened().iter().map(|spread| short(spread.median)));
        text += &line(&cells);
    }
    text + "\n"
}
