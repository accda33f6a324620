//! What every page has: its head, its style and script, its sections.

use std::fmt::Write as _;

use crate::text::escaped;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page may run and show: its own style and script by their SHA-256, and nothing else. A
/// test recomputes them.
const STYLE_HASH: &str = "sha256-YMCs2W/nwX4YJrYgkRGYbFgZp+GtcNnAw498RyYS+1M=";
const SCRIPT_HASH: &str = "sha256-xJhdG54xS7Y0ry4UAKUNb+DQmCW87SsEdEWICX0+4rQ=";

/// What can be done with a table.
pub const TABLE_HINT: &str = "<span class=\"act\"> Choose a heading to sort, a strategy to follow it through all figures.</span>\
     <span class=\"narrow\"> The table is wider than the window: scroll it sideways.</span>";

/// A page of its own: with this title, this in the middle, and data as an element of this name and
/// type, which is JSON or lines of it.
pub fn document(title: &str, main: &str, (id, kind, data): (&str, &str, &str)) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; img-src data: blob:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>lengthwise: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n{main}</main>\n<script type=\"{kind}\" id=\"{id}\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(title),
        enclosed(data)
    )
}

/// JSON that ends no script element, whatever names it contains.
fn enclosed(json: &str) -> String {
    ['<', '>', '&', '\u{2028}', '\u{2029}'].into_iter().fold(json.to_owned(), |safe, character| {
        safe.replace(character, &format!("\\u{:04x}", character as u32))
    })
}

/// A part of the page. Its heading and what is said about it stay with what comes first in it.
pub fn section(page: &mut String, id: &str, title: &str, text: &str, content: &str) {
    _ = write!(
        page,
        "<section id=\"{id}\">\n<div class=\"head\"><h2>{title}</h2>\n<p>{text}</p></div>\n\
         {content}\n</section>\n"
    );
}

#[cfg(test)]
mod tests {
    use base64::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    /// A browser refuses a style or a script that differs from what the policy of the page names.
    #[test]
    fn the_policy_names_the_style_and_the_script() {
        for (text, hash) in [(STYLE, STYLE_HASH), (SCRIPT, SCRIPT_HASH)] {
            let expected = format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)));
            assert_eq!(hash, expected, "put this one into html/page.rs");
        }
    }
}
