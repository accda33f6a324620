//! Which panics are findings: all of our own code, and those of libraries that nothing catches.
//!
//! The libraries for Parquet, Arrow and zips panic on some damaged files. `lengthwise_io::guard` makes errors of that, so
//! such a panic may pass. A panic of our own code inside a guard would pass as well, and is a finding.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::abort;
use std::sync::{Mutex, PoisonError};

/// The last panic of a library.
static LAST: Mutex<String> = Mutex::new(String::new());

fn is_of_a_library(about: &PanicHookInfo) -> bool {
    let file = about.location().map_or("", |place| place.file());
    file.contains("registry") || file.starts_with("/rustc/") || file.starts_with("library/")
}

/// Ends the program at a panic of our own code, before anything can catch it.
pub(crate) fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        if is_of_a_library(about) {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = about.to_string();
        } else {
            usual(about);
        }
    }));
}

/// Ends the program at a panic that nothing caught.
pub(crate) fn named(run: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(run)).is_err() {
        eprintln!("{}", LAST.lock().unwrap_or_else(PoisonError::into_inner));
        abort();
    }
}
