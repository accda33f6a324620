//! The `lengthwise` command: glue between the arguments, the libraries and the terminal.

mod args;
mod commands;
mod cost_model;
mod failure;
mod input;
mod interrupt;
mod printer;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::{Args, Command},
    failure::Failure,
};

fn main() -> ExitCode {
    let args = Args::parse();
    printer::set(args.quiet, args.color);
    interrupt::watch();
    let result = match args.command {
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::compare::report(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Frontier(args) => commands::frontier::run(&args),
        Command::Ladder(args) => commands::ladder::run(&args),
        Command::Cost(args) => commands::cost::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Completions(args) => commands::manual::completions(&args),
        Command::Man(args) => commands::manual::pages(&args),
        Command::Explain(args) => commands::explain::run(&args),
    };
    match result {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => {
            printer::failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
