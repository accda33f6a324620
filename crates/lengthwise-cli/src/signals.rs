//! Signals: a command that is ended leaves no unfinished files, keeps what it must keep, and tells by
//! its exit code why it ended.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use lengthwise_io::unfinished;

use crate::system;

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is to be done before the command ends by a signal.
static LAST: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Handles the signals that would end the command.
pub(crate) fn watch() {
    system::watch(end);
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
