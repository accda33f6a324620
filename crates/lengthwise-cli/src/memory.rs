//! Memory: what a command takes is asked for before it begins, because an allocation that fails in
//! the midst of it ends the process.

use lengthwise_io::guard::fits_in_memory;

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

/// Reads a number and a unit. A letter alone is its smaller unit: no more is taken than was meant.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let expected = || "expected a number and a unit, as in 500MB, 8GB or 8GiB".to_owned();
    let letters = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(letters);
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let unit = match unit.to_ascii_uppercase().as_str() {
        "K" | "KB" => 1e3,
        "M" | "MB" => 1e6,
        "G" | "GB" => 1e9,
        "T" | "TB" => 1e12,
        "KIB" => 1024.0,
        "MIB" => 1024_f64.powi(2),
        "GIB" => 1024_f64.powi(3),
        "TIB" => 1024_f64.powi(4),
        _ => return Err(expected()),
    };
    let bytes = number * unit;
    // The largest is 2^63 bytes, which no machine has.
    if (1.0..9e18).contains(&bytes) { Ok(bytes as u64) } else { Err(expected()) }
}

/// What takes more than `--memory` allows. The hint says how much is enough, and what `more` adds.
pub(crate) fn over(what: &str, needed: u64, bound: u64, more: &str) -> Failure {
    let (needed, bound) = (in_words(needed, f64::ceil), in_words(bound, f64::floor));
    Failure::new(
        format!("{what} takes about {needed} of memory, over the bound of {bound}"),
        format!("raise the bound to {needed} or more: `--memory {needed}`{more}"),
    )
}

/// A number of bytes as it is typed, rounded so that the smaller of two looks smaller.
pub(crate) fn in_words(bytes: u64, round: fn(f64) -> f64) -> String {
    let (unit, name) = match bytes {
        ..1_000_000 => (1e3, "KB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let number = bytes as f64 / unit;
    // A gigabyte is a coarse unit: two digits of it.
    let digits = if unit > 1e8 { 100.0 } else { 10.0 };
    format!("{}{name}", round(digits * number) / digits)
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
    fn sizes_have_units() {
        let sizes = ["500MB", "8GB", "8GiB", "1.5 gb", "1KiB", "2tb", "8G", "500m"]
            .map(|text| size(text).unwrap());
        assert_eq!(
            sizes,
            [
                500_000_000,
                8_000_000_000,
                8 << 30,
                1_500_000_000,
                1024,
                2_000_000_000_000,
                8_000_000_000,
                500_000_000,
            ]
        );
        for text in ["", "8", "GB", "-1GB", "0GB", "8GBs", "8Gi", "nanGB", "infGB", "8 000MB"] {
            assert!(size(text).unwrap_err().contains("500MB"), "{text}");
        }
    }

    #[test]
    fn sizes_are_said_as_they_are_typed() {
        for text in ["1MB", "500MB", "1GB", "1.5GB", "8.25GB", "20KB", "999.9KB"] {
            assert_eq!(in_words(size(text).unwrap(), f64::floor), text);
            assert_eq!(in_words(size(text).unwrap(), f64::ceil), text);
        }
        assert_eq!(in_words(1_234_567, f64::floor), "1.2MB");
        assert_eq!(in_words(1_234_567, f64::ceil), "1.3MB");
    }

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
