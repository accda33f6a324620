//! What comes from a file and goes into a message: short, on one line, and with nothing in it that
//! steers a terminal.

/// The most characters of a value that a message repeats.
const SHOWN: usize = 40;

/// A value in backticks, cut to 40 characters.
pub(crate) fn quote(value: &str) -> String {
    format!("`{}`", shortened(value, SHOWN))
}

/// At most `most` characters, as they are shown. What would break the line, move the cursor or turn the
/// direction of the text is escaped.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut left = most;
    for letter in text.chars() {
        let invisible = matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        let escaped = (letter.is_control() || invisible).then(|| letter.escape_default());
        let width = escaped.as_ref().map_or(1, ExactSizeIterator::len);
        if width > left {
            shown.push('…');
            break;
        }
        left -= width;
        match escaped {
            Some(escaped) => shown.extend(escaped),
            None => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quote("abc"), "`abc`");
        assert_eq!(quote(&"é".repeat(40)), format!("`{}`", "é".repeat(40)));
        assert_eq!(quote(&"é".repeat(41)), format!("`{}…`", "é".repeat(40)));
        assert_eq!(quote("a\r\n\x1b[2J\u{202e}b"), "`a\\r\\n\\u{1b}[2J\\u{202e}b`");
        assert_eq!(quote(&"\0".repeat(9)), format!("`{}…`", "\\u{0}".repeat(8)));
    }
}
