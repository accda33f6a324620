//! The only place that writes to the terminal: data to standard output, all else to standard error.

use std::{
    env,
    io::{self, BufWriter, IsTerminal, Stdout, Write},
    sync::OnceLock,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use lengthwise_report::{Look, Screen, filled, one_line, wrapped};
use serde::Serialize;

use crate::failure::Failure;
use crate::system;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// What was asked for on the command line.
static ASKED: OnceLock<(bool, When)> = OnceLock::new();

/// Sets what is printed: nothing but errors on standard error if `quiet`, and colours when.
pub(crate) fn set(quiet: bool, color: When) {
    _ = ASKED.set((quiet, color));
}

fn asked() -> (bool, When) {
    ASKED.get().copied().unwrap_or((false, When::Auto))
}

/// Whether nothing but errors is said.
pub(crate) fn is_quiet() -> bool {
    asked().0
}

/// Prints to standard output, all of it or an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_with(|output| output.write_all(text.as_bytes()))
}

/// Prints what is written piece by piece.
pub(crate) fn print_with(
    write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut output = BufWriter::new(io::stdout());
    write(&mut output)?;
    Ok(output.flush()?)
}

pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(serde_json::to_string(value).unwrap_or_default() + "\n"))
}

pub(crate) fn print_pretty_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(serde_json::to_string_pretty(value).unwrap_or_default() + "\n"))
}

pub(crate) fn look() -> Look {
    let terminal = io::stdout().is_terminal();
    match (terminal, colour(terminal)) {
        (_, true) => Look::Coloured,
        (false, false) => Look::Plain,
        (true, false) => Look::Starred,
    }
}

/// Whether standard output is to have nothing but plain characters: what reads it may be a program.
pub(crate) fn is_plain() -> bool {
    !io::stdout().is_terminal()
}

/// How wide a table may be: as wide as the terminal, or as it likes.
pub(crate) fn width() -> usize {
    columns(&io::stdout()).unwrap_or(usize::MAX)
}

/// How wide a page of text is: as the terminal, but not so wide that lines are hard to follow.
pub(crate) fn page_width() -> usize {
    columns(&io::stdout()).unwrap_or(PAGE).min(PAGE)
}

pub(crate) fn screen() -> Screen {
    Screen { width: page_width(), coloured: colour(io::stdout().is_terminal()) }
}

/// The widest page.
const PAGE: usize = 100;

/// How many characters a line of an output may have: as many as its terminal has, or else as `COLUMNS`
/// says.
fn columns(output: &impl system::Output) -> Option<usize> {
    let is_terminal = output.is_terminal();
    let own = system::terminal_width(output).filter(|&width| is_terminal && width > 0);
    let said = || env::var("COLUMNS").ok()?.parse().ok().filter(|&width| width > 0);
    let width = own.map(usize::from).or_else(said).or(is_terminal.then_some(80));
    width.map(|width| width.max(NARROWEST))
}

/// What is narrower breaks every line.
const NARROWEST: usize = 20;

/// Whether what goes to a terminal, or not, is coloured.
fn colour(terminal: bool) -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    match asked().1 {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            terminal && !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Says something on standard error, which is safe to print whatever names are in it.
pub(crate) fn say(text: &str) {
    if !asked().0 {
        complain(&one_line(text));
    }
}

/// Writes a paragraph to standard error, in lines as wide as the terminal.
fn complain(text: &str) {
    let width = columns(&io::stderr()).unwrap_or(usize::MAX);
    _ = write!(io::stderr(), "{}", wrapped(&kept_together(text), width));
}

/// What clap says about arguments that it cannot understand, in lines as wide as the terminal.
pub(crate) fn usage_error(error: &clap::Error) {
    let coloured = colour(io::stderr().is_terminal());
    let text = error.render();
    let text = if coloured { text.ansi().to_string() } else { text.to_string() };
    let width = columns(&io::stderr()).unwrap_or(usize::MAX);
    for line in text.lines() {
        let indent = " ".repeat(2 + line.len() - line.trim_start().len());
        _ = write!(io::stderr(), "{}", filled(line, width, "", &indent));
    }
}

/// Text whose short pieces of code are not broken.
fn kept_together(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
    {
        let short = code.chars().count() <= 30;
        let code = if short { code.replace(' ', "\u{a0}") } else { code.to_owned() };
        kept.extend([before, "`", &code, "`"]);
        rest = after;
    }
    kept + rest
}

/// A name from a file without what would steer a terminal, and not too long.
pub(crate) fn safe(name: &str) -> String {
    let start: String = name.chars().take(80).collect();
    let more = if start.len() < name.len() { "…" } else { "" };
    one_line(&start) + more
}

pub(crate) fn few(numbers: &[u32]) -> String {
    let first: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
    let more = if numbers.len() > first.len() { ", …" } else { "" };
    first.join(", ") + more
}

/// Prints an error, a blank line and its hint; nothing that they repeat steers the terminal.
pub(crate) fn failure(failure: &Failure) {
    let coloured = colour(io::stderr().is_terminal());
    let [red, cyan, end] = if coloured { ["\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"] } else { [""; 3] };
    complain(&format!("{red}error{end}: {}", one_line(&failure.to_string())));
    if let Some(hint) = failure.hint() {
        _ = writeln!(io::stderr());
        complain(&format!("{cyan}hint{end}: {}", one_line(&hint)));
    }
}

/// A line on the terminal that says what work is at that takes longer than a second.
pub(crate) struct Progress {
    start: Instant,
    shown: Option<Instant>,
}

/// How often a line is worth writing that changes all the time.
const BLINK: Duration = Duration::from_millis(100);

impl Progress {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), shown: None }
    }

    pub(crate) fn at(&mut self, text: &str) {
        if io::stderr().is_terminal() && !asked().0 && self.is_long() {
            // A line that the terminal breaks cannot be taken back.
            let width = columns(&io::stderr()).unwrap_or(80).saturating_sub(1);
            let line: String = one_line(text).chars().take(width).collect();
            _ = write!(io::stderr(), "\r\x1b[2K{line}");
            self.shown = Some(Instant::now());
        }
    }

    /// The same for work that tells where it is thousands of times a second.
    pub(crate) fn often(&mut self, text: impl FnOnce() -> String) {
        if self.is_long() && self.shown.is_none_or(|shown| shown.elapsed() >= BLINK) {
            self.at(&text());
        }
    }

    fn is_long(&self) -> bool {
        self.start.elapsed() >= Duration::from_secs(1)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}
