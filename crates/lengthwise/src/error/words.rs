//! Parts of sentences about errors.

use crate::math::digits;

pub(crate) fn text(text: &str) -> String {
    text.to_owned()
}

/// Why a sequence takes more than its length, if it does.
pub(crate) fn by_shapes(length: u32, cells: u64) -> &'static str {
    if u64::from(length) == cells { "" } else { " (rounded up by the shapes)" }
}

/// That there are other sequences like the first of `count`.
pub(crate) fn so_do_others(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        1 => "; so does 1 more sequence".to_owned(),
        more => format!("; so do {more} more sequences"),
    }
}

/// A setting that was another before.
pub(crate) fn differ(one: &str, what: &str, before: &str, other: &str, now: &str) -> String {
    let what = match what {
        "lengths" => "lengths of digest",
        "plan" => "a plan of digest",
        "statistics" => "statistics of digest",
        "batches" => "a constant number of batches of",
        other => other,
    };
    format!("{one} {what} `{}`, {other} `{}`", shortened(before), shortened(now))
}

/// A number of bytes with three or four digits, rounded so that the smaller of two looks smaller.
pub(crate) fn bytes(count: u64, round: fn(f64) -> f64) -> String {
    let (unit, name) = match count {
        ..10_000 => return format!("{count} bytes"),
        10_000..10_000_000 => (1e3, "KB"),
        10_000_000..10_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let number = round(10.0 * count as f64 / unit) / 10.0;
    format!("{number}{name}")
}

/// About four digits of a number, or all if it would not look over `limit` with these.
pub(crate) fn over(value: f64, limit: f64) -> f64 {
    let near = digits(value, 3);
    if near > limit { near } else { value }
}

/// About three digits of a number, and not less than it: as a limit it is enough.
pub(crate) fn rounded_up(value: f64) -> f64 {
    let near = digits(value, 2);
    // The last of three digits is at most 1 % of the number.
    if near >= value { near } else { digits(1.01 * value, 2) }
}

pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// At most forty characters of what was given, none of them a control character.
pub(crate) fn shortened(given: &str) -> String {
    let mut shown = String::new();
    for character in given.chars().take(40) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if given.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}
