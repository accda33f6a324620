//! A fence round libraries that panic on damaged files. Those that read Parquet, Arrow and
//! tokenizers return errors for most of what can be wrong and panic on the rest, such as a sum
//! that overflows; their maintainers take such panics for bugs of low rank. A reader of files must
//! not end the program, so a panic inside the fence becomes an error, and is not printed.
//!
//! What the fence does not stop is stopped before: an allocation that fails ends the process and
//! is no panic, so declared sizes are checked before the libraries see them, and [`room`] tells
//! whether there is memory for what is known to be needed.

pub mod thrift;

use std::{
    cell::Cell,
    hint::black_box,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `read`; nothing if it panics.
///
/// ```
/// let numbers: Vec<u8> = Vec::new();
/// assert_eq!(lengthwise_io::guard::guard(|| numbers[numbers.len()]), None);
/// assert_eq!(lengthwise_io::guard::guard(|| 1), Some(1));
/// ```
pub fn guard<T>(read: impl FnOnce() -> T) -> Option<T> {
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
    result.ok()
}

/// Whether so many bytes of memory can be had now, all at once. They are given back at once too, and
/// none is touched; a system that promises more than it has may still not have them.
///
/// ```
/// assert!(lengthwise_io::guard::room(1000));
/// assert!(!lengthwise_io::guard::room(u64::MAX));
/// ```
pub fn room(bytes: u64) -> bool {
    let mut probe: Vec<u8> = Vec::new();
    let had = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Or the compiler may leave out what nobody uses, and take it for granted.
    black_box(&mut probe);
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_fence_and_nothing_else() {
        let empty: [u8; 0] = [];
        assert_eq!(guard(|| empty[empty.len()]), None);
        assert!(!INSIDE.get(), "panics outside are printed again");
        assert_eq!(guard(|| guard(|| empty[empty.len()]).is_none() && INSIDE.get()), Some(true));
    }
}
