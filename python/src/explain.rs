//! The manual.

use lengthwise_report::{list_of_pages, page};
use pyo3::prelude::*;

use crate::{error::Result, settings::Text};

/// Returns a page of the manual in Markdown.
///
/// Args:
///     `name`: A strategy such as "blurred", or a kind of setting such as "budget" or "shapes". By default,
///         you get the list of all pages.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub(crate) fn explain(name: Option<Text>) -> Result<String> {
    Ok(match name {
        Some(name) => page(&name.0)?.text,
        None => list_of_pages(),
    })
}
