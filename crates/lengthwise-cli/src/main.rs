//! The `lengthwise` command: glue between the arguments, the libraries and the terminal.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod cost_model;
mod failure;
mod files;
mod groups;
mod input;
mod memory;
mod printer;
mod remedies;
mod signals;
mod system;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    lengthwise_io::guard::quiet_panics();
    let args = match Args::typed(printer::page_width()) {
        Ok(args) => args,
        Err(other) => return help_or_complaint(&other),
    };
    printer::set(args.quiet, args.color);
    signals::watch();
    let result = files::check(&args.command).and_then(|()| match args.command {
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::compare::report(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Balance(args) => commands::balance::run(&args),
        Command::Stream(args) => commands::stream::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Frontier(args) => commands::frontier::run(&args),
        Command::Ladder(args) => commands::ladder::run(&args),
        Command::Cost(args) => commands::cost::run(&args),
        Command::Statistics(args) => commands::statistics::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Completions(args) => commands::manual::completions(&args),
        Command::Man(args) => commands::manual::man(&args),
        Command::Explain(args) => commands::manual::explain(&args),
    });
    match result {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => failed(&failure),
    }
}

/// Prints the help that was asked for, or what cannot be understood; fails also if help cannot be
/// printed, unless what reads it has stopped reading.
fn help_or_complaint(what: &clap::Error) -> ExitCode {
    if what.use_stderr() {
        printer::usage_error(what);
    } else if let Err(failure) = what.print().map_err(Failure::from)
        && !matches!(failure, Failure::ReaderGone)
    {
        return failed(&failure);
    }
    ExitCode::from(u8::try_from(what.exit_code()).unwrap_or(2))
}

fn failed(failure: &Failure) -> ExitCode {
    printer::failure(failure);
    ExitCode::from(failure.exit_code())
}
