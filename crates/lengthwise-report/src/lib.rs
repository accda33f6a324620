//! Compares strategies on the same lengths, and renders the comparison.
//!
//! A [`Comparison`] is data first: it serialises to the JSON that scripts rely on, and every other
//! rendering, such as the [`table`](Comparison::table) for terminals, shows the same numbers. It
//! knows nothing of the command line.

#![forbid(unsafe_code)]

mod advice;
mod compare;
mod figures;
mod histogram;
mod html;
mod inspect;
mod manual;
mod markdown;
pub mod parts;
mod picture;
mod study;
mod svg;
mod table;
mod text;
mod text_table;
mod tuning;

pub use advice::{OfferFigures, Recommended};
pub use compare::{Comparison, Figures, Input, Request, Row, Settings};
pub use inspect::{Duplicates, Inspection};
pub use manual::{Page, list_of_pages, page, pages};
pub use markdown::Screen;
pub use picture::before_and_after;
pub use study::Study;
pub use text::{
    command_lines, filled, is_unsafe_to_print, noun, one_line, percent_within, wrapped,
};
pub use text_table::Look;
pub use tuning::{PointFigures, Tuning};
