//! Compares strategies on the same lengths, and renders the comparison.
//!
//! A [`Comparison`] is data first: it serialises to the JSON that scripts rely on, and every other
//! rendering, such as the [`table`](Comparison::table) for terminals, shows the same numbers. It
//! knows nothing of the command line.

#![forbid(unsafe_code)]

mod compare;
mod figures;
mod grid;
mod html;
mod inspect;
mod manual;
pub mod parts;
mod picture;
mod study;
mod svg;
mod table;
mod text;
mod tuning;

pub use compare::{Comparison, Figures, Input, Request, Row, Settings};
pub use inspect::{Duplicates, Inspection, Outlier, Outliers, OverBudget, Quantile};
pub use manual::{Page, list_of_pages, page, pages};
pub use picture::padding_picture;
pub use study::{
    Bin, CurvePoint, Distribution, FamilyCurve, Frontier, Idle, IdlePoint, Picture, SampleBatch,
    Study,
};
pub use table::Look;
pub use text::{one_line, steers};
pub use tuning::{PointFigures, Tuning, table as points_table};
