//! The same checks batch by batch, with a bound on memory. A bit for each sequence tells whether it was
//! met.

use lengthwise::{Error, Lengths, Made, OverLong};
use lengthwise_files::{PlanStream, StreamedBatch};

use super::{Found, ROOM, Right, refused};
use crate::{
    args::Verify,
    failure::Failure,
    input::Sequences,
    printer::{Progress, safe},
};

/// Pieces of both files.
const ASIDE: u64 = 24_000_000;

pub(super) fn verify(args: &Verify, bound: u64) -> Result<Right, Failure> {
    let stream = PlanStream::open(&args.plan).map_err(refused)?;
    let input = args.source.is_named().then(|| args.source.map()).transpose()?;
    let bits = input.as_ref().map_or(0, |input| input.lengths().len() as u64 / 8);
    let needed = ASIDE + bits + stream.memory();
    if needed > bound {
        let what = "verifying the plan batch by batch".to_owned();
        return Err(Error::OverMemory { what, needed, bound }.into());
    }
    let (mut right, checks) = checked(args, stream, input.as_ref().map(Sequences::lengths))?;
    if let Some(input) = &input {
        input.unchanged()?;
        let failed =
            |what: String| Failure::CheckFailed(format!("{}: {what}", args.plan.display()));
        checks.finish(input.lengths(), &input.source).map_err(failed)?;
        right.checks.extend(["lengths", "sequences", ROOM, "budget", "counts"]);
    }
    Ok(right)
}

/// Reads all batches, and collects what is wrong with them.
fn checked(
    args: &Verify,
    mut stream: PlanStream,
    lengths: Option<&Lengths>,
) -> Result<(Right, Checks), Failure> {
    let mut checks = Checks::new(stream.made(), lengths.map_or(0, Lengths::len));
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
    checks.over_long = stream.over_long().to_vec();
    let truncated = checks.made.over_long == OverLong::Truncate && !checks.over_long.is_empty();
    let mut names = vec!["checksum"];
    if !args.plan.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl")) {
        names.push("digest");
    }
    Ok((Right { sequences, batches, truncated, checks: names }, checks))
}

/// What was found wrong.
struct Checks {
    made: Made,
    over_long: Vec<u32>,
    /// A bit for each sequence.
    met: Vec<u64>,
    beyond: Found,
    twice: Found,
    /// Sequences longer than their batch, batches over the budget, of one sequence or of more; which
    /// of them are listed as over-long is known at the end.
    longer: Vec<u32>,
    longer_rows: Vec<(u32, u32, Vec<u32>)>,
    alone: Vec<(u32, u32)>,
    over: Found,
    miscounted: Found,
}

impl Checks {
    fn new(made: &Made, count: usize) -> Self {
        Self {
            made: made.clone(),
            over_long: Vec::new(),
            met: vec![0; count.div_ceil(64)],
            beyond: Found::default(),
            twice: Found::default(),
            longer: Vec::new(),
            longer_rows: Vec::new(),
            alone: Vec::new(),
            over: Found::default(),
            miscounted: Found::default(),
        }
    }

    fn add(&mut self, number: u32, batch: &StreamedBatch, lengths: &Lengths) {
        let all = lengths.as_slice();
        let StreamedBatch { sequences, length, positions, .. } = batch;
        let mut known = true;
        for &sequence in sequences {
            let (word, bit) = (sequence as usize / 64, 1 << (sequence % 64));
            if sequence as usize >= all.len() {
                self.beyond.add(sequence);
                known = false;
            } else if self.met[word] & bit != 0 {
                self.twice.add(sequence);
            } else {
                self.met[word] |= bit;
            }
        }
        if !known {
            return;
        }
        let own = sequences.iter().map(|&sequence| u64::from(all[sequence as usize]));
        let row = u64::from(*length);
        if self.made.packed {
            if own.clone().sum::<u64>() > row {
                self.longer_rows.push((number, *length, sequences.clone()));
            }
        } else if own.clone().any(|own| own > row) {
            let longer = sequences.iter().copied().filter(|&at| u64::from(all[at as usize]) > row);
            // As many as are to be truncated may be longer, and a few more tell that it is wrong.
            self.longer.extend(longer);
        }
        if !self.made.admits(sequences, *length, lengths) {
            match sequences[..] {
                [sequence] => self.alone.push((sequence, number)),
                _ => self.over.add(number),
            }
        }
        if own.map(|own| own.min(row)).sum::<u64>() != *positions {
            self.miscounted.add(number);
        }
    }

    fn finish(mut self, lengths: &Lengths, source: &str) -> Result<(), String> {
        let (planned, given) = (self.made.lengths, lengths.digest());
        if planned != given {
            return Err(format!(
                "was made for other lengths: their digest is {planned:016x}, that of {source} is \
                 {given:016x}"
            ));
        }
        let count = lengths.len();
        self.over_long.sort_unstable();
        let listed = |sequence: u32| self.over_long.binary_search(&sequence).is_ok();
        let over_long = self.over_long.iter().copied();
        over_long.filter(|&at| at as usize >= count).for_each(|at| self.beyond.add(at));
        self.beyond.none(&format!("sequences that are not among the {count} of the input"))?;
        let met = |sequence: u32| self.met[sequence as usize / 64] >> (sequence % 64) & 1 == 1;
        let dropped = self.made.over_long == OverLong::Drop;
        super::none(
            self.over_long.iter().copied().filter(|&at| dropped && met(at)),
            "sequences that are listed as left out, and yet in a batch",
        )?;
        self.twice.none("sequences that are there too often")?;
        let missing = (0..count as u32).filter(|&at| !(met(at) || dropped && listed(at)));
        super::none(missing, "sequences that are missing")?;
        let truncated = self.made.over_long == OverLong::Truncate;
        let longer = self.longer.iter().copied().filter(|&at| !(truncated && listed(at)));
        super::none(longer, "sequences that are longer than the batch length")?;
        let rows = "rows whose sequences are longer together than the batch length";
        let longer = self.longer_rows.iter().filter(|(_, length, row)| {
            let whole = row.iter().filter(|&&at| !(truncated && listed(at)));
            whole.map(|&at| u64::from(lengths.as_slice()[at as usize])).sum::<u64>()
                > u64::from(*length)
        });
        super::none(longer.map(|(number, ..)| *number), rows)?;
        let alone = self.made.over_long == OverLong::Alone;
        for &(sequence, batch) in &self.alone {
            if !(alone && listed(sequence)) {
                self.over.add(batch);
            }
        }
        self.over.none(&format!("batches that exceed the budget {}", self.made.budget))?;
        self.miscounted.none("batches with other positions than are listed")
    }
}
