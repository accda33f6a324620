//! Unix.

use std::{
    fs::{File, Metadata},
    io::{self, IsTerminal},
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use signal_hook::{
    consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    flag::{register, register_conditional_shutdown},
    iterator::Signals,
};

/// Handles the signals that would end the command: `end` gets the exit code. Without a handler they still end it; a hidden
/// file may stay behind then.
pub(crate) fn watch(end: impl Fn(i32) + Send + 'static) {
    // Memory ran out, and the standard library has said how much could not be had: an error like any
    // other, and not a crash.
    _ = register_conditional_shutdown(SIGABRT, 2, Arc::new(AtomicBool::new(true)));
    // A file that grows over a limit is then a write that fails. Nothing reads the flag.
    _ = register(SIGXFSZ, Arc::default());
    // The signals are handled only if there is a thread that waits for them.
    _ = thread::Builder::new().spawn(move || {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).ok()?;
        // A shell expects 128 and the number of the signal.
        signals.forever().next().map(|signal| end(128 + signal))
    });
}

/// An output that may be a terminal.
pub(crate) trait Output: IsTerminal + AsFd {}

impl<T: IsTerminal + AsFd> Output for T {}

/// How many characters a line of the output's terminal has.
pub(crate) fn terminal_width(output: &impl Output) -> Option<u16> {
    terminal_size::terminal_size_of(output).map(|(width, _)| width.0)
}

/// What makes a file the same as another: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        path.metadata().ok().as_ref().map(Self::of)
    }

    pub(crate) fn of_input() -> Option<Self> {
        metadata(&io::stdin()).as_ref().map(Self::of)
    }

    pub(crate) fn of_output() -> Option<Self> {
        metadata(&io::stdout()).filter(Metadata::is_file).as_ref().map(Self::of)
    }

    fn of(about: &Metadata) -> Self {
        Self(about.dev(), about.ino())
    }
}

fn metadata(stream: &impl AsFd) -> Option<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}
