//! Memory: what a command takes is asked for before it begins, because an allocation that fails in
//! the midst of it ends the process.

use lengthwise_io::{guard::fits_in_memory, memory::in_words};

use crate::failure::Failure;

/// About how many bytes a command takes for each sequence beside its length, where batches have a few
/// sequences or more: measured with a million and with four million sequences, and a quarter more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerSequence(u64);

pub(crate) const INSPECT: PerSequence = PerSequence(40);
pub(crate) const COMPARE: PerSequence = PerSequence(80);
pub(crate) const BALANCE: PerSequence = PerSequence(200);
pub(crate) const PLAN: PerSequence = PerSequence(32);
pub(crate) const TUNE: PerSequence = PerSequence(48);
pub(crate) const FRONTIER: PerSequence = PerSequence(64);
pub(crate) const LADDER: PerSequence = PerSequence(4);
pub(crate) const VERIFY: PerSequence = PerSequence(64);

/// What takes more than `--memory` allows. The hint says how much is enough, and what `more` adds.
pub(crate) fn over(what: &str, needed: u64, bound: u64, more: &str) -> Failure {
    let (needed, bound) = (in_words(needed, f64::ceil), in_words(bound, f64::floor));
    Failure::new(
        format!("{what} takes about {needed} of memory, over the bound of {bound}"),
        format!("raise the bound to {needed} or more: `--memory {needed}`{more}"),
    )
}

/// Less than this there always is, and if not, it is no use to say so.
const SMALL: u64 = 1 << 24;

/// Refuses what cannot have the memory that it takes.
pub(crate) fn check(sequences: u64, each: PerSequence, what: &str) -> Result<(), Failure> {
    let bytes = sequences.saturating_mul(each.0);
    if bytes < SMALL || fits_in_memory(bytes) {
        return Ok(());
    }
    let [megabytes, gigabytes] = [1e6, 1e9].map(|unit| bytes as f64 / unit);
    let size = match bytes {
        ..1_000_000_000 => format!("{megabytes:.0} MB"),
        _ => format!("{gigabytes:.1} GB"),
    };
    Err(Failure::new(
        format!("out of memory: {sequences} {what} take about {size}, which cannot be had"),
        "raise the limit on memory, or take a part of the sequences",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused() {
        assert!(check(1_000_000, COMPARE, "sequences").is_ok());
        let failure = check(u64::MAX / 80, COMPARE, "pieces").unwrap_err();
        let text = "out of memory: 230584300921369395 pieces take about 18446744073.7 GB, which \
                    cannot be had";
        assert_eq!(failure.to_string(), text);
        assert_eq!(failure.exit_code(), 2);
    }
}
