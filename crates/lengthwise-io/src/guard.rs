//! Keeps damaged and hostile files from ending a program.
//!
//! The libraries that read Parquet, Arrow, zips and tokenizers return errors for most of what can be wrong
//! with a file and panic on the rest, such as a sum that overflows. Their maintainers treat such panics as
//! minor bugs. [`guarded`] turns them into errors.
//!
//! A failed allocation aborts the process and is not a panic. So declared sizes are checked before a
//! library sees them, and [`fits_in_memory`] tells whether there is memory for what is known to be needed.

#[cfg(feature = "parquet")]
pub(crate) mod parquet;

use std::panic::{self, AssertUnwindSafe};
use std::{cell::Cell, hint::black_box, sync::Once};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`; if it panics, the error is what `panicked` gives.
///
/// Rust's panic hook still runs, and by default prints a message about the panic; see [`quiet_panics`].
///
/// ```
/// use lengthwise_io::guard::guarded;
///
/// let numbers: Vec<u8> = Vec::new();
/// let read = guarded(|| Ok(numbers[numbers.len()]), || "damaged");
/// assert_eq!(read, Err("damaged"));
/// assert_eq!(guarded(|| Ok(1), || "damaged"), Ok(1));
/// ```
pub fn guarded<T, E>(
    read: impl FnOnce() -> Result<T, E>,
    panicked: impl FnOnce() -> E,
) -> Result<T, E> {
    let outside = INSIDE.replace(true);
    // Whatever `read` has touched is dropped with it, so nothing is seen half-changed.
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    INSIDE.set(outside);
    result.unwrap_or_else(|_| Err(panicked()))
}

/// Keeps panics inside of [`guarded`] from being printed to standard error: the caller gets an error
/// anyway. All other panics go to the hook that was set before.
///
/// A panic hook belongs to the whole process, so this is for programs to call, once, when they start, and
/// never for a library. The command `lengthwise` calls it in `main`. The Python package calls it when it is
/// imported: its extension module has a Rust runtime of its own, so no other module's panics pass through
/// this hook. Later calls change nothing.
pub fn quiet_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            if !INSIDE.get() {
                usual(about);
            }
        }));
    });
}

/// Whether this many bytes of memory can be allocated now, contiguously. They are freed at once and
/// never touched; a system that promises more than it has may still not have them.
///
/// ```
/// assert!(lengthwise_io::guard::fits_in_memory(1000));
/// assert!(!lengthwise_io::guard::fits_in_memory(u64::MAX));
/// ```
pub fn fits_in_memory(bytes: u64) -> bool {
    let mut probe: Vec<u8> = Vec::new();
    let had = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Otherwise the compiler may leave out an allocation that nothing uses, and assume that it succeeds.
    black_box(&mut probe);
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_what_is_guarded_and_nothing_else() {
        let empty: [u8; 0] = [];
        let panics = || guarded(|| Ok(empty[empty.len()]), || "damaged");
        assert_eq!(panics(), Err("damaged"));
        assert!(!INSIDE.get(), "panics outside are printed again");
        let nested = guarded(|| Ok::<_, ()>(panics().is_err() && INSIDE.get()), || ());
        assert_eq!(nested, Ok(true));
    }
}
