//! Summaries of a few numbers, and how they are written.

/// The middle of some numbers, and their ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of at least one number.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self { median: low.midpoint(high), min: sorted[0], max: sorted[sorted.len() - 1] }
    }
}

/// A number with about three digits.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{number:.4}"),
        ..1.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A whole number with a comma at every third digit.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One line of a table in Markdown.
pub(crate) fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        let spread = Spread { median: 2.5, min: 1.0, max: 9.0 };
        assert_eq!(Spread::of([9.0, 2.0, 1.0, 3.0]), spread);
        assert!((Spread::of([4.0]).median - 4.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_written_short() {
        assert_eq!([0.00123, 0.123, 12.34, 123.4].map(short), ["0.0012", "0.12", "12.3", "123"]);
        assert_eq!([7, 1000, 1_234_567].map(grouped), ["7", "1,000", "1,234,567"]);
    }
}
