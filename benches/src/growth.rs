//! How the time of a plan grows with the number of sequences, stage by stage.
//!
//! The plan is what one gets without asking for anything else but a ladder: `blurred`, a padded
//! budget, `ladder:16`, spread over the epoch. Beside it, in the same run, stands what NumPy takes to
//! compute the same keys and to sort them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    hint::black_box,
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use lengthwise::{Budget, Example, Lengths, Planner, Shapes, Workspace, strategy::Blurred};

use crate::{
    args::Args,
    data, heap,
    output::{Output, list},
    stats::{grouped, line, short},
};

/// The stages of plans, with how long each took. One that has not ended has none.
#[derive(Default)]
struct Clock(Mutex<Vec<(&'static str, Instant, Option<Duration>)>>);

impl Clock {
    fn tell(&self, stage: &'static str, ended: bool) {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !ended {
            stages.push((stage, Instant::now(), None));
            return;
        }
        let begun =
            stages.iter_mut().rev().find(|(name, _, time)| *name == stage && time.is_none());
        if let Some((_, start, time)) = begun {
            *time = Some(start.elapsed());
        }
    }

    fn take(&self) -> Vec<(&'static str, Duration)> {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stages.drain(..).filter_map(|(stage, _, time)| Some((stage, time?))).collect()
    }
}

/// One number of sequences on one number of threads.
#[derive(Debug)]
pub(crate) struct Row {
    sequences: u32,
    lengths: Example,
    threads: usize,
    /// The first epoch of new lengths in a new workspace, and the fastest of later ones.
    first: Duration,
    later: Duration,
    /// The stages of the fastest later epoch.
    stages: BTreeMap<&'static str, Duration>,
    /// Bytes at once in the first epoch, the plan and the lengths included.
    peak: usize,
    /// What NumPy takes for the keys and their order.
    numpy: Option<Duration>,
}

/// In the order in which they happen.
const STAGES: [&str; 8] =
    ["resolve", "keys", "sort", "batches", "cut", "digest", "arrange", "gather"];

/// Measures every number of sequences on one thread and on two.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for count in args.growth_counts() {
        for example in Example::ALL {
            eprintln!("growth: {} sequences like {example}", grouped(u64::from(count)));
            let numbers = data::lengths(example, count).as_slice().to_vec();
            let rounds = args.rounds(count);
            let mut measured = [1, 2].map(|threads| measure(&numbers, example, threads, rounds));
            // In turns, so that no one has a better machine than the others: the fastest counts.
            for _ in 0..args.turns(count) {
                if let Some(python) = &args.numpy {
                    let time = numpy(python, &numbers)?;
                    for row in &mut measured {
                        row.numpy = Some(row.numpy.map_or(time, |before| before.min(time)));
                    }
                }
                for row in &mut measured {
                    let again = measure(&numbers, example, row.threads, rounds);
                    if again.later < row.later {
                        (row.later, row.stages) = (again.later, again.stages);
                    }
                    row.first = row.first.min(again.first);
                }
            }
            for row in measured {
                output.raw(&row.raw())?;
                rows.push(row);
            }
        }
    }
    output.file("growth.csv", &csv(&rows))?;
    output.file("growth.svg", &svg(&rows))?;
    Ok(rows)
}

/// The nanoseconds of the first epoch on one thread, and of the fastest of so many later ones.
pub(crate) fn one_thread(numbers: &[u32], example: Example, rounds: u32) -> [u64; 2] {
    let Row { first, later, .. } = measure(numbers, example, 1, rounds);
    [first, later].map(|time| time.as_nanos() as u64)
}

fn measure(numbers: &[u32], example: Example, threads: usize, rounds: u32) -> Row {
    let longest = numbers.iter().copied().max().unwrap_or(1);
    let planner = Planner::new(Blurred::default(), Budget::padded(64 * u64::from(longest)))
        .shapes(Shapes::Ladder(16));
    let clock = Arc::new(Clock::default());
    let told = Arc::clone(&clock);
    let workspace =
        Workspace::new().threads(threads).on_stage(move |stage, ended| told.tell(stage, ended));
    let ((lengths, first), peak) = heap::extra(|| {
        let lengths = Lengths::new(numbers).expect("every length is above zero");
        let start = Instant::now();
        let plan = planner.plan_in(&workspace, black_box(&lengths), 0);
        let time = start.elapsed();
        workspace.reclaim(black_box(plan).expect("every length fits the budget"));
        (lengths, time)
    });
    clock.take();
    let (mut later, mut stages) = (Duration::MAX, Vec::new());
    for epoch in 1..=u64::from(rounds) {
        let start = Instant::now();
        let plan = planner.plan_in(&workspace, black_box(&lengths), epoch);
        let time = start.elapsed();
        workspace.reclaim(black_box(plan).expect("every length fits the budget"));
        let of_epoch = clock.take();
        if time < later {
            (later, stages) = (time, of_epoch);
        }
    }
    let mut by_name: BTreeMap<&'static str, Duration> = BTreeMap::new();
    for (stage, time) in stages {
        *by_name.entry(stage).or_default() += time;
    }
    let sequences = numbers.len() as u32;
    Row { sequences, lengths: example, threads, first, later, stages: by_name, peak, numpy: None }
}

/// The fastest of three times that NumPy takes to add noise to the scaled lengths, and to sort them.
fn numpy(python: &std::path::Path, numbers: &[u32]) -> io::Result<Duration> {
    const PROGRAM: &str = "\
import sys, time, numpy
lengths = numpy.fromfile(sys.argv[1], dtype='<u4')
scale = numpy.sqrt(numpy.arange(lengths.max() + 1.0))
scale /= scale[-1]
random = numpy.random.default_rng(0)
best = float('inf')
for _ in range(3):
    start = time.perf_counter()
    keys = scale[lengths]
    keys += random.exponential(0.02, lengths.size)
    numpy.argsort(keys)
    best = min(best, time.perf_counter() - start)
print(int(best * 1e9))
";
    let path = std::env::temp_dir().join(format!("lengthwise-growth-{}", std::process::id()));
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(&path, bytes)?;
    let answer = Command::new(python).args(["-c", PROGRAM]).arg(&path).output();
    std::fs::remove_file(&path)?;
    let answer = answer.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot run {}: {error}", python.display()))
    })?;
    let text = String::from_utf8_lossy(&answer.stdout);
    text.trim().parse().map(Duration::from_nanos).map_err(|_| {
        let said = String::from_utf8_lossy(&answer.stderr);
        let last = said.trim().lines().last().unwrap_or("nothing");
        io::Error::other(format!("{} gave no time, but said: {last}", python.display()))
    })
}

impl Row {
    /// Nanoseconds per sequence.
    fn each(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / f64::from(self.sequences)
    }

    fn stage(&self, name: &str) -> f64 {
        self.each(self.stages.get(name).copied().unwrap_or_default())
    }

    fn raw(&self) -> String {
        format!(
            "{{\"kind\":\"growth\",\"sequences\":{},\"lengths\":\"{}\",\"threads\":{},\
             \"first_ns\":{},\"later_ns\":{},\"peak_bytes\":{},\"numpy_ns\":{},\"stages_ns\":{}}}",
            self.sequences,
            self.lengths,
            self.threads,
            self.first.as_nanos(),
            self.later.as_nanos(),
            self.peak,
            self.numpy.map_or("null".to_owned(), |time| time.as_nanos().to_string()),
            list(
                STAGES.iter().map(|stage| {
                    self.stages.get(stage).copied().unwrap_or_default().as_nanos()
                })
            ),
        )
    }
}

/// Every row as comma-separated values.
fn csv(rows: &[Row]) -> String {
    let mut text = format!(
        "sequences,lengths,threads,first_ns_per_sequence,later_ns_per_sequence,numpy_ns_per_sequence,\
         peak_bytes,{}\n",
        STAGES.join(",")
    );
    for row in rows {
        let numpy = row.numpy.map_or(String::new(), |time| format!("{:.3}", row.each(time)));
        _ = write!(
            text,
            "{},{},{},{:.3},{:.3},{numpy},{}",
            row.sequences,
            row.lengths,
            row.threads,
            row.each(row.first),
            row.each(row.later),
            row.peak
        );
        for stage in STAGES {
            _ = write!(text, ",{:.3}", row.stage(stage));
        }
        text.push('\n');
    }
    text
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "## Growth\n\n\
        | sequences | lengths | threads | first ns/seq | later ns/seq | numpy ns/seq | numpy/later | \
        one/two threads | peak MB | {} |\n|--:|---|--:|{}\n",
        STAGES.join(" | "),
        "--:|".repeat(6 + STAGES.len())
    );
    for row in rows {
        let one = rows.iter().find(|one| {
            one.threads == 1 && (one.sequences, one.lengths) == (row.sequences, row.lengths)
        });
        let ratio = |over: Option<Duration>| {
            over.map_or("–".to_owned(), |time| {
                short(time.as_secs_f64() / row.later.as_secs_f64())
            })
        };
        let mut cells = vec![
            grouped(u64::from(row.sequences)),
            row.lengths.to_string(),
            row.threads.to_string(),
            short(row.each(row.first)),
            short(row.each(row.later)),
            row.numpy.map_or("–".to_owned(), |time| short(row.each(time))),
            ratio(row.numpy),
            ratio(one.map(|one| one.later)),
            short(row.peak as f64 / 1e6),
        ];
        cells.extend(STAGES.map(|stage| short(row.stage(stage))));
        text += &line(&cells);
    }
    text + "\n"
}

/// The growth curve: seconds against sequences, both by powers of ten, for lengths like `speech`.
fn svg(rows: &[Row]) -> String {
    const SIZE: (f64, f64) = (560.0, 400.0);
    // Powers of ten at the edges: sequences, then seconds.
    const X: (f64, f64) = (4.0, 8.0);
    const Y: (f64, f64) = (-5.0, 2.0);
    let place = |sequences: f64, seconds: f64| {
        let (x, y) = (sequences.log10(), seconds.log10());
        (60.0 + (x - X.0) / (X.1 - X.0) * 420.0, 340.0 - (y - Y.0) / (Y.1 - Y.0) * 310.0)
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        SIZE.0, SIZE.1
    );
    for power in 4..=8 {
        let (x, _) = place(10_f64.powi(power), 1.0);
        _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" y1=\"30\" x2=\"{x:.1}\" y2=\"340\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"358\" text-anchor=\"middle\">10<tspan dy=\"-4\" \
             font-size=\"9\">{power}</tspan></text>"
        );
    }
    for (power, name) in
        (-5..=2).zip(["10 µs", "100 µs", "1 ms", "10 ms", "0.1 s", "1 s", "10 s", "100 s"])
    {
        let (_, y) = place(1e4, 10_f64.powi(power));
        _ = writeln!(
            text,
            "<line x1=\"60\" y1=\"{y:.1}\" x2=\"480\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"54\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
            y + 4.0
        );
    }
    let curves = [
        ("NumPy: key, argsort", "#b33", 1, true),
        ("plan, one thread", "#236", 1, false),
        ("plan, two threads", "#3a7", 2, false),
    ];
    for (number, (name, colour, threads, numpy)) in curves.into_iter().enumerate() {
        let time = |row: &Row| if numpy { row.numpy } else { Some(row.later) };
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| (row.lengths, row.threads) == (Example::Speech, threads))
            .filter_map(|row| Some(place(f64::from(row.sequences), time(row)?.as_secs_f64())))
            .collect();
        if points.is_empty() {
            continue;
        }
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (x, y) in points {
            _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let y = 46 + 18 * number;
        _ = writeln!(
            text,
            "<line x1=\"72\" y1=\"{0}\" x2=\"92\" y2=\"{0}\" stroke=\"{colour}\" \
             stroke-width=\"2\"/><text x=\"98\" y=\"{1}\">{name}</text>",
            y,
            y + 4
        );
    }
    text += "<text x=\"270\" y=\"384\" text-anchor=\"middle\">sequences</text>\n</svg>\n";
    text
}
