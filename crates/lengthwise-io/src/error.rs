//! Why a file could not be read or written: a message that starts with the file and the line, and a
//! remedy. Readers know lines, but not what their input is called, so they leave the place open and the
//! entry of the crate fills it in. What comes from a file goes through [`quote`] or [`shortened`] first.

use std::{fmt, io, path::Path};

use crate::hex::hex;
use crate::remedy::Remedy;
use crate::text::{quote, shortened};

/// Why a file could not be read or written.
///
/// [`Display`](fmt::Display) gives one line, `place: message` or `place:line: message`;
/// [`hint`](Error::hint) says what to do about it.
#[derive(Debug, Default)]
pub struct Error {
    /// The file, or what the input is called.
    place: Option<String>,
    line: Option<u64>,
    /// What it was to be, such as a plan or a cursor; nothing if lengths were read.
    subject: Option<&'static str>,
    message: String,
    remedy: Remedy,
    cause: Option<io::Error>,
    is_damaged: bool,
    is_of_texts: bool,
}

impl Error {
    /// What to do about it, in one line and in the words of Rust.
    pub fn hint(&self) -> Option<String> {
        self.remedy().map(ToString::to_string)
    }

    /// What to do about it, for the command line and Python, which have words of their own.
    pub fn remedy(&self) -> Option<&Remedy> {
        Some(&self.remedy).filter(|remedy| **remedy != Remedy::default())
    }

    /// Whether a plan, a cursor or the like could be read, but is not what was once written: cut off,
    /// altered, or something else altogether.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Whether lengths were expected of a column of texts.
    pub fn is_of_texts(&self) -> bool {
        self.is_of_texts
    }

    /// A message about lengths, which follows the place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A message about a subject, which it follows: "has no checksum".
    pub(crate) fn of_subject(subject: &'static str, message: impl Into<String>) -> Self {
        Self { subject: Some(subject), ..Self::new(message) }
    }

    pub(crate) fn of_plan(message: impl Into<String>) -> Self {
        Self::of_subject("plan", message)
    }

    pub(crate) fn hint_to(self, remedy: impl Into<Remedy>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// A hint with values in it: see [`Remedy::filled`].
    pub(crate) fn hint_with(self, template: &'static str, values: &[&str]) -> Self {
        self.hint_to(Remedy::filled(template, values))
    }

    /// One more thing to do, after what the hint says already.
    pub(crate) fn also(self, remedy: &'static str) -> Self {
        Self { remedy: self.remedy.also(remedy.into()), ..self }
    }

    pub(crate) fn at(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Where it was, unless the error knows better, as for one file of a directory.
    pub(crate) fn in_source(self, source: &str) -> Self {
        Self { place: self.place.or_else(|| Some(shortened(source, usize::MAX))), ..self }
    }

    /// The file that it was in, unless the error knows better.
    pub(crate) fn of(self, path: &Path) -> Self {
        self.in_source(&path.display().to_string())
    }

    pub(crate) fn of_texts(self) -> Self {
        Self { is_of_texts: true, ..self }
    }
}

/// What the system refuses.
impl Error {
    /// The operating system's reason, as it words it but for the capital and the error number.
    pub(crate) fn io(cause: io::Error) -> Self {
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        let first = letters.next().unwrap_or('?').to_lowercase();
        let message = shortened(&first.chain(letters).collect::<String>(), usize::MAX);
        let remedy = match cause.kind() {
            io::ErrorKind::NotFound => "check the path".into(),
            io::ErrorKind::PermissionDenied => "make the file readable, or name another one".into(),
            io::ErrorKind::OutOfMemory => "raise the limit on memory".into(),
            _ if message.contains("symbolic links") => {
                "name the file that the symbolic link should point to: this one points to itself"
                    .into()
            }
            _ if message.ends_with(DAMAGED) => "copy the file again, or compress it again".into(),
            _ => Remedy::default(),
        };
        Self { remedy, cause: Some(cause), ..Self::new(message) }
    }

    /// A plan or the like that cannot be read.
    pub(crate) fn unreadable(subject: &'static str, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => {
                return Self::of_subject(subject, "there is no such file")
                    .hint_to("check the path");
            }
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::PermissionDenied => "make the file readable, or name another one",
            _ => "name another file",
        };
        Self::of_subject(subject, format!("cannot be read: {}", cause.kind())).hint_to(hint)
    }

    pub(crate) fn unwritten(cause: &io::Error) -> Self {
        // The kind alone: the whole error names the temporary file, which tells the reader nothing.
        let message = match cause.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        Self::of_subject("file", message).hint_to(match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "nothing was written to it; free some space on the disk"
            }
            io::ErrorKind::FileTooLarge => {
                "nothing was written to it; raise the limit on the size of files: `ulimit -f unlimited`"
            }
            _ => "nothing was written to it; check that the folder exists and can be written to",
        })
    }

    /// More than there is memory for, of this many bytes each.
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
        Self::new(format!("{needs} {size} of memory, which is not available"))
            .hint_to("raise the limit on memory, or split the file into parts")
    }

    /// What happened to the temporary file of lengths, which needs so many bytes in this folder.
    pub(crate) fn spooling(mut self, folder: &str, bytes: u64) -> Self {
        let (folder, megabytes) = (quote(folder), bytes as f64 / 1e6);
        self.message = format!(
            "its lengths cannot be written to a temporary file in {folder} ({megabytes:.1} MB so far): {}",
            self.message
        );
        self.hint_to("name a folder with enough space in `TMPDIR`: four bytes per length")
    }

    /// What this build was made without. Every optional reader ends here when it is left out.
    #[allow(dead_code, reason = "a build with every feature lacks nothing")]
    pub(crate) fn not_built(what: &str, feature: &str) -> Self {
        Self::new(format!("this build cannot {what}"))
            .hint_with("build with {feature=}", &[feature])
    }
}

/// Lengths that are not what they should be.
impl Error {
    pub(crate) fn no_lengths() -> Self {
        Self::new("holds no lengths").hint_to("write at least one length, or name another file")
    }

    pub(crate) fn too_many() -> Self {
        Self::new(format!("holds more than {} lengths", u32::MAX))
            .hint_to("split the file into parts")
    }

    pub(crate) fn not_utf8(line: u64) -> Self {
        Self::new("the line is not valid UTF-8")
            .at(line)
            .hint_to("save the file as UTF-8 text; of compressed files, gzip and zstd are read")
    }

    /// Data of this kind that its library refuses, or panics on.
    #[allow(dead_code, reason = "only the heavy formats are read by libraries")]
    pub(crate) fn damaged_data(kind: &str) -> Self {
        Self::new(format!("the {kind} {DAMAGED}")).hint_to("copy the file again, or write it again")
    }

    /// Ids were asked of a format that has none.
    pub(crate) fn no_ids(what: &str) -> Self {
        Self::new(format!("{what} has no ids")).hint_to("leave out {ids}, or use a table")
    }
}

/// Plans, cursors and the like that are not what was written.
impl Error {
    pub(crate) fn damaged(subject: &'static str, message: impl Into<String>) -> Self {
        let error = Self::of_subject(subject, message).hint_to(match subject {
            "cursor" => "use the cursor of another checkpoint",
            "file of statistics" => "compute the statistics again, or copy the file again",
            "state" => "use the state of another checkpoint, or start the stream again",
            _ => "make the plan again, or copy the file again from where it was made",
        });
        Self { is_damaged: true, ..error }
    }

    /// Not what it should be as far as can be seen; `why` comes from a parser, and perhaps quotes
    /// the file.
    pub(crate) fn cut_off(subject: &'static str, why: &str) -> Self {
        let why = shortened(why, 100);
        Self::damaged(subject, format!("is cut off or not a {subject}: {why}"))
    }

    pub(crate) fn not_a_plan(why: impl AsRef<str>) -> Self {
        Self::cut_off("plan", why.as_ref())
    }

    /// A plan that its reader panics on.
    pub(crate) fn gave_up() -> Self {
        Self::not_a_plan("its reader gave up")
    }

    pub(crate) fn altered(subject: &'static str, written: u64, found: u64) -> Self {
        let [written, found] = [written, found].map(hex);
        let what = format!("has been altered: its checksum is {written}, its content has {found}");
        Self::damaged(subject, what)
    }

    pub(crate) fn version(subject: &'static str, given: &str, known: &str) -> Self {
        let given = shortened(given, 40);
        Self::of_subject(subject, format!("has version {given}, but this release reads {known}"))
            .hint_to("use the release of lengthwise that wrote it")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_deref();
        match (place, self.subject, self.line) {
            (None, Some(subject), Some(line)) => write!(f, "line {line} of the {subject} ")?,
            (None, Some(subject), None) => write!(f, "the {subject} ")?,
            (_, _, Some(line)) => write!(f, "{}:{line}: ", place.unwrap_or_default())?,
            (_, _, None) => write!(f, "{}: ", place.unwrap_or_default())?,
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// What is said of data that does not unpack, or that its library refuses.
const DAMAGED: &str = "data is cut short or damaged";

/// Compressed data that does not unpack. It travels as an [`io::Error`] through readers that know of no other.
pub(crate) fn does_not_unpack(kind: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the {kind} {DAMAGED}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_reason_loses_its_number() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "No such file (os error 2)");
        let error = Error::io(missing).at(3).in_source("a\nb");
        assert_eq!(error.to_string(), "a\\nb:3: no such file");
        assert_eq!(error.hint().as_deref(), Some("check the path"));
        assert!(std::error::Error::source(&error).is_some());
        let error = Error::io(io::ErrorKind::PermissionDenied.into()).in_source("a");
        assert_eq!(error.to_string(), "a: permission denied");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("make the file readable")));
    }

    #[test]
    fn the_hint_of_a_file_that_cannot_be_written_is_that_of_the_reason() {
        let hint = |kind: io::ErrorKind| Error::unwritten(&kind.into()).hint().unwrap_or_default();
        assert!(hint(io::ErrorKind::StorageFull).contains("free some space on the disk"));
        assert!(hint(io::ErrorKind::QuotaExceeded).contains("free some space on the disk"));
        assert!(hint(io::ErrorKind::FileTooLarge).contains("`ulimit -f unlimited`"));
        assert!(hint(io::ErrorKind::PermissionDenied).ends_with("can be written to"));
    }
}
