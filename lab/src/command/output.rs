//! What is printed, and how the command exits.

use std::io::{self, Write as _};

use lengthwise_lab::{Error, report::Training};
use lengthwise_report::{Look, parts::text::wrapped};

/// The exit code of an experiment that was stopped, as shells have it for Ctrl-C.
pub(super) const STOPPED: u8 = 130;
/// That of what could not be done.
pub(super) const FAILED: u8 = 2;

/// Sentences are hard to read in longer lines.
const PROSE: usize = 100;

/// Says what is wrong, and what to do about it.
pub(super) fn complain(error: &Error) {
    let hint = error.hint().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default();
    _ = writeln!(io::stderr(), "error: {error}{hint}");
}

/// Prints. A closed pipe is no error.
pub(super) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(format!("cannot write the output: {error}"), "check where it goes"))
        }
        _ => Ok(()),
    }
}

/// The table and what it says, for a terminal or a pipe.
pub(super) fn summary(training: &Training) -> String {
    let (look, width) = match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, _)) => (Look::Starred, width.0.into()),
        None => (Look::Plain, 200),
    };
    let verdict = training.verdict();
    let verdict: String = verdict.iter().map(|line| wrapped(line, width.min(PROSE))).collect();
    format!("{}\n{verdict}", training.table().text(look, width))
}
