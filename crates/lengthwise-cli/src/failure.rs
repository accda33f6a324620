//! Why a command ended early.

use std::{fmt, io};

use crate::remedies;

/// Why a command ended early: one line, and what to do about it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What reads our output has stopped reading: not an error.
    ReaderGone,
    /// Settings or lengths that cannot be planned.
    Plan(lengthwise::Error),
    /// A file that cannot be read or written.
    File(lengthwise_io::Error),
    /// The work was done, and the answer is no.
    CheckFailed { what: String, hint: String },
    /// Anything else.
    Other { what: String, hint: String },
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::Other { what: what.into(), hint: hint.into() }
    }

    /// A check that failed, and what to do about it.
    pub(crate) fn check(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::CheckFailed { what: what.into(), hint: hint.into() }
    }

    /// A plan that cannot be made, said with more than the error knows.
    pub(crate) fn of_plan(what: String, error: &lengthwise::Error) -> Self {
        Failure::new(what, error.remedy().map(remedies::of_plan).unwrap_or_default())
    }

    /// 1 if a check failed, 2 for bad usage or input.
    pub(crate) fn exit_code(&self) -> u8 {
        if matches!(self, Failure::CheckFailed { .. }) { 1 } else { 2 }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::ReaderGone => None,
            Failure::Plan(error) => error.remedy().map(remedies::of_plan),
            Failure::File(error) => error.remedy().map(remedies::of_file),
            Failure::CheckFailed { hint, .. } | Failure::Other { hint, .. } => {
                Some(hint.clone()).filter(|hint| !hint.is_empty())
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ReaderGone => Ok(()),
            Failure::Plan(error) => error.fmt(f),
            Failure::File(error) => error.fmt(f),
            Failure::CheckFailed { what, .. } | Failure::Other { what, .. } => f.write_str(what),
        }
    }
}

impl From<lengthwise::Error> for Failure {
    fn from(error: lengthwise::Error) -> Self {
        Failure::Plan(error)
    }
}

impl From<lengthwise_io::Error> for Failure {
    fn from(error: lengthwise_io::Error) -> Self {
        Failure::File(error)
    }
}

impl From<lengthwise_io::UnknownFormat> for Failure {
    fn from(error: lengthwise_io::UnknownFormat) -> Self {
        Failure::new(error.to_string(), "leave `--format` out to go by the name of the file")
    }
}

/// A failure to write to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::new(format!("standard output: {error}"), "check where the output goes"),
        }
    }
}
