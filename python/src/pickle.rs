//! What pickling needs: every class says what it is made of, and `_restore` makes it again.

use pyo3::{PyTypeInfo, prelude::*};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Failure, Result};

/// What `__reduce__` returns: `_restore`, and what it is called with.
pub(crate) type Reduced<'py, T> = (Bound<'py, PyAny>, T);

/// The parts of an object of the class `C`, for its `_restore`.
pub(crate) fn reduced<C: PyTypeInfo, T>(py: Python<'_>, parts: T) -> PyResult<Reduced<'_, T>> {
    Ok((py.get_type::<C>().getattr("_restore")?, parts))
}

/// What is pickled as JSON.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| damaged("object", &error.to_string()))
}

/// What was pickled as JSON.
pub(crate) fn from_json<T: DeserializeOwned>(json: &str, class: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| damaged(class, &error.to_string()))
}

/// An error for parts that are not those of an object.
pub(crate) fn damaged(class: &str, what: &str) -> Failure {
    let what = format!("the pickled `{class}` is damaged: {what}");
    Failure::own("StateError", what, "unpickle it with the release of lengthwise that pickled it")
}
