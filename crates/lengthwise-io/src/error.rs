//! What is wrong with a file: a message that starts with its path, and a hint.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::hex::hex;

/// Why a file could not be read or written.
///
/// [`Display`](fmt::Display) gives one line, `path: message` or `path:line: message`;
/// [`hint`](Error::hint) says what to do about it.
#[derive(Debug)]
pub struct Error {
    path: Option<PathBuf>,
    line: Option<usize>,
    /// What it was to be: a plan or a cursor.
    subject: &'static str,
    what: String,
    hint: String,
    damaged: bool,
}

impl Error {
    /// What to do about it, in one line, without the word "hint".
    pub fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether the file could be read, but is not what was once written: cut off, altered, or
    /// something else altogether.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// A message about the subject, which it follows: "has no checksum".
    pub(crate) fn new(
        subject: &'static str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (what, hint) = (what.into(), hint.into());
        Self { path: None, line: None, subject, what, hint, damaged: false }
    }

    /// A message about a file that is not what it should be.
    pub(crate) fn damaged(subject: &'static str, what: impl Into<String>) -> Self {
        let hint = match subject {
            "cursor" => "use the cursor of another checkpoint",
            "file of statistics" => "gather the statistics again, or copy the file again",
            "state" => "use the state of another checkpoint, or begin the stream anew",
            _ => "make the plan again, or copy the file again from where it was made",
        };
        Self { damaged: true, ..Self::new(subject, what, hint) }
    }

    /// Not what it should be as far as can be seen; `why` comes from a parser, and perhaps quotes
    /// the file.
    pub(crate) fn cut_off(subject: &'static str, why: &str) -> Self {
        let why = shortened(why, 100);
        Self::damaged(subject, format!("is cut off or not a {subject}: {why}"))
    }

    pub(crate) fn altered(subject: &'static str, written: u64, found: u64) -> Self {
        let [written, found] = [written, found].map(hex);
        let what = format!("has been altered: its checksum is {written}, its content has {found}");
        Self::damaged(subject, what)
    }

    pub(crate) fn version(subject: &'static str, given: &str, known: &str) -> Self {
        let given = shortened(given, 40);
        Self::new(
            subject,
            format!("has version {given}, and this release reads {known}"),
            "use the release of lengthwise that wrote it",
        )
    }

    /// The operating system's reason for a file that cannot be read.
    pub(crate) fn unreadable(subject: &'static str, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::PermissionDenied => "make the file readable, or name another one",
            _ => "name another file",
        };
        let what = match cause.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            kind => format!("cannot be read: {kind}"),
        };
        Self::new(subject, what, hint)
    }

    pub(crate) fn unwritten(cause: &io::Error) -> Self {
        // The kind alone: the whole error names the temporary file, which means nothing to anybody.
        let what = match cause.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        Self::new(
            "file",
            what,
            "nothing was written to it; check that the folder exists and can be written to",
        )
    }

    /// What is there already is a folder or a device.
    pub(crate) fn no_file() -> Self {
        Self::new("file", "is there, and is no file", "name another file")
    }

    pub(crate) fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn of(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", shown(path))?,
            (Some(path), None) => write!(f, "{}: ", shown(path))?,
            (None, Some(line)) => write!(f, "line {line} of the {} ", self.subject)?,
            (None, None) => write!(f, "the {} ", self.subject)?,
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

fn shown(path: &Path) -> String {
    shortened(&path.display().to_string(), usize::MAX)
}

/// At most so many characters, none of them a control character.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (at, character) in text.chars().enumerate() {
        match character {
            _ if at == most => {
                shown.push('…');
                break;
            }
            character if character.is_control() => shown.extend(character.escape_default()),
            character => shown.push(character),
        }
    }
    shown
}
