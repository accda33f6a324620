//! Planning one epoch, against a plain sort of the same lengths.

use std::{
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use lengthwise::{Budget, Example, Lengths, Plan, Planner, Shapes, Strategy};

use crate::{
    args::Args,
    data, heap,
    output::{Output, list},
    stats::{Spread, grouped, line, short},
};

/// A budget and shapes to plan under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Sequences,
    Padded,
    PaddedLadder,
}

impl Setting {
    pub(crate) const ALL: [Self; 3] = [Self::Sequences, Self::Padded, Self::PaddedLadder];

    fn budget(self, lengths: &Lengths) -> Budget {
        match self {
            Self::Sequences => Budget::sequences(16),
            Self::Padded | Self::PaddedLadder => Budget::padded(64 * u64::from(lengths.max())),
        }
    }

    fn shapes(self) -> Shapes {
        match self {
            Self::Sequences | Self::Padded => Shapes::Exact,
            Self::PaddedLadder => Shapes::Ladder(16),
        }
    }
}

/// One line of the table: a strategy under one setting.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) strategy: String,
    pub(crate) sequences: u32,
    pub(crate) setting: Setting,
    lengths: Example,
    budget: Budget,
    /// Time of the plan over time of the sort, over all rounds.
    pub(crate) ratio: Spread,
    /// Nanoseconds per sequence of the fastest plan.
    pub(crate) best: f64,
    /// Bytes per sequence: the most that were live at once, the finished plan included.
    pub(crate) peak: f64,
    /// Bytes per sequence of the finished plan.
    pub(crate) plan: f64,
}

/// One plan, and the sort just before it.
struct Round {
    sort: Duration,
    plan: Duration,
    peak_bytes: usize,
    plan_bytes: usize,
    batches: usize,
}

/// Measures every strategy under every setting.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for count in args.counts() {
        for example in Example::ALL {
            eprintln!("planning {} sequences like {example}", grouped(u64::from(count)));
            let lengths = data::lengths(example, count);
            for setting in Setting::ALL {
                let budget = setting.budget(&lengths);
                for strategy in args.strategies() {
                    let name = strategy.to_string();
                    let planner = Planner::new(strategy, budget).shapes(setting.shapes());
                    let rounds = measure(&planner, &lengths, args.rounds(count));
                    let row = Row::new(name, (setting, budget), (example, count), &rounds);
                    output.raw(&row.raw(&rounds))?;
                    rows.push(row);
                }
            }
        }
    }
    Ok(rows)
}

/// Sort, plan, sort, plan, …: whatever else the machine does slows both.
fn measure(planner: &Planner<Strategy>, lengths: &Lengths, rounds: u32) -> Vec<Round> {
    check(&one_round(planner, lengths, 0).1, lengths.len());
    (1..=rounds).map(|epoch| one_round(planner, lengths, u64::from(epoch)).0).collect()
}

fn one_round(planner: &Planner<Strategy>, lengths: &Lengths, epoch: u64) -> (Round, Plan) {
    let mut sorted = lengths.as_slice().to_vec();
    let start = Instant::now();
    black_box(&mut sorted).sort_unstable();
    let sort = start.elapsed();
    drop(black_box(sorted));

    // Lengths remember their histogram once it is asked for; each plan starts without it.
    let fresh = lengths.clone();
    let before = heap::live();
    let start = Instant::now();
    let (plan, peak_bytes) = heap::extra(|| planner.plan(black_box(&fresh), epoch));
    let time = start.elapsed();
    let plan = black_box(plan).expect("every length fits the budget");
    assert_eq!(plan.indices().len(), lengths.len(), "a plan holds every sequence");
    drop(fresh);
    // The copy of the lengths is gone, so what was added since is the plan less that copy.
    let plan_bytes = heap::live() + size_of_val(lengths.as_slice()) - before;
    (Round { sort, plan: time, peak_bytes, plan_bytes, batches: plan.len() }, plan)
}

/// Every sequence is in the plan once.
fn check(plan: &Plan, count: usize) {
    let mut seen = vec![false; count];
    for &sequence in plan.iter().flatten() {
        assert!(!std::mem::replace(&mut seen[sequence as usize], true), "{sequence} twice");
    }
    assert!(seen.iter().all(|&seen| seen), "every sequence is in a batch");
}

impl Row {
    fn new(
        strategy: String,
        (setting, budget): (Setting, Budget),
        (lengths, sequences): (Example, u32),
        rounds: &[Round],
    ) -> Self {
        let each = f64::from(sequences);
        let highest = |bytes: fn(&Round) -> usize| {
            rounds.iter().map(bytes).max().unwrap_or_default() as f64 / each
        };
        let ratio = |round: &Round| round.plan.as_secs_f64() / round.sort.as_secs_f64();
        let times = Spread::of(rounds.iter().map(|round| round.plan.as_secs_f64()));
        Self {
            strategy,
            sequences,
            setting,
            lengths,
            budget,
            ratio: Spread::of(rounds.iter().map(ratio)),
            best: 1e9 * times.min / each,
            peak: highest(|round| round.peak_bytes),
            plan: highest(|round| round.plan_bytes),
        }
    }

    /// One line of JSON with all rounds.
    fn raw(&self, rounds: &[Round]) -> String {
        let Self { strategy, sequences, setting, lengths, budget, .. } = self;
        let all = |value: fn(&Round) -> u128| list(rounds.iter().map(value));
        format!(
            "{{\"kind\":\"plan\",\"sequences\":{sequences},\"lengths\":\"{lengths}\",\
             \"budget\":\"{budget}\",\"shapes\":\"{}\",\"strategy\":\"{strategy}\",\
             \"sort_ns\":{},\"plan_ns\":{},\"peak_bytes\":{},\"plan_bytes\":{},\"batches\":{}}}",
            setting.shapes(),
            all(|round| round.sort.as_nanos()),
            all(|round| round.plan.as_nanos()),
            all(|round| round.peak_bytes as u128),
            all(|round| round.plan_bytes as u128),
            all(|round| round.batches as u128),
        )
    }
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Every setting\n\n\
        | sequences | lengths | budget | shapes | strategy | plan/sort | min | max | ns/seq | \
        peak B/seq | plan B/seq |\n\
        |--:|---|---|---|---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        text += &line(&[
            grouped(u64::from(row.sequences)),
            row.lengths.to_string(),
            row.budget.to_string(),
            row.setting.shapes().to_string(),
            row.strategy.clone(),
            short(row.ratio.median),
            short(row.ratio.min),
            short(row.ratio.max),
            short(row.best),
            short(row.peak),
            short(row.plan),
        ]);
    }
    text
}
