//! Escapes of UTF-16 in JSON come in pairs; half a pair is no character.

/// The text with a replacement for every half that stands alone, if there is one.
pub(super) fn replaced(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let (kept, taken) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&escape[..12], 12),
            (Some(0xd800..=0xdfff), _) => {
                found = true;
                ("\\ufffd", 6)
            }
            // What is escaped, such as another backslash, begins nothing.
            _ => {
                let taken = escape.chars().take(2).map(char::len_utf8).sum();
                (&escape[..taken], taken)
            }
        };
        mended.push_str(kept);
        rest = &escape[taken..];
    }
    mended.push_str(rest);
    found.then_some(mended)
}

/// The unit of UTF-16 that an escape stands for.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let whole = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_alone() {
        for (text, mended) in [
            (r"a\ud83d\ude00\n", None),
            (r"\\ud800", None),
            (r"\u00e4 \ud8", None),
            (r"\ud800", Some(r"\ufffd")),
            (r"ä\uDBFFä\ud800\ud83d\ude00", Some(r"ä\ufffdä\ufffd\ud83d\ude00")),
            (r"\\\udc00\ud800\", Some(r"\\\ufffd\ufffd\")),
        ] {
            assert_eq!(replaced(text).as_deref(), mended, "{text}");
        }
    }
}
