//! What a check of a plan finds, and the checks of single batches.

use std::path::Path;

use lengthwise::{Lengths, OverLong, Provenance};

use crate::failure::Failure;
use crate::{printer, remedies};

pub(super) struct Verified {
    pub(super) sequences: u64,
    pub(super) batches: u64,
    pub(super) truncated: bool,
    pub(super) checks: Vec<&'static str>,
}

impl Verified {
    /// What was checked, in words. That no batch is too short is all that is known of batch lengths: a
    /// longer one than it needs to be is no mistake.
    pub(super) fn sentence(&self) -> String {
        let checks = &self.checks;
        let right: Vec<&str> = checks.iter().copied().filter(|&name| name != LONG_ENOUGH).collect();
        let (last, others) = right.split_last().unwrap_or((&"", &[]));
        let room = match (checks.contains(&LONG_ENOUGH), self.truncated) {
            (false, _) => "",
            (true, false) => ", and no sequence is longer than its batch",
            (true, true) => {
                ", and no sequence that is not to be truncated is longer than its batch"
            }
        };
        match others {
            [] => format!("{last} is right{room}"),
            others => format!("{} and {last} are right{room}", others.join(", ")),
        }
    }
}

/// A file that was read and is not right has failed a check; one that cannot be read has not.
pub(super) fn refused(error: lengthwise_io::Error) -> Failure {
    if !error.is_damaged() {
        return Failure::File(error);
    }
    let hint = error.remedy().map(remedies::of_file).unwrap_or_default();
    Failure::check(error.to_string(), hint)
}

/// A plan that is not right for its lengths.
pub(super) fn failed(plan: &Path, what: &str) -> Failure {
    let hint = if what.starts_with("was made for two lengths") {
        "name the second column with `--second NAME`"
    } else if what.starts_with("was made for groups") {
        "name the columns that it was made with: `--together COLUMN`, `--kind COLUMN`, or both"
    } else if what.starts_with("was made without groups") {
        "leave out `--together` and `--kind`"
    } else if what.starts_with("was made for") {
        "verify it with the lengths that it was made for, and the same `--column`, `--unit`, `--rate`, \
         `--frame-shift`, `--together` and `--kind`; for these lengths, make a new plan with `lengthwise plan`"
    } else {
        "make the plan again with `lengthwise plan`; if you did not change the file, please report this"
    };
    Failure::check(format!("{}: {what}", plan.display()), hint)
}

/// The one check that is not of something the plan has.
pub(super) const LONG_ENOUGH: &str = "no batch too short";

/// Refuses a plan that was made for other lengths.
pub(super) fn same_digest(planned: u64, given: u64, source: &str) -> Result<(), String> {
    if planned == given {
        return Ok(());
    }
    Err(format!(
        "was made for other lengths: their digest is {planned:016x}, that of {source} is {given:016x}"
    ))
}

pub(super) fn expect_none(numbers: impl Iterator<Item = u32>, what: &str) -> Result<(), String> {
    let mut found = Problems::default();
    numbers.for_each(|number| found.add(number));
    found.none(what)
}

/// Numbers of what is wrong: the first of them, and how many there are.
#[derive(Default)]
pub(super) struct Problems {
    first: Vec<u32>,
    count: u64,
}

impl Problems {
    pub(super) fn add(&mut self, number: u32) {
        // One more than are shown, so that it is seen that there are more.
        if self.first.len() <= 10 {
            self.first.push(number);
        }
        self.count += 1;
    }

    pub(super) fn none(&self, what: &str) -> Result<(), String> {
        let few = printer::few(&self.first);
        match self.count {
            0 => Ok(()),
            1..=10 => Err(format!("has {what}: {few}")),
            count => Err(format!("has {what}: {few} ({count} in all)")),
        }
    }
}

/// A bit for each sequence.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(super) fn has(&self, sequence: u32) -> bool {
        self.0[sequence as usize / 64] >> (sequence % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, sequence: u32) {
        self.0[sequence as usize / 64] |= 1 << (sequence % 64);
    }
}

/// What is wrong with single batches: none of it grows with the sequences but the bits.
pub(super) struct BatchChecks<'a> {
    made: Provenance,
    lengths: &'a Lengths,
    /// The group of every sequence, if some stay together.
    groups: Option<&'a [u32]>,
    /// Those that exceed the budget even alone, as the plan says.
    pub(super) over_long: Bits,
    /// Sequences longer than their batch, by the first and by the second length.
    longer: [Problems; 2],
    longer_rows: Problems,
    over: Problems,
    miscounted: [Problems; 2],
}

impl<'a> BatchChecks<'a> {
    pub(super) fn new(made: &Provenance, lengths: &'a Lengths, groups: Option<&'a [u32]>) -> Self {
        Self {
            made: made.clone(),
            lengths,
            groups,
            over_long: Bits::new(lengths.len()),
            longer: Default::default(),
            longer_rows: Problems::default(),
            over: Problems::default(),
            miscounted: Default::default(),
        }
    }

    /// Looks at a batch of sequences that all are there: what they are padded to, and how many positions
    /// are listed, each for both lengths.
    pub(super) fn add(&mut self, at: u32, batch: &[u32], padded: [u32; 2], listed: [u64; 2]) {
        let (made, lengths, over_long) = (&self.made, self.lengths, &self.over_long);
        let truncated = made.over_long == OverLong::Truncate;
        let whole = batch.iter().copied().filter(|&at| !(truncated && over_long.has(at)));
        let sides = [Some(lengths), lengths.second()].into_iter().flatten();
        for (side, lengths) in sides.enumerate() {
            let row = u64::from(padded[side]);
            let own = |at: u32| u64::from(lengths.as_slice()[at as usize]);
            if !made.packed {
                let longer = whole.clone().filter(|&at| own(at) > row);
                longer.for_each(|at| self.longer[side].add(at));
            } else if whole.clone().map(own).sum::<u64>() > row {
                self.longer_rows.add(at);
            }
            if batch.iter().map(|&at| own(at).min(row)).sum::<u64>() != listed[side] {
                self.miscounted[side].add(at);
            }
        }
        let alone = made.over_long == OverLong::Alone;
        // A group that stays together is alone as a whole.
        let group = |&at: &u32| self.groups.map_or(at, |groups| groups[at as usize]);
        let one = batch.iter().all(|at| group(at) == group(&batch[0]));
        let may_exceed = alone && one && batch.iter().all(|&at| over_long.has(at));
        if !may_exceed && !made.admits_pair(batch, padded.into(), lengths) {
            self.over.add(at);
        }
    }

    pub(super) fn finish(&self) -> Result<(), String> {
        self.longer[0].none("sequences that are longer than the batch length")?;
        let rows = "rows whose sequences are longer together than the batch length";
        self.longer_rows.none(rows)?;
        let second = "sequences whose second length is longer than that of the batch";
        self.longer[1].none(second)?;
        self.over.none(&format!("batches that exceed the budget {}", self.made.budget))?;
        self.miscounted[0].none("batches with other positions than are listed")?;
        self.miscounted[1].none("batches with other second positions than are listed")
    }
}
