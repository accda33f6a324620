//! What comes from a file and goes into a message: short, on one line, and with nothing in it that
//! steers a terminal.

/// The most characters of a value that a message repeats.
const SHOWN: usize = 40;

/// A value in backticks, cut to 40 characters.
pub(crate) fn quote(value: &str) -> String {
    format!("`{}`", shortened(value, SHOWN))
}

/// At most `most` characters. What would break the line, move the cursor or turn the direction of the
/// text is escaped.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == most {
            shown.push('…');
            break;
        }
        let invisible = matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if letter.is_control() || invisible {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
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
    }
}
