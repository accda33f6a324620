//! What stops a reading: a message that starts with the file and the line, and a hint. Readers
//! know lines but not what their input is called, so they leave the source open and the crate's
//! entry fills it in. Whatever comes from the input goes through [`quote`] first: a message stays
//! on one line and stays short, whatever the file holds.

use std::fmt;
use std::io;

/// Why lengths could not be read.
///
/// Displays as one line, `source:line: message` or `source: message`.
#[derive(Debug)]
pub struct Error {
    source: String,
    line: Option<u64>,
    message: String,
    hint: Option<String>,
    cause: Option<io::Error>,
    is_of_texts: bool,
}

impl Error {
    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// Whether lengths were expected of a column of texts.
    pub fn is_of_texts(&self) -> bool {
        self.is_of_texts
    }

    /// The column holds texts.
    pub(crate) fn of_texts(mut self) -> Self {
        self.is_of_texts = true;
        self
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            source: String::new(),
            line: None,
            message,
            hint: None,
            cause: None,
            is_of_texts: false,
        }
    }

    pub(crate) fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn hint_to(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// One more thing to do, after what the hint says already.
    pub(crate) fn also(mut self, hint: &str) -> Self {
        self.hint = Some(self.hint.map_or(hint.to_owned(), |first| format!("{first}; {hint}")));
        self
    }

    /// Where it was, unless the error knows better, as for one file of a directory.
    pub(crate) fn in_source(mut self, source: &str) -> Self {
        if self.source.is_empty() {
            self.source = one_line(source);
        }
        self
    }

    /// The operating system's reason, as it words it but for the capital and the error number.
    pub(crate) fn io(line: Option<u64>, cause: io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => Some("check the path"),
            io::ErrorKind::PermissionDenied => Some("make the file readable, or name another one"),
            io::ErrorKind::OutOfMemory => Some("raise the limit on memory"),
            _ if Damaged::is(&cause) => Some("copy the file again, or compress it again"),
            _ => None,
        };
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        let first = letters.next().unwrap_or('?').to_lowercase();
        let message = first.chain(letters).collect::<String>();
        Self {
            source: String::new(),
            line,
            message: one_line(&message),
            hint: hint.map(str::to_owned),
            cause: Some(cause),
            is_of_texts: false,
        }
    }

    /// What happened to the temporary file, which needs so many bytes in this folder.
    pub(crate) fn spooling(mut self, folder: &str, bytes: u64) -> Self {
        let folder = quote(folder);
        let megabytes = bytes as f64 / 1e6;
        self.message = format!(
            "its lengths do not go to a temporary file in {folder}, {megabytes:.1} MB so far: {}",
            self.message
        );
        self.hint_to("name a folder with enough room in `TMPDIR`, four bytes for each length")
    }

    pub(crate) fn no_lengths() -> Self {
        Self::new("holds no lengths").hint_to("write at least one length, or name another file")
    }

    pub(crate) fn not_utf8(line: u64) -> Self {
        Self::new("the line is not valid UTF-8")
            .at(line)
            .hint_to("save the file as UTF-8 text; of compressed files, gzip and zstd are read")
    }

    pub(crate) fn too_many() -> Self {
        Self::new(format!("holds more than {} lengths", u32::MAX))
            .hint_to("split the file into parts")
    }

    /// More than there is memory for, of so many bytes each.
    pub(crate) fn no_memory(what: &str, count: usize, each: usize) -> Self {
        let bytes = (count as u64).saturating_mul(each as u64);
        Self::no_room(&format!("{count} {what} need"), bytes)
    }

    /// Something needs more memory than there is; `needs` is the beginning of a sentence.
    pub(crate) fn no_room(needs: &str, bytes: u64) -> Self {
        let [megabytes, gigabytes] = [1e6, 1e9].map(|unit| bytes as f64 / unit);
        let size = match bytes {
            ..1_000_000_000 => format!("{megabytes:.1} MB"),
            _ => format!("{gigabytes:.1} GB"),
        };
        Self::new(format!("{needs} {size} of memory, which cannot be had"))
            .hint_to("raise the limit on memory, or split the file into parts")
    }

    /// A unit for a format without texts.
    pub(crate) fn no_texts(what: &str) -> Self {
        Self::new(format!("{what} holds no texts to count in")).hint_to("leave out `--unit`")
    }

    /// What this build was made without. Every optional reader ends here when it is left out.
    #[allow(dead_code, reason = "a build with every feature lacks nothing")]
    pub(crate) fn not_built(what: &str, feature: &str) -> Self {
        Self::new(format!("this build cannot {what}"))
            .hint_to(format!("build with `--features {feature}`"))
    }

    /// `--column` for a format that has none; ignoring it would hide a mistaken file name.
    pub(crate) fn no_columns(what: &str) -> Self {
        Self::new(format!("{what} has no columns to choose from"))
            .hint_to("leave out `--column`, or say `--format csv` if it is a table")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.source, self.message),
            None => write!(f, "{}: {}", self.source, self.message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// Compressed data that does not unpack. It travels as an [`io::Error`] through readers that know
/// of no other.
#[derive(Debug)]
pub(crate) struct Damaged {
    kind: &'static str,
}

impl Damaged {
    pub(crate) fn error(kind: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self { kind })
    }

    fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} data is cut short or damaged", self.kind)
    }
}

impl std::error::Error for Damaged {}

/// The most characters of a value that a message repeats.
const SHOWN: usize = 40;

/// A value in backticks, cut to 40 characters and with nothing invisible in it.
pub(crate) fn quote(value: &str) -> String {
    let mut letters = value.chars();
    let start: String = letters.by_ref().take(SHOWN).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    format!("`{}{more}`", one_line(&start))
}

/// Writes out what would break the line, move the cursor or turn the direction of the text.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let invisible = matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if letter.is_control() || invisible {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quote("abc"), "`abc`");
        assert_eq!(quote(&"é".repeat(40)), format!("`{}`", "é".repeat(40)));
        assert_eq!(quote(&"é".repeat(41)), format!("`{}…`", "é".repeat(40)));
        assert_eq!(quote("a\r\n\x1b[2J\u{202e}b"), "`a\\r\\n\\u{1b}[2J\\u{202e}b`");
    }

    #[test]
    fn the_systems_reason_loses_its_number() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "No such file (os error 2)");
        let error = Error::io(Some(3), missing).in_source("a\nb");
        assert_eq!(error.to_string(), "a\\nb:3: no such file");
        assert_eq!(error.hint().as_deref(), Some("check the path"));
        assert!(std::error::Error::source(&error).is_some());
        let error = Error::io(None, io::ErrorKind::PermissionDenied.into()).in_source("a");
        assert_eq!(error.to_string(), "a: permission denied");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("make the file readable")));
    }
}
