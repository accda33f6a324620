//! Parts of the report, for other pages and tables that look like it.
//!
//! Build a page with [`html::document`] out of [`html::section`]s, put [`svg::Chart`]s into them with
//! [`html::figure`], and print tables with [`grid::Grid`]. [`text`] writes names and numbers.

/// A page in one file, and what it consists of. Text is put in as it is: escape names with
/// [`svg::escaped`].
pub mod html {
    pub use crate::html::{
        TABLE_HINT, Width, button, document, dots_legend, figure, lines_legend, lines_legend_and,
        nothing, plain_legend, section,
    };
}

/// Charts, and the small pictures of legends.
pub mod svg {
    pub use crate::figures::{Bar, WIDE, bars};
    pub use crate::svg::{Chart, Look, Scale, bar_key, escaped, line_key, mark, mark_key, picture};
}

/// Tables of text.
pub mod grid {
    pub use crate::grid::{Grid, GridColumn, as_good_as, distinct, visible_width};
    pub use crate::table::Look;
}

/// Words and numbers as people read them.
pub mod text {
    pub use crate::figures::time;
    pub use crate::text::{compact, counted, fixed, one_line, percent, steers, wrapped};
}
