//! Fingerprints as sixteen lower-case digits.

pub(crate) fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// The number that these sixteen digits are; other spellings of it are none.
pub(crate) fn from_hex(text: &str) -> Option<u64> {
    let digest = u64::from_str_radix(text, 16).ok()?;
    (hex(digest) == text).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_spelling() {
        for digest in [0, 1, 0xabc, u64::MAX] {
            assert_eq!(from_hex(&hex(digest)), Some(digest));
        }
        for text in ["", "0", "00000000000000AB", "+000000000000001", "00000000000000000", "é"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
