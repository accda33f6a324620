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

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message, hint, index) = match &failure {
            Failure::Plan(error) => {
                let hint = error.remedy().map(remedies::of_plan);
                (class(error), error.to_string(), hint, error.index())
            }
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
