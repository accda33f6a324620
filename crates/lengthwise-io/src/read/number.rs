//! The one place that says what a length is: a whole number from 1 to 4294967295. Each format
//! hands over what it found, as text or as a number, and gets the length or the [`Reason`] why it
//! is none. The reasons carry the wording, so that the same mistake reads the same everywhere.

use crate::error::Error;
use crate::text::quote;

/// Why a value is not a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Empty,
    NotNumber,
    NotFinite,
    Negative,
    Zero,
    Fraction,
    TooLarge,
}

impl Reason {
    /// What completes "which is …", and the hint.
    fn words(self) -> (&'static str, &'static str) {
        const RANGE: &str = "lengths are whole numbers from 1 to 4294967295";
        const MISSING: &str = "write the length there, or leave out the sequences without one";
        match self {
            Reason::Empty => ("empty", MISSING),
            Reason::NotNumber => ("not a number", RANGE),
            Reason::NotFinite => ("not a finite number", MISSING),
            Reason::Negative => ("negative", RANGE),
            Reason::Zero => ("less than 1", "leave empty sequences out: lengths start at 1"),
            Reason::Fraction => (
                "not a whole number",
                "lengths are whole numbers; if these are seconds, convert them to frames \
                 with {frame-shift=0.01} or {rate=100}",
            ),
            Reason::TooLarge => ("more than 4294967295", RANGE),
        }
    }

    /// The error for `value`; `holder`, such as "column `frames`", is what holds it, or nothing.
    pub(crate) fn error(self, holder: &str, value: &str) -> Error {
        let (clause, _) = self.words();
        let message = match (self, holder) {
            (Reason::Empty, "") => "the line is empty".to_owned(),
            (Reason::Empty, _) => format!("{holder} is empty"),
            (_, "") => format!("{} is {clause}", quote(value)),
            _ => format!("{holder} holds {}, which is {clause}", quote(value)),
        };
        self.advise(Error::new(message))
    }

    /// An error of another wording, with the hint for this reason.
    pub(crate) fn advise(self, error: Error) -> Error {
        error.hint_to(self.words().1)
    }
}

#[inline]
pub(crate) fn from_bytes(field: &[u8]) -> Result<u32, Reason> {
    match digits(field) {
        Some(value) => from_u64(value),
        // The rare cases: white space, signs, decimals, exponents, and all that is wrong.
        None => from_f64(real(field)?),
    }
}

/// Up to 18 plain digits, which is nearly every field of nearly every file and cannot overflow.
#[inline]
fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 18 {
        return None;
    }
    field.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + u64::from(digit))
    })
}

/// The number that a field holds, as it is.
pub(crate) fn real(field: &[u8]) -> Result<f64, Reason> {
    let field = str::from_utf8(field).map_err(|_| Reason::NotNumber)?.trim();
    if field.is_empty() {
        return Err(Reason::Empty);
    }
    let value: f64 = field.parse().map_err(|_| Reason::NotNumber)?;
    // A number with hundreds of digits overflows to infinity, but it is not the word `inf`.
    if value.is_infinite() && field.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(if value < 0.0 { Reason::Negative } else { Reason::TooLarge });
    }
    Ok(value)
}

pub(crate) fn from_u64(value: u64) -> Result<u32, Reason> {
    match u32::try_from(value) {
        Ok(0) => Err(Reason::Zero),
        Ok(length) => Ok(length),
        Err(_) => Err(Reason::TooLarge),
    }
}

/// The length of something of so many parts; `empty` is what is said of one that has none.
pub(crate) fn counted(count: u64, holder: impl Fn() -> String, empty: &str) -> Result<u32, Error> {
    from_u64(count).map_err(|reason| match reason {
        Reason::Zero => reason.advise(Error::new(format!("{} {empty}", holder()))),
        _ => reason.error(&holder(), &count.to_string()),
    })
}

pub(crate) fn from_i64(value: i64) -> Result<u32, Reason> {
    u64::try_from(value).map_err(|_| Reason::Negative).and_then(from_u64)
}

pub(crate) fn from_f64(value: f64) -> Result<u32, Reason> {
    if !value.is_finite() {
        Err(Reason::NotFinite)
    } else if value < 0.0 {
        Err(Reason::Negative)
    } else if value > f64::from(u32::MAX) {
        Err(Reason::TooLarge)
    } else if value.fract() != 0.0 {
        Err(Reason::Fraction)
    } else {
        // In range and whole, so the cast changes nothing.
        from_u64(value as u64)
    }
}

/// Whether a field of a table could be meant as a number, right or wrong, rather than as a name.
pub(crate) fn is_number(field: &[u8]) -> bool {
    !matches!(from_bytes(field), Err(Reason::Empty | Reason::NotNumber))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_length() {
        let good = ["1", "12", " 12\t", "12.0", "+12", "1e3", "0012", "4294967295", "4294967295.0"];
        let good = good.map(|text| from_bytes(text.as_bytes()).unwrap());
        assert_eq!(good, [1, 12, 12, 12, 12, 1000, 12, u32::MAX, u32::MAX]);
    }

    #[test]
    fn what_is_none() {
        let huge = "9".repeat(400);
        let low = format!("-{huge}");
        let cases = [
            ("", Reason::Empty),
            (" ", Reason::Empty),
            ("abc", Reason::NotNumber),
            ("0x10", Reason::NotNumber),
            ("1_000", Reason::NotNumber),
            ("1,000", Reason::NotNumber),
            ("12 13", Reason::NotNumber),
            ("#12", Reason::NotNumber),
            ("nan", Reason::NotFinite),
            ("-inf", Reason::NotFinite),
            ("-1", Reason::Negative),
            ("-0.5", Reason::Negative),
            (&low, Reason::Negative),
            ("0", Reason::Zero),
            ("-0", Reason::Zero),
            ("0.0", Reason::Zero),
            ("0.5", Reason::Fraction),
            ("12.5", Reason::Fraction),
            ("4294967296", Reason::TooLarge),
            ("4294967295.5", Reason::TooLarge),
            ("999999999999999999", Reason::TooLarge),
            ("9999999999999999999", Reason::TooLarge),
            (&huge, Reason::TooLarge),
        ];
        for (text, reason) in cases {
            assert_eq!(from_bytes(text.as_bytes()), Err(reason), "{text}");
        }
        assert_eq!(from_bytes(b"\xff"), Err(Reason::NotNumber));
    }
}
