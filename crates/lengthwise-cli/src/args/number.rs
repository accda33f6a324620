//! Numbers on the command line: what is expected is said where one is refused.

use std::ops::RangeInclusive;

/// Reads a whole number in a range.
pub(crate) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Clone + Send + Sync + 'static,
{
    move |given| {
        let number = given.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let plain = given.replace([',', '_', ' '], "");
            let is_number = plain != given && plain.parse::<T>().is_ok();
            let meant = if is_number { format!(", as in {plain}") } else { String::new() };
            format!("expected a whole number from {least} to {most}{meant}")
        })
    }
}

/// Reads a number. What it is for says which ones make sense.
pub(crate) fn real(given: &str) -> Result<f64, String> {
    given.parse().map_err(|_| "expected a number such as 0.05".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_said() {
        let read = whole(1..=u32::MAX);
        assert_eq!(read("16"), Ok(16));
        let expected = "expected a whole number from 1 to 4294967295";
        for given in ["0", "-1", "4294967296", "x", "", "1.5"] {
            assert_eq!(read(given), Err(expected.to_owned()), "{given}");
        }
        assert_eq!(read("20,000"), Err(format!("{expected}, as in 20000")));
        assert_eq!(real("-0.5"), Ok(-0.5));
        assert!(real("half").is_err());
    }
}
