//! Why there is nothing to learn from: a message that begins with the file and the line, and what to
//! do about it.

use std::{fmt, io, path::Path};

use lengthwise_report::one_line;

/// Why data could not be read, or cannot be learnt from.
///
/// Displays as one line, `place:line: message` or `place: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: String,
    line: Option<u64>,
    message: String,
    hint: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: String::new(), line: None, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Where it was, unless the error knows better.
    pub(crate) fn within(mut self, place: &str) -> Self {
        if self.place.is_empty() {
            self.place = one_line(place);
        }
        self
    }

    pub(crate) fn in_file(self, path: &Path) -> Self {
        self.within(&path.to_string_lossy())
    }

    /// The operating system's reason, without its capital and its number.
    pub(crate) fn io(path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "make it readable, or name another",
            _ => "copy it again, or name another",
        };
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        let first = letters.next().unwrap_or('?').to_lowercase();
        Self::new(one_line(&first.chain(letters).collect::<String>()), hint).in_file(path)
    }

    /// Whether settings are wrong, and no file was looked at.
    pub(crate) fn is_of_settings(&self) -> bool {
        self.place == SETTINGS
    }

    /// What is wrong, without the place.
    pub(crate) fn said(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

impl std::error::Error for Error {}

/// The place of an error that is about settings.
pub(crate) const SETTINGS: &str = "data";

/// The most characters of a value that a message repeats.
const SHOWN: usize = 40;

/// A value in backticks, cut to 40 characters and with nothing invisible in it.
pub(crate) fn quote(value: &str) -> String {
    let mut letters = value.chars();
    let start: String = letters.by_ref().take(SHOWN).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    format!("`{}{more}`", one_line(&start))
}

/// Several values in backticks, with commas between; no more than a dozen.
pub(crate) fn quote_all<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let mut values = values.into_iter();
    let shown: Vec<String> = values.by_ref().take(12).map(quote).collect();
    let more = if values.next().is_some() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A count with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quote("a\n\x1b[2Jb"), "`a\\n\\u{1b}[2Jb`");
        assert_eq!(quote(&"é".repeat(41)), format!("`{}…`", "é".repeat(40)));
        assert_eq!(quote_all(["a", "b"]), "`a`, `b`");
        assert!(quote_all(std::iter::repeat_n("a", 13)).ends_with("`a`, …"));
    }

    #[test]
    fn the_systems_reason_loses_its_number() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "No such file (os error 2)");
        let error = Error::io(Path::new("a\nb"), &missing);
        assert_eq!(error.to_string(), "a\\nb: no such file");
        assert_eq!(error.hint(), "check the path");
    }
}
