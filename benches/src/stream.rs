//! How fast streams are batched, how much they pad against a whole plan and against other ways with as
//! many sequences held, and how long ranks wait.

use std::{
    collections::VecDeque,
    io,
    time::{Duration, Instant},
};

use lengthwise::{
    Budget, Example, Lengths, Planner, Strategy,
    custom::{Purpose, Rng},
    strategy::Sorted,
    stream::{Pivot, StreamState, Streamer},
};

use crate::{
    args::Args,
    data,
    output::{Output, list},
    stats::{Spread, grouped, line},
};

/// What streams of a set of lengths come to.
#[derive(Debug)]
pub(crate) struct Row {
    example: Example,
    sequences: u32,
    window: u32,
    /// Millions of sequences a second.
    speed: Spread,
    /// The padding of the stream, of a ladder of 16 rungs, of pools and of buckets that hold as much,
    /// and of a sorted plan of everything.
    padding: [f64; 5],
    /// The part of the pairs in a batch that meet again in another epoch of the same stream.
    again: f64,
    /// The most that came after a sequence before it left, in windows.
    longest_wait: f64,
    state_bytes: usize,
    /// The idle share of 8 ranks on one stream, with streams of their own, and of random batches.
    idle: [f64; 3],
}

const WINDOWS: [u32; 3] = [1024, 4096, 16_384];
const RANKS: u32 = 8;

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let count = args.sequences.unwrap_or(if args.quick { 50_000 } else { 1_000_000 });
    let mut rows = Vec::new();
    for (example, cells) in
        [(Example::Speech, 12_800), (Example::Documents, 24_000), (Example::Bimodal, 16_000)]
    {
        let lengths = data::lengths(example, count);
        for window in WINDOWS {
            eprintln!("{} of {example}, window {window}", grouped(u64::from(count)));
            let streamer = Streamer::new(Budget::padded(cells)).window(window);
            let rounds: Vec<Duration> = (0..args.rounds(count))
                .map(|_| {
                    let start = Instant::now();
                    let made = Made::of(&streamer, lengths.as_slice());
                    let taken = start.elapsed();
                    assert_eq!(made.sequences, u64::from(count));
                    taken
                })
                .collect();
            let speed = |time: &Duration| f64::from(count) / 1e6 / time.as_secs_f64();
            let row = measured(example, &lengths, &streamer, window, cells, &rounds, speed);
            output.raw(&format!(
                "{{\"kind\":\"stream\",\"lengths\":\"{example}\",\"sequences\":{count},\
                 \"window\":{window},\"ns\":{},\"padding\":{:?},\"again\":{},\"longest_wait\":{},\
                 \"state_bytes\":{},\"idle\":{:?}}}",
                list(rounds.iter().map(Duration::as_nanos)),
                row.padding,
                row.again,
                row.longest_wait,
                row.state_bytes,
                row.idle
            ))?;
            rows.push(row);
        }
    }
    Ok(rows)
}

fn measured(
    example: Example,
    lengths: &Lengths,
    streamer: &Streamer,
    window: u32,
    cells: u64,
    rounds: &[Duration],
    speed: impl Fn(&Duration) -> f64,
) -> Row {
    let all = lengths.as_slice();
    let stream = Made::of(streamer, all);
    let other = Made::of(&streamer.clone().epoch(1), all);
    let ladder = streamer.clone().shapes(lengthwise::Shapes::Ladder(16));
    let plan = |strategy: Strategy| {
        let plan = Planner::new(strategy, Budget::padded(cells)).plan(lengths, 0);
        plan.expect("the budget has room for the longest").measure(lengths).padding_rate
    };
    let pool = (f64::from(window) * lengths.mean() / cells as f64).ceil() as u32;
    let pooled: Strategy = format!("pooled:batches={pool}").parse().expect("a strategy");
    Row {
        example,
        sequences: lengths.len() as u32,
        window,
        speed: Spread::of(rounds.iter().map(speed)),
        padding: [
            stream.padding(),
            Made::of(&ladder, all).padding(),
            plan(pooled),
            buckets(all, window as usize, cells),
            plan(Sorted.into()),
        ],
        again: met_again(&stream.batch_of, &other.batch_of),
        longest_wait: stream.longest_wait as f64 / f64::from(window),
        state_bytes: stream.state_bytes,
        idle: idle(streamer, all, cells),
    }
}

/// A stream from its beginning to its end.
#[derive(Default)]
struct Made {
    sequences: u64,
    cells: u64,
    filled: u64,
    /// The batch of each sequence.
    batch_of: Vec<u32>,
    longest_wait: u64,
    state_bytes: usize,
}

impl Made {
    fn of(streamer: &Streamer, lengths: &[u32]) -> Self {
        let mut feed = streamer.feed().expect("the settings are right");
        let mut made = Self { batch_of: vec![0; lengths.len()], ..Self::default() };
        let (mut source, mut batches) = (lengths.iter(), 0);
        loop {
            while feed.needs() {
                match source.next() {
                    Some(&length) => _ = feed.push(length).expect("it fits"),
                    None => feed.end().expect("nothing is read again"),
                }
            }
            let read = feed.position();
            // In the middle of the stream.
            if made.state_bytes == 0 && read > lengths.len() as u64 / 2 {
                made.state_bytes = state_bytes(&feed.state());
            }
            let Some(step) = feed.step().expect("the settings are right") else { break };
            for batch in step.batches() {
                let cells = batch.positions.len() as u64 * u64::from(batch.length);
                made.sequences += batch.positions.len() as u64;
                made.cells += cells;
                for (&position, &length) in batch.positions.iter().zip(batch.lengths) {
                    made.batch_of[position as usize] = batches;
                    made.filled += u64::from(length);
                    made.longest_wait = made.longest_wait.max(read - position);
                }
                batches += 1;
            }
        }
        made
    }

    fn padding(&self) -> f64 {
        1.0 - self.filled as f64 / self.cells as f64
    }
}

/// What a state takes as a line of JSON: its codes of gaps, six bits a character, and the rest.
fn state_bytes(state: &StreamState) -> usize {
    let span = state.read - state.from();
    let bits = (span / (state.held.len() as u64).max(1)).max(1).ilog2();
    let code = |pair: &[u64]| 1 + u64::from(bits) + ((pair[1] - pair[0] - 1) >> bits);
    let codes: u64 = state.held.windows(2).map(code).sum();
    200 + state.settings.len() + codes.div_ceil(6) as usize
}

/// The part of the pairs of the first batches that are in a batch of the second.
fn met_again(first: &[u32], second: &[u32]) -> f64 {
    let pairs = |keys: &mut Vec<u64>| -> f64 {
        keys.sort_unstable();
        let runs = keys.chunk_by(|one, other| one == other);
        runs.map(|run| (run.len() * (run.len() - 1)) as f64).sum()
    };
    let mut one: Vec<u64> = first.iter().copied().map(u64::from).collect();
    let mut both: Vec<u64> =
        first.iter().zip(second).map(|(&a, &b)| u64::from(a) << 32 | u64::from(b)).collect();
    pairs(&mut both) / pairs(&mut one)
}

/// The padding of dynamic bucketing with a buffer of as many: 30 buckets of equal total length by the
/// first window, and a batch of the oldest of a random bucket that can fill one. Here the budget is
/// kept; most implementations exceed it at times.
fn buckets(lengths: &[u32], window: usize, most: u64) -> f64 {
    const BUCKETS: usize = 30;
    let mut first = lengths[..window.min(lengths.len())].to_vec();
    first.sort_unstable();
    let total: u64 = first.iter().copied().map(u64::from).sum();
    let (mut edges, mut sum) = (Vec::new(), 0);
    for length in first {
        sum += u64::from(length);
        if sum * BUCKETS as u64 > total * (edges.len() as u64 + 1) && edges.len() + 1 < BUCKETS {
            edges.push(length);
        }
    }
    let mut held = vec![VecDeque::new(); edges.len() + 1];
    let mut stream = Rng::new(0, 0).stream(Purpose::Own(7));
    let (mut source, mut count) = (lengths.iter(), 0);
    let (mut cells, mut filled) = (0_u64, 0_u64);
    let full = |bucket: &VecDeque<u32>| {
        let longest = bucket.iter().copied().max().unwrap_or(0);
        bucket.len() as u64 * u64::from(longest) > most
    };
    loop {
        while count < window
            && let Some(&length) = source.next()
        {
            held[edges.partition_point(|&edge| edge < length)].push_back(length);
            count += 1;
        }
        if count == 0 {
            return 1.0 - filled as f64 / cells as f64;
        }
        let ready: Vec<usize> = (0..held.len()).filter(|&bucket| full(&held[bucket])).collect();
        let some: Vec<usize> = (0..held.len()).filter(|&at| !held[at].is_empty()).collect();
        let from = if ready.is_empty() { &some } else { &ready };
        let bucket = &mut held[from[stream.below(from.len() as u32) as usize]];
        let (mut size, mut longest) = (0_u64, 0);
        while let Some(&next) = bucket.front()
            && (size + 1) * u64::from(longest.max(next)) <= most
        {
            bucket.pop_front();
            (size, longest, filled) = (size + 1, longest.max(next), filled + u64::from(next));
            count -= 1;
        }
        cells += size * u64::from(longest);
    }
}

/// The idle shares of 8 ranks where the time of a step follows the batch length: on one stream, with
/// streams of their own, and in batches in the order of the stream.
fn idle(streamer: &Streamer, lengths: &[u32], most: u64) -> [f64; 3] {
    let share = |works: &mut dyn Iterator<Item = Vec<f64>>| {
        let (mut work, mut time) = (0.0, 0.0);
        for step in works {
            work += step.iter().sum::<f64>();
            time += step.iter().copied().fold(0.0, f64::max) * step.len() as f64;
        }
        1.0 - work / time
    };
    let by_length = |streamer: &Streamer, lengths: &[u32]| -> Vec<Vec<f64>> {
        let mut feed = streamer.feed().expect("the settings are right");
        let (mut source, mut works) = (lengths.iter(), Vec::new());
        loop {
            while feed.needs() {
                match source.next() {
                    Some(&length) => _ = feed.push(length).expect("it fits"),
                    None => feed.end().expect("nothing is read again"),
                }
            }
            match feed.step().expect("the settings are right") {
                Some(step) => {
                    works.push(step.batches().map(|batch| f64::from(batch.length)).collect());
                }
                None => return works,
            }
        }
    };
    let one = by_length(&streamer.clone().rank(0, RANKS), lengths);
    let batches_of = |rank: u32| -> Vec<u32> {
        lengths.iter().skip(rank as usize).step_by(RANKS as usize).copied().collect()
    };
    let own = streamer.clone().pivot(Pivot::Quantile);
    let own: Vec<Vec<Vec<f64>>> =
        (0..RANKS).map(|rank| by_length(&own, &batches_of(rank))).collect();
    let steps = own.iter().map(Vec::len).min().unwrap_or(0);
    let mut plain = Vec::new();
    let (mut size, mut longest) = (0_u64, 0_u32);
    for &length in lengths {
        if (size + 1) * u64::from(longest.max(length)) > most {
            plain.push(f64::from(longest));
            (size, longest) = (0, 0);
        }
        (size, longest) = (size + 1, longest.max(length));
    }
    [
        share(&mut one.into_iter()),
        share(&mut (0..steps).map(|step| own.iter().map(|rank| rank[step][0]).collect())),
        share(&mut plain.chunks_exact(RANKS as usize).map(<[f64]>::to_vec)),
    ]
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Streams\n\n\
        Padding in percent: of the stream, of it on a ladder of 16 rungs, of pools and of buckets that \
        hold as many, and of a sorted plan of everything. Idle shares of 8 ranks in percent, where a step \
        takes as long as its longest batch is: on one stream, each with an eighth of it as its own \
        stream, and in batches in the order of the stream.\n\n\
        | sequences | lengths | window | million/s | min | max | padding | ladder | pooled | buckets | \
        sorted | meet again % | longest wait | state bytes | idle, one stream | own streams | as they \
        come |\n\
        |--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    for row in rows {
        let mut cells = vec![
            grouped(u64::from(row.sequences)),
            row.example.to_string(),
            grouped(u64::from(row.window)),
            format!("{:.2}", row.speed.median),
            format!("{:.2}", row.speed.min),
            format!("{:.2}", row.speed.max),
        ];
        cells.extend(row.padding.map(percent));
        cells.push(format!("{:.1}", 100.0 * row.again));
        cells.push(format!("{:.2}", row.longest_wait));
        cells.push(grouped(row.state_bytes as u64));
        cells.extend(row.idle.map(percent));
        text += &line(&cells);
    }
    text + "\n"
}
