//! Windows, and every system that is not Unix.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

/// Handles Ctrl-C, which would end the command: `end` gets the exit code that a shell expects.
#[cfg(windows)]
pub(crate) fn watch(end: impl Fn(i32) + Send + 'static) {
    _ = ctrlc::set_handler(move || end(130));
}

/// The system ends the command; a hidden file may stay behind.
#[cfg(not(windows))]
pub(crate) fn watch(_: impl Fn(i32) + Send + 'static) {}

/// An output that may be a terminal.
pub(crate) trait Output: IsTerminal {}

impl<T: IsTerminal> Output for T {}

/// How many characters a line of the terminal has; there is one.
pub(crate) fn terminal_width(_: &impl Output) -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// What makes a file the same as another: the standard library tells no more than the path that links lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(PathBuf);

impl Identity {
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Self)
    }

    pub(crate) fn of_input() -> Option<Self> {
        None
    }

    pub(crate) fn of_output() -> Option<Self> {
        None
    }
}
