//! Charts as SVG: axes with round ticks, marks, legends. Only what the figures of the report need.
//!
//! Colours are classes, so that the page decides them for light and dark; a figure that leaves the
//! page takes the page's colours with it (see `page.js`).

pub(crate) mod chart;
pub(crate) mod scale;
pub(crate) mod style;
