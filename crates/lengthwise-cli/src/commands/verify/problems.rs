//! What a check of a plan finds.

use crate::{failure::Failure, printer};

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
    if error.is_damaged() { Failure::CheckFailed(error.to_string()) } else { Failure::File(error) }
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
