//! Why an experiment ended early.

use std::fmt;

use lengthwise_nn::EngineError;

use crate::data;

/// Why an experiment ended early: one line, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    what: String,
    hint: Option<String>,
}

impl Error {
    /// This is wrong, and that is what to do about it.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: Some(hint.into()) }
    }

    /// This is wrong; there may be something to do about it.
    pub(crate) fn with_hint(what: String, hint: Option<String>) -> Self {
        Self { what, hint }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// With one more thing to do.
    #[must_use]
    pub(crate) fn also(mut self, hint: &str) -> Self {
        self.hint =
            Some(self.hint.map_or_else(|| hint.to_owned(), |first| format!("{first}; {hint}")));
        self
    }

    /// With the worker before it, unless that is the first, which reports for all.
    #[must_use]
    pub fn of_worker(self, rank: usize) -> Self {
        if rank == 0 { self } else { self.within(&format!("worker {rank}")) }
    }

    /// With the place where it happened before it.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.what = format!("{place}: {}", self.what);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<lengthwise::Error> for Error {
    fn from(error: lengthwise::Error) -> Self {
        use lengthwise::{
            Error::{OverBudget, OverBudgetSeconds},
            Remedy::DidYouMean,
        };
        // Experiments train on all sequences, and whole: there is no choice about over-long ones.
        let hint = match &error {
            OverBudget { largest, .. } => {
                Some(format!("raise the `budget` to at least {largest} cells"))
            }
            OverBudgetSeconds { largest, .. } => {
                Some(format!("raise the `budget` to at least {largest} seconds"))
            }
            _ => match error.remedy() {
                Some(DidYouMean(name)) => {
                    Some(format!("did you mean `{name}`? `lengthwise explain` lists all"))
                }
                _ => error.hint(),
            },
        };
        Self { what: error.to_string(), hint }
    }
}

impl From<data::Error> for Error {
    fn from(error: data::Error) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Self::new(
            error.to_string(),
            "a smaller budget or a smaller model needs less; `--device cpu` trains on the processor",
        )
    }
}
