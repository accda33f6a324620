//! A cell of a table on the page.

use crate::report::table::Cell;

/// A number with its interval, or words.
pub(super) fn cell(cell: &Cell) -> String {
    let value = cell.value.map(|value| value.to_string()).unwrap_or_default();
    let spread = cell.spread.as_ref();
    let spread = spread.map(|spread| format!("<span class=\"sd\"> ± {spread}</span>"));
    let shown = if cell.text.is_empty() { "–" } else { &cell.text };
    let words = if cell.value.is_none() { " class=\"words\"" } else { "" };
    format!("<td{words} data-value=\"{value}\">{shown}{}</td>", spread.unwrap_or_default())
}
