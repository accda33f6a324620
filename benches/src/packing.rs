//! How fast sequences are packed into rows, and how full the rows are.

use std::{
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use lengthwise::{Budget, Example, Lengths, Planner, strategy::Packed};

use crate::{
    args::Args,
    data,
    output::{Output, list},
    stats::{Spread, grouped, line, short},
};

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    lengths: &'static str,
    sequences: usize,
    capacity: u32,
    rows: usize,
    /// The empty part of rows that are all as long as the capacity.
    waste: f64,
    /// The same of the fewest rows that there could be.
    least: f64,
    /// Millions of sequences a second, over all rounds.
    speed: Spread,
    /// Time of the plan over time of a sort of the lengths.
    ratio: Spread,
}

/// Measures every set of lengths, with capacities from the smallest power of two that holds the
/// longest.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let count = if args.quick { 100_000 } else { 1_000_000 };
    let sets: [(&str, Lengths); 5] = [
        ("speech", data::lengths(Example::Speech, count)),
        ("documents", data::lengths(Example::Documents, count)),
        ("bimodal", data::lengths(Example::Bimodal, count)),
        ("lognormal", data::lognormal(count)),
        ("pareto", data::pareto(count)),
    ];
    let mut rows = Vec::new();
    for (name, lengths) in &sets {
        let smallest = lengths.max().next_power_of_two();
        for capacity in [smallest, 4 * smallest, 16 * smallest] {
            eprintln!("{} rows of {capacity} for {name}", grouped(u64::from(count)));
            rows.push(measured(name, lengths, capacity, args.rounds(count), output)?);
        }
    }
    Ok(rows)
}

fn measured(
    name: &'static str,
    lengths: &Lengths,
    capacity: u32,
    rounds: u32,
    output: &mut Output,
) -> io::Result<Row> {
    let planner = Planner::new(Packed::default(), Budget::padded(capacity.into()));
    let (mut sorts, mut plans, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for epoch in 0..=u64::from(rounds) {
        let mut copy = lengths.as_slice().to_vec();
        let start = Instant::now();
        black_box(&mut copy).sort_unstable();
        let sort = start.elapsed();
        let start = Instant::now();
        let plan = black_box(planner.plan(black_box(lengths), epoch).expect("the lengths fit"));
        let time = start.elapsed();
        assert_eq!(plan.indices().len(), lengths.len(), "every sequence is in a row");
        assert!(plan.batch_lengths().iter().all(|&sum| sum <= capacity), "no row is too long");
        // The first round is a warm-up.
        if epoch > 0 {
            sorts.push(sort);
            plans.push(time);
            counts.push(plan.len());
        }
    }
    output.raw(&format!(
        "{{\"kind\":\"packing\",\"lengths\":\"{name}\",\"sequences\":{},\"capacity\":{capacity},\
         \"sort_ns\":{},\"plan_ns\":{},\"rows\":{}}}",
        lengths.len(),
        list(sorts.iter().map(Duration::as_nanos)),
        list(plans.iter().map(Duration::as_nanos)),
        list(counts.iter().map(|&count| count as u128)),
    ))?;
    counts.sort_unstable();
    let rows = counts[counts.len() / 2];
    let empty = |rows: f64| 1.0 - lengths.total() as f64 / (rows * f64::from(capacity));
    let millions = lengths.len() as f64 / 1e6;
    let pairs = plans.iter().zip(&sorts);
    Ok(Row {
        lengths: name,
        sequences: lengths.len(),
        capacity,
        rows,
        waste: empty(rows as f64),
        least: empty((lengths.total() as f64 / f64::from(capacity)).ceil()),
        speed: Spread::of(plans.iter().map(|time| millions / time.as_secs_f64())),
        ratio: Spread::of(pairs.map(|(plan, sort)| plan.as_secs_f64() / sort.as_secs_f64())),
    })
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Packing\n\n\
        | lengths | sequences | capacity | rows | waste, % | least, % | M sequences/s | min | max | \
        plan/sort |\n\
        |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        text += &line(&[
            row.lengths.to_owned(),
            grouped(row.sequences as u64),
            grouped(u64::from(row.capacity)),
            grouped(row.rows as u64),
            format!("{:.3}", 100.0 * row.waste),
            format!("{:.3}", 100.0 * row.least),
            short(row.speed.median),
            short(row.speed.min),
            short(row.speed.max),
            short(row.ratio.median),
        ]);
    }
    text + "\n"
}
