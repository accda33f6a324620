//! The only place that writes to the terminal: data to standard output, all else to standard error.

use std::{
    env,
    io::{self, BufWriter, IsTerminal, Write},
    time::{Duration, Instant},
};

use lengthwise_report::Look;

use crate::failure::Failure;

/// Standard output, buffered.
pub(crate) fn output() -> BufWriter<io::Stdout> {
    BufWriter::new(io::stdout())
}

/// Prints to standard output, all of it or an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = output();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// How tables look on standard output.
pub(crate) fn look() -> Look {
    match (io::stdout().is_terminal(), colour()) {
        (false, _) => Look::Plain,
        (true, false) => Look::Starred,
        (true, true) => Look::Coloured,
    }
}

/// How wide a table may be: as wide as the terminal, or as it likes.
pub(crate) fn width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(width), _)) if width > 0 => width.into(),
        _ => env::var("COLUMNS").ok().and_then(|width| width.parse().ok()).unwrap_or(80),
    }
}

fn colour() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Says something on standard error, if anybody can read it.
pub(crate) fn say(text: &str) {
    _ = writeln!(io::stderr(), "{text}");
}

/// The first ten of these numbers.
pub(crate) fn few(numbers: &[u32]) -> String {
    let first: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
    let more = if numbers.len() > first.len() { ", …" } else { "" };
    first.join(", ") + more
}

/// Prints an error, a blank line and its hint.
pub(crate) fn failure(failure: &Failure) {
    let (red, cyan, end) = if io::stderr().is_terminal() && colour() {
        ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    say(&format!("{red}error{end}: {failure}"));
    if let Some(hint) = failure.hint() {
        say(&format!("\n{cyan}hint{end}: {hint}"));
    }
}

/// A line on the terminal that says what long work is at; nothing in the first second, and nothing
/// where standard error is not a terminal.
pub(crate) struct Progress {
    start: Instant,
    shown: bool,
}

impl Progress {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), shown: false }
    }

    pub(crate) fn at(&mut self, text: &str) {
        if io::stderr().is_terminal() && self.start.elapsed() >= Duration::from_secs(1) {
            _ = write!(io::stderr(), "\r\x1b[2K{text}");
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}
