//! What the report makes, without a browser.

mod page;
mod readme_picture;
