//! Compares strategies on the same lengths, and renders the comparison.
//!
//! A [`Comparison`] is data first: it serialises to the JSON that scripts rely on, and every other
//! rendering, such as the [`table`](Comparison::table) for terminals, shows the same numbers. It
//! knows nothing of the command line.

mod compare;
mod picture;
mod table;

pub use compare::{Comparison, Figures, Input, Request, Row, Settings};
pub use picture::padding_picture;
pub use table::Look;
