//! Ctrl-C: what was not finished is removed.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};

use lengthwise_files::unfinished;

/// Folders in which files are being written.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sees to it that Ctrl-C leaves nothing behind, and ends the command as a shell expects it.
#[expect(clippy::exit, reason = "a signal ends the command wherever it is")]
pub(crate) fn watch() {
    // Without a handler Ctrl-C still works; it leaves a hidden file at worst.
    _ = ctrlc::set_handler(|| {
        for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let found = fs::read_dir(folder).into_iter().flatten().flatten();
            for file in found.filter(|file| unfinished(&file.file_name())) {
                _ = fs::remove_file(file.path());
            }
        }
        process::exit(130);
    });
}

/// Remembers where a file is going to be.
pub(crate) fn writing(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
}
