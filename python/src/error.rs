//! Errors as the exceptions of `lengthwise.errors`: the text and the hint of the command line, and
//! the index of the sequence where there is one.

use lengthwise::Error;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::remedies;

/// Whatever can go wrong in Rust.
#[derive(Debug)]
pub(crate) enum Failure {
    Plan(Error),
    File(lengthwise_io::Error),
    /// Said by this package itself: the class, the message and the hint.
    Own(&'static str, String, String),
    Python(PyErr),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message, hint, index) = match &failure {
            Failure::Plan(error) => (class(error), error.to_string(), error.hint(), index(error)),
            Failure::File(error) => {
                let hint = error.remedy().map(remedies::of_file);
                ("FileError", error.to_string(), hint, None)
            }
            Failure::Own(class, message, hint) => {
                (*class, message.clone(), Some(hint.clone()), None)
            }
            Failure::Python(_) => ("", String::new(), None, None),
        };
        if let Failure::Python(error) = failure {
            return error;
        }
        let hint = hint.map(|hint| in_python(&hint));
        Python::attach(|py| {
            raised(py, class, &message, hint, index)
                .unwrap_or_else(|_| PyValueError::new_err(message))
        })
    }
}

fn raised(
    py: Python<'_>,
    class: &str,
    message: &str,
    hint: Option<String>,
    index: Option<usize>,
) -> PyResult<PyErr> {
    let keywords = PyDict::new(py);
    keywords.set_item("hint", hint)?;
    keywords.set_item("index", index)?;
    let class = py.import("lengthwise.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(&keywords))?))
}

/// Hints name the options of the command line; here they are arguments.
fn in_python(hint: &str) -> String {
    hint.replace("(`--over-long` on the command line)", "(`over_long=\"…\"`)")
        .replace("(`--tail` on the command line)", "(`tail=\"…\"`)")
        .replace(
            "plan every shard once with `--needs` in place of `-o`, and merge what that wrote into the \
             statistics with `lengthwise statistics`",
            "merge what `Planner.needs` gives on every shard into the statistics",
        )
        .replace("made by `lengthwise statistics`", "made by `Statistics`")
        .replace("(`--shard` and `--of` on the command line)", "(`shard=` and `shards=`)")
        .replace("(`--statistics` on the command line)", "(`statistics=`)")
        .replace("run `lengthwise explain` to list all", "`lengthwise.explain()` lists all")
}

/// The name of the exception.
fn class(error: &Error) -> &'static str {
    match error {
        Error::NoSequences
        | Error::TooManySequences { .. }
        | Error::BadLength { .. }
        | Error::BeyondStatistics { .. } => "LengthsError",
        Error::OverBudget { .. }
        | Error::OverBudgetSeconds { .. }
        | Error::OverCapacity { .. }
        | Error::OverBudgetPair { .. }
        | Error::OverLongElsewhere { .. } => "BudgetError",
        Error::BadStep { .. } | Error::TooFewSteps { .. } | Error::PoorFit { .. } => "CostError",
        Error::NoRanks
        | Error::BadRank { .. }
        | Error::TooManyRanks { .. }
        | Error::TooFewForRanks { .. }
        | Error::BadShard { .. }
        | Error::SmallShard { .. }
        | Error::NoFullStep { .. } => "RankError",
        Error::OtherRun { .. }
        | Error::CursorBeyondEnd { .. }
        | Error::TooManySteps { .. }
        | Error::RanksApart { .. }
        | Error::RanksOfOtherRuns { .. }
        | Error::BadCursor { .. }
        | Error::OtherStream { .. }
        | Error::BadState { .. }
        | Error::StreamTooShort { .. }
        | Error::NotNeeded { .. } => "StateError",
        _ => "SettingError",
    }
}

/// The sequence, or the measured step, that it is about.
fn index(error: &Error) -> Option<usize> {
    match error {
        Error::BadLength { index, .. }
        | Error::OverBudget { index, .. }
        | Error::OverBudgetSeconds { index, .. }
        | Error::OverCapacity { index, .. }
        | Error::LadderTooShort { index, .. }
        | Error::BeyondStatistics { index, .. }
        | Error::BadStep { index, .. } => Some(*index),
        _ => None,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Plan(error)
    }
}

impl From<lengthwise_io::Error> for Failure {
    fn from(error: lengthwise_io::Error) -> Self {
        Failure::File(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}
