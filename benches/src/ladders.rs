//! The optimal ladder, against a plain sort of the distinct lengths, the paper's recurrence, and the
//! recurrence with a convex hull.

use std::{
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use lengthwise::Lengths;

use crate::{
    args::Args,
    data, hull,
    output::{Output, list},
    quadratic,
    stats::{Spread, grouped, line, short},
};

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    distinct: u32,
    rungs: u32,
    /// Time of the ladder over time of the sort, over all rounds.
    ratio: Spread,
    /// Seconds of the fastest ladder.
    best: f64,
    /// Seconds of the fastest recurrence as printed, and its time over that of the ladder.
    printed: Option<(f64, Spread)>,
    /// The same of the recurrence with a convex hull.
    hull: (f64, Spread),
}

struct Round {
    sort: Duration,
    ladder: Duration,
    printed: Option<Duration>,
    hull: Option<Duration>,
}

/// More steps than this and the recurrence as printed takes too long to wait for.
const MOST_STEPS: u64 = 20_000_000_000;
const MOST_STEPS_QUICK: u64 = 300_000_000;
/// More than this and it is timed in the first round only.
const MOST_STEPS_EACH_ROUND: u64 = 500_000_000;
/// The same for the hull.
const MOST_HULL_STEPS_EACH_ROUND: u64 = 70_000_000;

/// Measures every size.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let (sizes, most, rounds): (&[u32], _, _) = if args.quick {
        (&[1_000, 10_000], MOST_STEPS_QUICK, 3)
    } else {
        (&[1_000, 10_000, 100_000, 1_000_000], MOST_STEPS, 7)
    };
    let mut rows = Vec::new();
    for &distinct in sizes {
        let lengths = data::distinct(distinct);
        // The ladder alone is measured, not the histogram that it starts from.
        assert_eq!(lengths.histogram().len(), distinct as usize);
        // Six rungs are the paper's own.
        for rungs in [6, 64, 1024].into_iter().filter(|&rungs| rungs < distinct) {
            eprintln!("ladder of {rungs} rungs for {} lengths", grouped(u64::from(distinct)));
            let steps = quadratic::steps(distinct, rungs);
            one_round(&lengths, rungs, false, false);
            let rounds: Vec<Round> = (0..rounds)
                .map(|round| {
                    let repeat = round == 0 || steps <= MOST_STEPS_EACH_ROUND;
                    let hull_steps = u64::from(distinct) * u64::from(rungs);
                    let hull = round == 0 || hull_steps <= MOST_HULL_STEPS_EACH_ROUND;
                    one_round(&lengths, rungs, steps <= most && repeat, hull)
                })
                .collect();
            output.raw(&raw(distinct, rungs, &rounds))?;
            rows.push(Row::new(distinct, rungs, &rounds));
        }
    }
    Ok(rows)
}

fn one_round(lengths: &Lengths, rungs: u32, with_printed: bool, with_hull: bool) -> Round {
    let histogram = lengths.histogram();
    let mut distinct: Vec<u32> = histogram.iter().map(|&(length, _)| length).collect();
    shuffle(&mut distinct);
    let start = Instant::now();
    black_box(&mut distinct).sort_unstable();
    let sort = start.elapsed();
    black_box(distinct);

    let start = Instant::now();
    let ladder = black_box(lengthwise::ladder(black_box(lengths), rungs));
    let time = start.elapsed();
    assert_eq!(ladder.len(), rungs as usize, "as many rungs as asked for");

    let printed = with_printed.then(|| {
        let start = Instant::now();
        let fewest = black_box(quadratic::fewest_cells(black_box(histogram), rungs as usize));
        let time = start.elapsed();
        assert_eq!(quadratic::cells(histogram, &ladder), fewest, "the ladder is optimal");
        time
    });
    let hull = with_hull.then(|| {
        let start = Instant::now();
        let fewest = black_box(hull::fewest_cells(black_box(histogram), rungs as usize));
        let time = start.elapsed();
        assert_eq!(quadratic::cells(histogram, &ladder), fewest, "the ladder is optimal");
        time
    });
    Round { sort, ladder: time, printed, hull }
}

/// A fixed order that is far from sorted: multiples of a large prime.
fn shuffle(values: &mut [u32]) {
    let count = values.len();
    let from = values.to_vec();
    for (place, value) in values.iter_mut().enumerate() {
        *value = from[place * 1_000_003 % count];
    }
}

impl Row {
    fn new(distinct: u32, rungs: u32, rounds: &[Round]) -> Self {
        let over = |value: fn(&Round) -> f64| Spread::of(rounds.iter().map(value));
        let against = |of: fn(&Round) -> Option<Duration>| {
            let times = rounds.iter().filter_map(|round| Some((round, of(round)?.as_secs_f64())));
            let pairs: Vec<_> =
                times.map(|(round, time)| (time, time / round.ladder.as_secs_f64())).collect();
            let best = Spread::of(pairs.iter().map(|pair| pair.0)).min;
            (best, Spread::of(pairs.iter().map(|pair| pair.1)))
        };
        let was_printed = rounds[0].printed.is_some();
        Self {
            distinct,
            rungs,
            ratio: over(|round| round.ladder.as_secs_f64() / round.sort.as_secs_f64()),
            best: over(|round| round.ladder.as_secs_f64()).min,
            printed: was_printed.then(|| against(|round| round.printed)),
            hull: against(|round| round.hull),
        }
    }
}

/// One line of JSON with all rounds.
fn raw(distinct: u32, rungs: u32, rounds: &[Round]) -> String {
    let printed = rounds.iter().filter_map(|round| round.printed);
    format!(
        "{{\"kind\":\"ladder\",\"distinct\":{distinct},\"rungs\":{rungs},\"sort_ns\":{},\
         \"ladder_ns\":{},\"printed_ns\":{},\"hull_ns\":{}}}",
        list(rounds.iter().map(|round| round.sort.as_nanos())),
        list(rounds.iter().map(|round| round.ladder.as_nanos())),
        list(printed.map(|time| time.as_nanos())),
        list(rounds.iter().filter_map(|round| round.hull).map(|time| time.as_nanos())),
    )
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Ladder\n\n\
        | distinct lengths | rungs | seconds | ladder/sort | min | max | hull, seconds | hull/ladder | \
        as printed, seconds | printed/ladder |\n\
        |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let (seconds, times) = row.printed.map_or(("–".to_owned(), "–".to_owned()), |printed| {
            (format!("{:.5}", printed.0), short(printed.1.median))
        });
        text += &line(&[
            grouped(u64::from(row.distinct)),
            row.rungs.to_string(),
            format!("{:.6}", row.best),
            short(row.ratio.median),
            short(row.ratio.min),
            short(row.ratio.max),
            format!("{:.5}", row.hull.0),
            short(row.hull.1.median),
            seconds,
            times,
        ]);
    }
    text + "\n"
}
