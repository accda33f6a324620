//! Damaged files that make a library panic are refused like any other.

use crate::read::error::Error;

/// Runs `read`; if it panics, `kind` data is called damaged.
pub(crate) fn guard<T>(kind: &str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    crate::guard::guard(read).unwrap_or_else(|| Err(damaged(kind)))
}

pub(crate) fn damaged(kind: &str) -> Error {
    Error::new(format!("the {kind} data is cut short or damaged"))
        .hint_to("copy the file again, or write it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let empty: &[u8] = &[];
        let error = guard::<u8>("Parquet", || Ok(empty[empty.len()])).unwrap_err();
        assert_eq!(error.to_string(), ": the Parquet data is cut short or damaged");
        assert_eq!(guard("Parquet", || Ok(1)).unwrap(), 1);
    }
}
