//! A fence round the libraries that read zip and Parquet files, which panic on some that are
//! damaged. A reader of files must not end the program: a panic inside the fence becomes an error,
//! and is not printed.
//!
//! An allocation that fails is no panic, and ends the process. So declared sizes are checked before
//! the libraries see them.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use crate::Error;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `read`; if it panics, the plan is called damaged.
pub(crate) fn guard<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Panics of other threads, and outside of the fence, are printed as they were.
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !INSIDE.get() {
                usual(about);
            }
        }));
    });
    let outside = INSIDE.replace(true);
    // All that `read` has touched is dropped with it, so nothing is seen half-changed.
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    INSIDE.set(outside);
    result.unwrap_or_else(|_| Err(Error::cut_off("plan", "its reader gave up")))
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
        assert!(!INSIDE.get());
    }
}
