//! What a caller can read from an error.

use crate::error::Error;
use crate::error::remedy::{ErrorKind, Remedy};

impl Error {
    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        self.listed_kind().0
    }

    /// The index of the sequence, or of the measured step, that it is about; the first one, if there are
    /// several.
    pub fn index(&self) -> Option<usize> {
        self.listed_kind().1
    }

    /// What to do about it; `None` if the caller asked for it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.listed_remedy()
    }

    /// What to do about it, in the words of this crate, in one line, without the word "hint".
    pub fn hint(&self) -> Option<String> {
        self.remedy().map(Remedy::hint)
    }

    /// At least one example of every error, for tests of the command line and of Python.
    #[doc(hidden)]
    pub fn examples() -> Vec<Error> {
        Self::listed_examples()
    }

    /// A value that a setting does not accept, and what it must be.
    pub(crate) fn bad_value(
        of: impl Into<String>,
        given: &(impl ToString + ?Sized),
        expected: impl Into<String>,
    ) -> Self {
        let (of, given, expected) = (of.into(), given.to_string(), expected.into());
        Error::BadValue { of, given, expected }
    }

    /// What is left of a bound on memory; refused if there is too little.
    pub(crate) fn check_memory(
        needed: u64,
        bound: u64,
        what: impl FnOnce() -> String,
    ) -> Result<u64, Error> {
        bound.checked_sub(needed).ok_or_else(|| Error::OverMemory { what: what(), needed, bound })
    }
}

impl std::error::Error for Error {}
