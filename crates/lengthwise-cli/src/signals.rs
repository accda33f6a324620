//! Signals: a command that is ended leaves no unfinished files, keeps what it must keep, and tells by
//! its exit code why it ended.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use lengthwise_io::unfinished;

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is to be done before the command ends by a signal.
static LAST: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Handles the signals that would end the command. Without a handler they still end it; a hidden file
/// may stay behind then.
#[cfg(unix)]
pub(crate) fn watch() {
    use std::{
        sync::{Arc, atomic::AtomicBool},
        thread,
    };

    use signal_hook::{
        consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        flag::{register, register_conditional_shutdown},
        iterator::Signals,
    };

    // Memory ran out, and the standard library has said how much could not be had: an error like any
    // other, and not a crash.
    _ = register_conditional_shutdown(SIGABRT, 2, Arc::new(AtomicBool::new(true)));
    // A file that grows over a limit is then a write that fails. Nothing reads the flag.
    _ = register(SIGXFSZ, Arc::default());
    // The signals are handled only if there is a thread that waits for them.
    _ = thread::Builder::new().spawn(|| {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).ok()?;
        // A shell expects 128 and the number of the signal.
        signals.forever().next().map(|signal| end(128 + signal))
    });
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    _ = ctrlc::set_handler(|| end(130));
}

#[expect(clippy::exit, reason = "a signal ends the command wherever it is")]
fn end(code: i32) {
    if let Some(last) = locked(&LAST).take() {
        last();
    }
    for folder in locked(&FOLDERS).iter() {
        let found = fs::read_dir(folder).into_iter().flatten().flatten();
        for file in found.filter(|file| unfinished(&file.file_name())) {
            _ = fs::remove_file(file.path());
        }
    }
    process::exit(code);
}

/// What is locked, also where a thread has panicked that held it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers where a file is going to be.
pub(crate) fn writing(path: &Path) {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    locked(&FOLDERS).push(folder.unwrap_or(Path::new(".")).to_owned());
}

/// Does something before the command ends by a signal, in place of what was said before. It must not
/// wait for anything that the command may wait for itself.
pub(crate) fn before_end(last: impl FnOnce() + Send + 'static) {
    *locked(&LAST) = Some(Box::new(last));
}
