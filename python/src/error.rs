//! Errors as the exceptions of `lengthwise.errors`: with a hint in the words of Python, and the index
//! of the sequence where there is one.

use lengthwise::{Error, ErrorKind};
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

/// What methods return too: Python gets the failure as its exception.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn own(
        class: &'static str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Own(class, what.into(), hint.into())
    }

    pub(crate) fn setting(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::own("SettingError", what, hint)
    }

    /// A state that cannot be read is a matter of states, and not of files.
    pub(crate) fn state(error: lengthwise_io::Error) -> Self {
        Self::own("StateError", error.to_string(), error.hint().unwrap_or_default())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message, hint, index) = match failure {
            Failure::Plan(error) => {
                let hint = error.remedy().map(remedies::of_plan);
                (class(&error), error.to_string(), hint, error.index())
            }
            Failure::File(error) => {
                let hint = error.remedy().map(remedies::of_file);
                ("FileError", error.to_string(), hint, None)
            }
            Failure::Own(class, message, hint) => (class, message, Some(hint), None),
            Failure::Python(error) => return error,
        };
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

/// The name of the exception.
fn class(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Lengths => "LengthsError",
        ErrorKind::Budget => "BudgetError",
        ErrorKind::Cost => "CostError",
        ErrorKind::Rank => "RankError",
        ErrorKind::State => "StateError",
        _ => "SettingError",
    }
}

/// An example of every error of planning, as Python gets it: for tests.
#[pyfunction]
pub(crate) fn _errors(py: Python<'_>) -> Vec<Py<PyAny>> {
    let errors = Error::examples().into_iter().map(|error| PyErr::from(Failure::Plan(error)));
    errors.map(|error| error.into_value(py).into_any()).collect()
}

macro_rules! from {
    ($($error:ty => $kind:ident),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$kind(error)
            }
        }
    )*};
}
from!(Error => Plan, lengthwise_io::Error => File, PyErr => Python);
