//! The same checks batch by batch, with a bound on memory: a bit for each sequence that was met.

use lengthwise::{Lengths, OverLong, Provenance};
use lengthwise_io::{PlanStream, StreamedBatch};

use crate::args::planning::Verify;
use crate::commands::verify::checks::{
    BatchChecks, Bits, LONG_ENOUGH, Problems, Verified, expect_none, failed, refused, same_digest,
};
use crate::failure::Failure;
use crate::memory;
use crate::printer::{Progress, safe};

/// Pieces of both files.
const ASIDE: u64 = 24_000_000;

/// The same where the plan is a table, which is unpacked page by page.
const ASIDE_TABLE: u64 = 40_000_000;

/// A line of so many bytes is among the pieces.
const LINE: u64 = 1_000_000;

pub(super) fn verify(args: &Verify, bound: u64) -> Result<Verified, Failure> {
    if args.source.second.is_some() {
        return Err(Failure::new(
            "plans of two lengths are not read batch by batch",
            "leave out `--memory`",
        ));
    }
    if args.source.together.is_some() || args.source.kind.is_some() {
        return Err(with_groups("leave out `--memory`"));
    }
    // Before the plan is opened, which takes some bytes for each batch.
    let opened = PlanStream::memory_of(&args.plan).map_err(refused)?;
    let input = args.source.is_named().then(|| args.source.map()).transpose()?;
    let count = input.as_ref().map_or(0, |input| input.lengths().len());
    // Which were met, and which are listed.
    let bits = 2 * count.div_ceil(8) as u64;
    let is_table = args.plan.extension().is_some_and(|name| name.eq_ignore_ascii_case("parquet"));
    let needed = if is_table { ASIDE_TABLE } else { ASIDE } + bits + opened;
    let over = |needed: u64, knows_over_long: bool| {
        let more = if knows_over_long && opened > bits {
            "; a plan of JSON lines takes less, or leave it out"
        } else {
            ", or leave it out"
        };
        memory::over("verifying the plan batch by batch", needed, bound, more)
    };
    if needed > bound {
        return Err(over(needed, opened > 0));
    }
    let stream = PlanStream::open(&args.plan).map_err(refused)?;
    let needed = needed - opened + opened.max(stream.memory());
    let left = bound.checked_sub(needed).ok_or_else(|| over(needed, stream.knows_over_long()))?;
    let longest = LINE + left / 3;
    let made = stream.provenance().clone();
    if made.grouped && input.is_some() {
        let hint = "leave out `--memory`, and name the columns that the plan was made with: `--together \
                    COLUMN`, `--kind COLUMN`, or both";
        return Err(with_groups(hint));
    }
    let mut checks = input.as_ref().map(|input| Checks::new(&made, input.lengths()));
    if let Some(checks) = &mut checks {
        if stream.knows_over_long() {
            checks.list(stream.over_long());
        } else if made.over_long != OverLong::Error {
            // Of JSON lines they come behind the batches.
            let mut ahead = PlanStream::open(&args.plan).map_err(refused)?.longest_line(longest);
            for batch in ahead.by_ref() {
                batch.map_err(refused)?;
            }
            checks.list(ahead.over_long());
        }
    }
    let mut right = checked(args, &made, stream.longest_line(longest), checks.as_mut())?;
    if let (Some(input), Some(checks)) = (&input, checks) {
        input.unchanged()?;
        checks.finish(&made, &input.source).map_err(|what| failed(&args.plan, &what))?;
        right.checks.extend(["lengths", "sequences", LONG_ENOUGH, "budget", "counts"]);
    }
    Ok(right)
}

fn with_groups(hint: &str) -> Failure {
    Failure::new("plans of groups or kinds are not checked batch by batch", hint)
}

/// Reads all batches, and collects what is wrong with them.
fn checked(
    args: &Verify,
    made: &Provenance,
    mut stream: PlanStream,
    mut checks: Option<&mut Checks>,
) -> Result<Verified, Failure> {
    let (mut sequences, mut batches) = (0_u64, 0_u64);
    let mut progress = Progress::start();
    let name = safe(&args.plan.display().to_string());
    for batch in stream.by_ref() {
        let batch = batch.map_err(refused)?;
        if let Some(checks) = &mut checks {
            checks.add(batches as u32, &batch);
        }
        sequences += batch.sequences.len() as u64;
        batches += 1;
        if batches.is_multiple_of(1024) {
            progress.often(|| format!("{name}: {batches} batches"));
        }
    }
    let truncated = made.over_long == OverLong::Truncate && !stream.over_long().is_empty();
    let mut checks = vec!["checksum"];
    checks.extend(stream.knows_over_long().then_some("digest"));
    Ok(Verified { sequences, batches, truncated, checks })
}

/// What was found wrong. None of it grows with the sequences but the bits.
struct Checks<'a> {
    lengths: &'a Lengths,
    met: Bits,
    beyond: Problems,
    twice: Problems,
    batches: BatchChecks<'a>,
}

impl<'a> Checks<'a> {
    fn new(made: &Provenance, lengths: &'a Lengths) -> Self {
        let (met, batches) = (Bits::new(lengths.len()), BatchChecks::new(made, lengths, None));
        Self { lengths, met, beyond: Problems::default(), twice: Problems::default(), batches }
    }

    fn list(&mut self, over_long: &[u32]) {
        for &sequence in over_long {
            if (sequence as usize) < self.lengths.len() {
                self.batches.over_long.set(sequence);
            } else {
                self.beyond.add(sequence);
            }
        }
    }

    fn add(&mut self, number: u32, batch: &StreamedBatch) {
        let StreamedBatch { sequences, length, positions, .. } = batch;
        let mut known = true;
        for &sequence in sequences {
            if sequence as usize >= self.lengths.len() {
                self.beyond.add(sequence);
                known = false;
            } else if self.met.has(sequence) {
                self.twice.add(sequence);
            } else {
                self.met.set(sequence);
            }
        }
        if known {
            self.batches.add(number, sequences, [*length, 0], [*positions, 0]);
        }
    }

    fn finish(self, made: &Provenance, source: &str) -> Result<(), String> {
        same_digest(made.lengths, self.lengths.digest(), source)?;
        let count = self.lengths.len();
        self.beyond.none(&format!("sequences that are not among the {count} of the input"))?;
        let dropped = made.over_long == OverLong::Drop;
        let left_out = |at: u32| dropped && self.batches.over_long.has(at);
        expect_none(
            (0..count as u32).filter(|&at| left_out(at) && self.met.has(at)),
            "sequences that are listed as left out, and yet in a batch",
        )?;
        self.twice.none("sequences that are there too often")?;
        let missing = (0..count as u32).filter(|&at| !(self.met.has(at) || left_out(at)));
        expect_none(missing, "sequences that are missing")?;
        self.batches.finish()
    }
}
