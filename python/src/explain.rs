//! The manual.

use lengthwise_report::{list_of_pages, page};
use pyo3::prelude::*;

use crate::{error::Failure, settings::Text};

/// The manual page of a strategy or a kind of setting, in Markdown; without a name, the list of them.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub(crate) fn explain(name: Option<Text>) -> PyResult<String> {
    match name {
        Some(name) => Ok(page(&name.0).map_err(Failure::from)?.text),
        None => Ok(list_of_pages()),
    }
}
