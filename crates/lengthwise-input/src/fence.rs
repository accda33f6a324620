//! A fence round libraries that panic on damaged files. Those that read Parquet, Arrow and
//! tokenizers return errors for most of what can be wrong and panic on the rest, such as a sum
//! that overflows; their maintainers take such panics for bugs of low rank. A reader of files must
//! not end the program, so a panic inside the fence becomes an error, and is not printed.
//!
//! What the fence does not stop is stopped before: an allocation that fails ends the process and
//! is no panic, so declared sizes are checked before the libraries see them.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::error::Error;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `read`; if it panics, `kind` data is called damaged.
pub(crate) fn guard<T>(kind: &str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Panics of all other threads, and outside of the fence, are printed as they were.
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !INSIDE.get() {
                usual(about);
            }
        }));
    });
    let outside = INSIDE.replace(true);
    // Whatever `read` has touched is dropped with it, so nothing is seen half-changed.
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    INSIDE.set(outside);
    result.unwrap_or_else(|_| Err(damaged(kind)))
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
        assert!(!INSIDE.get());
    }
}
