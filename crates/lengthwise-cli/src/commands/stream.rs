//! `lengthwise stream`

mod lines;

use std::{
    io::{self, Write},
    mem,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lengthwise::{
    Example, OverLong, Shapes,
    stream::{Feed, Picked, StreamState, StreamStep, Streamer},
};
use lengthwise_io::{Written, read_stream_state, save_stream_state};
use lengthwise_report::noun;
use serde::Serialize;

use self::lines::Lines;
use crate::args::planning::Stream;
use crate::failure::Failure;
use crate::{cost_model, printer, signals};

pub(crate) fn run(args: &Stream) -> Result<(), Failure> {
    for (given, option) in [(&args.column, "--column"), (&args.second, "--second")] {
        if given.is_some() {
            return Err(Failure::new(
                format!("streams take one length a line, and have no `{option}`"),
                "take the column out of the table first: `cut -d, -f2 table.csv | lengthwise stream \
                 --budget padded:20000`",
            ));
        }
    }
    let streamer = streamer(args)?;
    let feed = match &args.state {
        Some(path) if path.exists() => streamer.resume(&read_stream_state(path)?)?,
        _ => streamer.feed()?,
    };
    let skip = if args.from_position { 0 } else { feed.position() };
    let lengths = source(args)?;
    let shared = Arc::new(Mutex::new(Standing { feed, writing: false }));
    if let Some(path) = args.state.clone() {
        signals::writing(&path);
        // A state that cannot be kept is no use, and that is better known before the first batch.
        Written::new(&path, |_| Ok(()))?;
        let shared = Arc::clone(&shared);
        signals::before_end(move || {
            let standing = signals::locked(&shared);
            if let Err(error) = save_stream_state(&path, &standing.state()) {
                printer::say(&format!("the state is not kept: {error}"));
            }
            // It is never given back, so that no step follows the one that is being written.
            mem::forget(standing);
        });
    }
    let (saved, total) = (Instant::now(), Total::default());
    let mut streaming = Streaming { args, shared, saved, total };
    let result = streaming.run(lengths, skip);
    // What was written counts, whatever comes after it.
    let kept = streaming.save();
    result.and(kept)?;
    streaming.say();
    Ok(())
}

/// What the thread that waits for signals must know. It is not held while reading or writing.
struct Standing {
    feed: Feed,
    /// Whether the last step is made, but not yet written.
    writing: bool,
}

impl Standing {
    fn state(&self) -> StreamState {
        if self.writing { self.feed.state_before_step() } else { self.feed.state() }
    }
}

/// How often the state is saved, for the case that the machine stops.
const SAVE: Duration = Duration::from_secs(10);

struct Streaming<'a> {
    args: &'a Stream,
    shared: Arc<Mutex<Standing>>,
    saved: Instant,
    total: Total,
}

#[derive(Default)]
struct Total {
    steps: u64,
    batches: u64,
    sequences: u64,
    cells: u64,
    positions: u64,
}

/// A batch as a line of a plan file has it; with several ranks also which step and rank.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    sequences: &'a [u64],
    batch_length: u32,
    positions: u64,
}

impl Streaming<'_> {
    fn run(&mut self, mut lengths: Source, skip: u64) -> Result<(), Failure> {
        for at in 0..skip {
            let Some(length) = lengths.next() else {
                let read = signals::locked(&self.shared).feed.state().read;
                return Err(lengthwise::Error::StreamTooShort { at, read }.into());
            };
            length?;
        }
        while self.args.take.is_none_or(|most| self.total.steps < most) {
            if signals::locked(&self.shared).feed.needs() {
                match lengths.next() {
                    Some(length) => _ = signals::locked(&self.shared).feed.push(length?)?,
                    None => signals::locked(&self.shared).feed.end()?,
                }
            } else if !self.step()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Writes the next step. Whether there is one.
    fn step(&mut self) -> Result<bool, Failure> {
        let text = {
            let mut standing = signals::locked(&self.shared);
            let Some(step) = standing.feed.step()? else { return Ok(false) };
            let text = lines_of(step, self.args, &mut self.total);
            standing.writing = true;
            text
        };
        let mut output = io::stdout();
        output.write_all(text.as_bytes())?;
        output.flush()?;
        signals::locked(&self.shared).writing = false;
        if self.saved.elapsed() >= SAVE {
            self.save()?;
        }
        Ok(true)
    }

    fn save(&mut self) -> Result<(), Failure> {
        self.saved = Instant::now();
        let Some(path) = &self.args.state else { return Ok(()) };
        let state = signals::locked(&self.shared).state();
        Ok(save_stream_state(path, &state)?)
    }

    fn say(&self) {
        let Total { batches, sequences, cells, positions, .. } = self.total;
        let padding = 100.0 * (1.0 - positions as f64 / cells.max(1) as f64);
        let padding = if cells == 0 { String::new() } else { format!(", {padding:.2} % padding") };
        let of = [noun(sequences, "sequence", "sequences"), noun(batches, "batch", "batches")];
        printer::say(&format!("{sequences} {} in {batches} {}{padding}", of[0], of[1]));
        let standing = signals::locked(&self.shared);
        let (left_out, truncated) = standing.feed.over_long();
        for (count, what) in [(left_out, "left out"), (truncated, "to be truncated")] {
            if count > 0 {
                printer::say(&format!("{count} over-long, {what}"));
            }
        }
        let held = standing.feed.held();
        if held > 0 {
            let kept = if self.args.state.is_some() { ", in the state" } else { "" };
            printer::say(&format!("{held} sequences are in no batch{kept}"));
        }
    }
}

/// A line for each batch of a step that was asked for.
fn lines_of(step: &StreamStep, args: &Stream, total: &mut Total) -> String {
    total.steps += 1;
    let mut text = String::new();
    for (rank, batch) in (0..).zip(step.batches()) {
        if args.rank.is_some_and(|own| own != rank) {
            continue;
        }
        let Picked { positions: sequences, lengths, length, .. } = batch;
        let positions = lengths.iter().copied().map(u64::from).sum();
        total.batches += 1;
        total.sequences += sequences.len() as u64;
        total.cells += sequences.len() as u64 * u64::from(length);
        total.positions += positions;
        let several = args.world_size > 1;
        let line = Line {
            step: several.then_some(step.number()),
            rank: several.then_some(rank),
            sequences,
            batch_length: length,
            positions,
        };
        // Numbers always have a JSON form.
        text += &(serde_json::to_string(&line).unwrap_or_default() + "\n");
    }
    text
}

fn streamer(args: &Stream) -> Result<Streamer, Failure> {
    Ok(Streamer::new(cost_model::budget(&args.budget)?)
        .shapes(args.shapes.parse::<Shapes>()?)
        .window(args.window)
        .pivot(args.pivot.parse()?)
        .over_long(args.over_long.parse::<OverLong>()?)
        .tail(args.tail.parse()?)
        .rank(args.rank.unwrap_or(0), args.world_size)
        .seed(args.seed)
        .epoch(args.epoch))
}

type Source = Box<dyn Iterator<Item = Result<u32, Failure>>>;

fn source(args: &Stream) -> Result<Source, Failure> {
    match (&args.path, &args.example) {
        (None, Some(name)) => {
            let lengths = name.parse::<Example>()?.lengths().as_slice().to_vec();
            Ok(Box::new(lengths.into_iter().map(Ok)))
        }
        (Some(path), _) if path != Path::new("-") => Ok(Box::new(Lines::open(path)?)),
        _ => Ok(Box::new(Lines::of_standard_input()?)),
    }
}
