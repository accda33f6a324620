//! The same checks batch by batch, with a bound on memory. A bit for each sequence tells whether it was
//! met.

use lengthwise::{Lengths, OverLong, Provenance};
use lengthwise_io::{PlanStream, StreamedBatch};

use crate::{
    args::planning::Verify,
    commands::verify::problems::{
        LONG_ENOUGH, Problems, Verified, expect_none, refused, same_digest,
    },
    failure::Failure,
    input::Sequences,
    memory,
    printer::{Progress, safe},
};

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
    let mut checks = Checks::new(stream.provenance(), count);
    if count > 0 && stream.knows_over_long() {
        checks.list(stream.over_long());
    } else if count > 0 && checks.made.over_long != OverLong::Error {
        // Of JSON lines they come behind the batches.
        let mut ahead = PlanStream::open(&args.plan).map_err(refused)?.longest_line(longest);
        for batch in ahead.by_ref() {
            batch.map_err(refused)?;
        }
        checks.list(ahead.over_long());
    }
    let lengths = input.as_ref().map(Sequences::lengths);
    let mut right = checked(args, stream.longest_line(longest), lengths, &mut checks)?;
    if let Some(input) = &input {
        input.unchanged()?;
        let failed =
            |what: String| Failure::CheckFailed(format!("{}: {what}", args.plan.display()));
        checks.finish(input.lengths(), &input.source).map_err(failed)?;
        right.checks.extend(["lengths", "sequences", LONG_ENOUGH, "budget", "counts"]);
    }
    Ok(right)
}

/// Reads all batches, and collects what is wrong with them.
fn checked(
    args: &Verify,
    mut stream: PlanStream,
    lengths: Option<&Lengths>,
    checks: &mut Checks,
) -> Result<Verified, Failure> {
    let (mut sequences, mut batches) = (0_u64, 0_u64);
    let mut progress = Progress::start();
    let name = safe(&args.plan.display().to_string());
    for batch in stream.by_ref() {
        let batch = batch.map_err(refused)?;
        if let Some(lengths) = lengths {
            checks.add(batches as u32, &batch, lengths);
        }
        sequences += batch.sequences.len() as u64;
        batches += 1;
        if batches.is_multiple_of(1024) {
            progress.often(|| format!("{name}: {batches} batches"));
        }
    }
    let truncated = checks.made.over_long == OverLong::Truncate && !stream.over_long().is_empty();
    let mut names = vec!["checksum"];
    if stream.knows_over_long() {
        names.push("digest");
    }
    Ok(Verified { sequences, batches, truncated, checks: names })
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, sequence: u32) -> bool {
        self.0[sequence as usize / 64] >> (sequence % 64) & 1 == 1
    }

    fn set(&mut self, sequence: u32) {
        self.0[sequence as usize / 64] |= 1 << (sequence % 64);
    }
}

/// What was found wrong. None of it grows with the sequences but the bits.
struct Checks {
    made: Provenance,
    count: usize,
    met: Bits,
    /// Those that exceed the budget even alone, as the plan says.
    listed: Bits,
    beyond: Problems,
    twice: Problems,
    /// Sequences longer than their batch, and rows longer than theirs.
    longer: Problems,
    longer_rows: Problems,
    over: Problems,
    miscounted: Problems,
}

impl Checks {
    fn new(made: &Provenance, count: usize) -> Self {
        Self {
            made: made.clone(),
            count,
            met: Bits::new(count),
            listed: Bits::new(count),
            beyond: Problems::default(),
            twice: Problems::default(),
            longer: Problems::default(),
            longer_rows: Problems::default(),
            over: Problems::default(),
            miscounted: Problems::default(),
        }
    }

    fn list(&mut self, over_long: &[u32]) {
        for &sequence in over_long {
            if (sequence as usize) < self.count {
                self.listed.set(sequence);
            } else {
                self.beyond.add(sequence);
            }
        }
    }

    fn add(&mut self, number: u32, batch: &StreamedBatch, lengths: &Lengths) {
        let all = lengths.as_slice();
        let StreamedBatch { sequences, length, positions, .. } = batch;
        let mut known = true;
        for &sequence in sequences {
            if sequence as usize >= all.len() {
                self.beyond.add(sequence);
                known = false;
            } else if self.met.has(sequence) {
                self.twice.add(sequence);
            } else {
                self.met.set(sequence);
            }
        }
        if !known {
            return;
        }
        let own = |&sequence: &u32| u64::from(all[sequence as usize]);
        let row = u64::from(*length);
        let truncated = self.made.over_long == OverLong::Truncate;
        let (listed, longer) = (&self.listed, &mut self.longer);
        let whole = sequences.iter().filter(|&&at| !(truncated && listed.has(at)));
        if self.made.packed {
            if whole.map(own).sum::<u64>() > row {
                self.longer_rows.add(number);
            }
        } else {
            whole.filter(|&at| own(at) > row).for_each(|&at| longer.add(at));
        }
        let alone = self.made.over_long == OverLong::Alone;
        let may_exceed = matches!(sequences[..], [at] if alone && listed.has(at));
        if !may_exceed && !self.made.admits(sequences, *length, lengths) {
            self.over.add(number);
        }
        if sequences.iter().map(|at| own(at).min(row)).sum::<u64>() != *positions {
            self.miscounted.add(number);
        }
    }

    fn finish(self, lengths: &Lengths, source: &str) -> Result<(), String> {
        same_digest(self.made.lengths, lengths.digest(), source)?;
        let count = self.count;
        self.beyond.none(&format!("sequences that are not among the {count} of the input"))?;
        let dropped = self.made.over_long == OverLong::Drop;
        let left_out = |at: u32| dropped && self.listed.has(at);
        expect_none(
            (0..count as u32).filter(|&at| left_out(at) && self.met.has(at)),
            "sequences that are listed as left out, and yet in a batch",
        )?;
        self.twice.none("sequences that are there too often")?;
        let missing = (0..count as u32).filter(|&at| !(self.met.has(at) || left_out(at)));
        expect_none(missing, "sequences that are missing")?;
        self.longer.none("sequences that are longer than the batch length")?;
        let rows = "rows whose sequences are longer together than the batch length";
        self.longer_rows.none(rows)?;
        self.over.none(&format!("batches that exceed the budget {}", self.made.budget))?;
        self.miscounted.none("batches with other positions than are listed")
    }
}
