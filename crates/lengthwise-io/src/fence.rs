//! Damaged files that make a library panic are refused like any other.

use crate::Error;

/// Runs `read`; if it panics, the plan is called damaged.
pub(crate) fn guard<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let gave_up = || Err(Error::cut_off("plan", "its reader gave up"));
    crate::guard::guard(read).unwrap_or_else(gave_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let empty: &[u8] = &[];
        let error = guard(|| Ok(empty[empty.len()])).unwrap_err();
        assert!(error.is_damaged());
        assert_eq!(guard(|| Ok(1)).unwrap(), 1);
    }
}
