//! Parts of the report, for other pages and tables that look like it.
//!
//! Build a page with [`html::document`] out of [`html::section`]s, put [`svg::Chart`]s into them with
//! [`html::figure`], and print tables with [`table::TextTable`]. [`text`] writes names and numbers.

/// A page in one file, and what it consists of. Text is put in as it is: escape names with
/// [`svg::escaped`].
pub mod html {
    pub use crate::html::{
        figure::{
            Width, button, dots_legend, figure, lines_legend, lines_legend_and, nothing,
            plain_legend,
        },
        page::{TABLE_HINT, document, section},
    };
}

/// Charts, and the small pictures of legends.
pub mod svg {
    pub use crate::{
        figures::{
            bars::{Bar, bars},
            shared::WIDE,
        },
        svg::{
            chart::{Chart, picture},
            scale::Scale,
            style::{SeriesStyle, bar_key, line_key, mark, mark_key},
        },
        text::escaped,
    };
}

/// Tables of text.
pub mod table {
    pub use crate::text::visible_width;
    pub use crate::text_table::{Look, TextColumn, TextTable, distinct, stars_of_best};
}

/// Words and numbers as people read them.
pub mod text {
    pub use crate::{
        figures::bars::time,
        text::{compact, counted, fixed, is_unsafe_to_print, one_line, percent, wrapped},
    };
}
