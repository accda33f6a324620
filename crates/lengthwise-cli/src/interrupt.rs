//! Ctrl-C: what was not finished is removed, and what must be kept is kept.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};
#[cfg(unix)]
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use lengthwise_io::unfinished;
#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal};
#[cfg(unix)]
use signal_hook::{consts::SIGXFSZ, flag::register};

/// Folders in which files are being written.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is to be done before the command ends by a signal.
static LAST: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Sees to it that Ctrl-C and other requests to end leave nothing behind, and end the command as a
/// shell expects it: with 128 and the number of the signal. Called before there are other threads.
#[cfg(unix)]
pub(crate) fn watch() {
    // A file that grows over a limit is then a write that fails, after which the normal way removes
    // what is unfinished. The flag is for nobody: without a handler the signal would end the command.
    _ = register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    // They come to the one thread that waits for them. Without it they still end the command; that
    // leaves a hidden file at worst.
    if signals.thread_block().is_err() {
        return;
    }
    let waiting = thread::Builder::new().spawn(move || {
        if let Ok(signal) = signals.wait() {
            end(128 + signal as i32);
        }
    });
    if waiting.is_err() {
        _ = signals.thread_unblock();
    }
}

/// Sees to it that Ctrl-C leaves nothing behind.
#[cfg(not(unix))]
pub(crate) fn watch() {
    // Without a handler Ctrl-C still works; it leaves a hidden file at worst.
    _ = ctrlc::set_handler(|| end(130));
}

#[expect(clippy::exit, reason = "a signal ends the command wherever it is")]
fn end(code: i32) {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(last) = last {
        last();
    }
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let found = fs::read_dir(folder).into_iter().flatten().flatten();
        for file in found.filter(|file| unfinished(&file.file_name())) {
            _ = fs::remove_file(file.path());
        }
    }
    process::exit(code);
}

/// Remembers where a file is going to be.
pub(crate) fn writing(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
}

/// Does something before the command ends by a signal, in place of what was said before. It must not
/// wait for anything that the command may wait for itself.
pub(crate) fn before_end(last: impl FnOnce() + Send + 'static) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
}
