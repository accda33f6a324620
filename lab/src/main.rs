//! The `lengthwise-lab` command: trains models under several ways to batch, and says what that does to
//! time, memory and error.

#![forbid(unsafe_code)]

mod command;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    command::run(command::Args::parse())
}
