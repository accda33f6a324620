//! How long planning one epoch takes, against a plain sort of the same lengths.
//!
//! Every figure is a ratio of two times taken one right after the other, because the machines that
//! this runs on are shared. See the README for what the columns mean.

mod args;
mod billion;
mod data;
mod faces;
mod growth;
mod heap;
mod hull;
mod ladders;
mod output;
mod packing;
mod plans;
mod quadratic;
mod ranks;
mod shards;
mod stats;
mod steps;
mod stream;
mod summary;
mod two_lengths;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use args::{Args, Asked, Only};
use output::Output;

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(Asked::Run(args)) => args,
        Ok(Asked::Help) => {
            print!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    let mut output = Output::new(args.out.as_deref())?;
    let mut text = String::new();
    // A strategy of its own is only planned with.
    let all = args.only.is_none() && args.strategy.is_none();
    let wanted = |part: Only| all || args.only == Some(part);
    let rows = if args.only.is_none() { plans::run(args, &mut output)? } else { Vec::new() };
    if args.only.is_none() {
        text += &summary::table(&rows);
    }
    if wanted(Only::Ladders) {
        text += &ladders::table(&ladders::run(args, &mut output)?);
    }
    if args.only.is_none() {
        text += &plans::table(&rows);
    }
    if wanted(Only::Packing) {
        text += &packing::table(&packing::run(args, &mut output)?);
    }
    if wanted(Only::TwoLengths) {
        text += &two_lengths::table(&two_lengths::run(args, &mut output)?);
    }
    if wanted(Only::Ranks) {
        text += &ranks::table(&ranks::run(args, &mut output)?);
        text += &steps::table(&steps::run(args, &mut output)?);
    }
    if wanted(Only::Stream) {
        text += &stream::table(&stream::run(args, &mut output)?);
    }
    // Not with the others: these take long.
    match args.only {
        Some(Only::Shards) => text += &shards::table(&shards::run(args, &mut output)?),
        Some(Only::Growth) => text += &growth::table(&growth::run(args, &mut output)?),
        Some(Only::Faces) => text += &faces::table(&faces::run(args, &mut output)?),
        Some(Only::Billion) => text += &billion::table(&billion::run(args, &mut output)?),
        _ => {}
    }
    io::stdout().write_all(text.as_bytes())?;
    output.finish(&text)
}
