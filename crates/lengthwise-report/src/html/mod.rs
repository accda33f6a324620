//! A report as one page that needs nothing else: no network, and without scripts all can be read.

pub(crate) mod figure;
pub(crate) mod page;
mod study;
mod table;
mod verdict;

pub(crate) use figure::{
    Width, button, dots_legend, figure, lines_legend, lines_legend_and, nothing, plain_legend,
};
pub(crate) use page::{TABLE_HINT, document, section};
