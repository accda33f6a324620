//! Padding and mixing of sequences of two lengths, compared with fairseq's order.
//!
//! fairseq sorts a random permutation by target and then, stably, by source, and cuts the order
//! greedily; the batches stay as they are from epoch to epoch. The budgets and the cutting are ours
//! for both, so that only the orders differ.

use std::{
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use lengthwise::{
    Budget, Error, Lengths, Pairs, Plan, Planner, Shapes, Sides, Strategy,
    custom::{Group, Groups, Purpose, ResolvedBudget, Rng},
    strategy::{Paired, Sorted},
};

use crate::{
    args::Args,
    data,
    output::{Output, list},
    stats::{Spread, grouped, line, short},
};

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    data: &'static str,
    sequences: usize,
    budget: Budget,
    order: String,
    shapes: Shapes,
    batches: u64,
    /// Empty cells of both rectangles ÷ all, in percent: of all, of the first, of the second.
    padding: [f64; 3],
    /// The same ÷ that of fairseq's order.
    ratio: f64,
    distinct_shapes: u64,
    /// The share of pairs of batch-mates that share a batch in the next epoch too.
    repeats: f64,
    time: Spread,
}

/// fairseq's order: by source, then by target, then at random, the same in every epoch.
struct Lexicographic;

impl Group for Lexicographic {
    fn group(&self, lengths: &Lengths, _: &ResolvedBudget, _: &Rng) -> Result<Groups, Error> {
        let second = lengths.second().expect("there are two lengths").as_slice();
        let first = lengths.as_slice();
        let words: Vec<u32> = Rng::new(1, 0).words(Purpose::Own(7), lengths.len() as u32).collect();
        let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
        order.sort_by_key(|&at| (first[at as usize], second[at as usize], words[at as usize]));
        let count = order.len() as u32;
        Groups::new(order, vec![count])
    }
}

/// Measures both sets of pairs, in several sizes and under two budgets.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let counts: &[u32] =
        if args.quick { &[10_000, 100_000] } else { &[10_000, 100_000, 1_000_000] };
    let sum = Budget::padded;
    let max = |cells| Budget::sides(Sides { max: Some(cells), ..Sides::default() });
    let mut rows = Vec::new();
    for &count in counts.iter().filter(|&&count| args.sequences.is_none_or(|only| only == count)) {
        let sets: [(&str, Pairs, [Budget; 2]); 2] = [
            ("speech", data::speech_pairs(count), [sum(20_000), max(20_000)]),
            ("translation", data::translation_pairs(count), [sum(8192), max(4096)]),
        ];
        for (name, pairs, budgets) in &sets {
            for &budget in budgets {
                eprintln!("{} {name} pairs under {budget}", grouped(u64::from(count)));
                let least = rows.len();
                let mut add = |strategy: &dyn Group, order: String, shapes: Shapes| {
                    let rounds = args.rounds(count).min(5);
                    let of = (*name, pairs, budget);
                    let mut row = measured(of, (strategy, order), shapes, rounds, output)?;
                    let base = rows.get(least).map_or(row.padding[0], |row: &Row| row.padding[0]);
                    row.ratio = row.padding[0] / base;
                    rows.push(row);
                    Ok::<(), io::Error>(())
                };
                add(&Lexicographic, "fairseq".to_owned(), Shapes::Exact)?;
                add(&Sorted, "sorted".to_owned(), Shapes::Exact)?;
                for blur in [0.0, 0.02, Paired::default().blur, 0.25, 0.5, 1.0] {
                    let strategy: Strategy = Paired { blur, stripes: None }.into();
                    add(&strategy, strategy.to_string(), Shapes::Exact)?;
                }
                for shapes in [16, 64] {
                    let strategy: Strategy = Paired::default().into();
                    add(&strategy, strategy.to_string(), Shapes::Ladder(shapes))?;
                }
            }
        }
    }
    Ok(rows)
}

/// A strategy behind a reference.
struct By<'a>(&'a dyn Group);

impl Group for By<'_> {
    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.0.group(lengths, limit, rng)
    }
}

fn measured(
    (data, pairs, budget): (&'static str, &Pairs, Budget),
    (strategy, order): (&dyn Group, String),
    shapes: Shapes,
    rounds: u32,
    output: &mut Output,
) -> io::Result<Row> {
    let planner = Planner::new(By(strategy), budget).shapes(shapes.clone());
    let (mut times, mut plans): (Vec<Duration>, Vec<Plan>) = (Vec::new(), Vec::new());
    for epoch in 0..=u64::from(rounds.max(2)) {
        let start = Instant::now();
        let plan = black_box(planner.plan(black_box(pairs), epoch).expect("all pairs fit"));
        let time = start.elapsed();
        assert_eq!(plan.indices().len(), pairs.len(), "every sequence is in a batch");
        // The first round is a warm-up.
        if epoch > 0 {
            times.push(time);
            plans.push(plan);
        }
    }
    let measures: Vec<_> = plans.iter().map(|plan| plan.measure(pairs)).collect();
    let mean = |of: &dyn Fn(usize) -> f64| {
        (0..measures.len()).map(of).sum::<f64>() / measures.len() as f64
    };
    let side = |side: usize| {
        mean(&|at| measures[at].sides.map_or(0.0, |sides| 100.0 * sides[side].padding_rate))
    };
    let repeats: Vec<f64> = plans.windows(2).map(|two| met_again(&two[0], &two[1])).collect();
    let row = Row {
        data,
        sequences: pairs.len(),
        budget,
        order,
        shapes,
        batches: measures[0].batches,
        padding: [mean(&|at| 100.0 * measures[at].padding_rate), side(0), side(1)],
        ratio: 1.0,
        distinct_shapes: measures[0].shapes,
        repeats: repeats.iter().sum::<f64>() / repeats.len() as f64,
        time: Spread::of(times.iter().map(|time| 1e3 * time.as_secs_f64())),
    };
    output.raw(&format!(
        "{{\"kind\":\"two-lengths\",\"data\":\"{data}\",\"sequences\":{},\"budget\":\"{budget}\",\
         \"order\":\"{}\",\"shapes\":\"{}\",\"plan_ns\":{},\"padding_percent\":{},\"repeats\":{}}}",
        row.sequences,
        row.order,
        row.shapes,
        list(times.iter().map(Duration::as_nanos)),
        row.padding[0],
        row.repeats,
    ))?;
    Ok(row)
}

/// The share of all pairs of batch-mates in one epoch that share a batch in the other.
fn met_again(one: &Plan, other: &Plan) -> f64 {
    let mut batch_of = vec![0; one.indices().len()];
    for (batch, sequences) in other.iter().enumerate() {
        for &sequence in sequences {
            batch_of[sequence as usize] = batch;
        }
    }
    let (mut all, mut again) = (0.0, 0.0);
    for batch in one {
        let mut others: Vec<usize> = batch.iter().map(|&at| batch_of[at as usize]).collect();
        others.sort_unstable();
        let pairs = |size: usize| (size * (size - 1)) as f64;
        all += pairs(batch.len());
        again += others.chunk_by(|a, b| a == b).map(|same| pairs(same.len())).sum::<f64>();
    }
    again / all
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Two lengths\n\n\
        | pairs | sequences | budget | order | shapes | batches | padding, % | first | second | \
        ÷ fairseq | shapes occur | met again, % | ms | min | max |\n\
        |---|--:|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        text += &line(&[
            row.data.to_owned(),
            grouped(row.sequences as u64),
            row.budget.to_string(),
            row.order.clone(),
            row.shapes.to_string(),
            grouped(row.batches),
            format!("{:.3}", row.padding[0]),
            format!("{:.3}", row.padding[1]),
            format!("{:.3}", row.padding[2]),
            format!("{:.3}", row.ratio),
            grouped(row.distinct_shapes),
            format!("{:.1}", 100.0 * row.repeats),
            short(row.time.median),
            short(row.time.min),
            short(row.time.max),
        ]);
    }
    text + "\n"
}
