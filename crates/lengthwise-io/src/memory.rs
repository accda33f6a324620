//! Bounds on memory: how they are typed, what of them is not for planning, and how much more is needed.

use std::{fmt::Write as _, path::Path};

/// What is not for planning: pieces of the input and of the output, and threads.
const ASIDE: u64 = 24_000_000;

/// The same where the output is a table: groups of a million rows.
const ASIDE_TABLE: u64 = 120_000_000;

/// Strategies that sort in as many passes as needed.
const LEAST: [&str; 6] =
    ["shuffled", "sorted", "semi-sorted", "blurred", "length-buckets", "optimal-buckets"];

/// Reads a number and a unit. A letter alone is its smaller unit: no more is taken than was meant.
pub fn size(text: &str) -> Result<u64, String> {
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

/// A number of bytes as it is typed, rounded so that the smaller of two looks smaller.
pub fn in_words(bytes: u64, round: fn(f64) -> f64) -> String {
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

/// Whether a plan that is written to `output` is a table.
fn is_table(output: Option<&Path>) -> bool {
    let extension = output.and_then(Path::extension);
    extension.is_some_and(|name| name.eq_ignore_ascii_case("parquet"))
}

/// How much of a bound is for planning, if the plan is written to `output`.
pub fn for_planning(bound: u64, output: Option<&Path>) -> u64 {
    bound.saturating_sub(if is_table(output) { ASIDE_TABLE } else { ASIDE })
}

/// How much a plan needs in all that is written to `output`, where `needed` is for planning; and what else helps,
/// which begins with a semicolon or is empty. `what` is the message of the error.
pub fn needed_in_all(what: &str, needed: u64, output: Option<&Path>) -> (u64, String) {
    let mut more = String::new();
    if is_table(output) {
        let file = in_words(needed + ASIDE, f64::ceil);
        _ = write!(more, "; .npz takes {file}, as it is not written a million rows at a time");
    }
    if !LEAST.iter().any(|name| what.contains(&format!("by `{name}"))) {
        more +=
            "; `shuffled`, `sorted`, `semi-sorted`, `blurred` and buckets of lengths take least";
    }
    (needed + if is_table(output) { ASIDE_TABLE } else { ASIDE }, more)
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
}
