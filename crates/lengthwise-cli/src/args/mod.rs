//! What can be typed.

pub(crate) mod comparing;
pub(crate) mod examples;
mod number;
pub(crate) mod planning;
pub(crate) mod shared;

use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::args::comparing::{Compare, Cost, Frontier, Inspect, Ladder, Report, Tune};
use crate::args::planning::{Balance, Plan, Statistics, Stream, Verify};
use crate::printer::When;

/// Plan the batches of variable-length sequences: little padding, few shapes, new batch-mates in every epoch.
#[derive(Debug, Parser)]
#[command(name = "lengthwise", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Suppress everything on stderr except errors
    #[arg(long, short, global = true, help_heading = "Output", display_order = 900)]
    pub(crate) quiet: bool,

    /// Colours: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        help_heading = "Output",
        display_order = 901
    )]
    pub(crate) color: When,
}

impl Args {
    /// What was typed. Help is in lines of at most `width` characters.
    pub(crate) fn typed(width: usize) -> Result<Self, clap::Error> {
        let mut command = command(width);
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The commands and options, with examples in lines of at most `width` characters.
pub(crate) fn command(width: usize) -> clap::Command {
    let ended = |command: clap::Command| {
        let own = command.get_after_help().map(ToString::to_string);
        let help = examples::after_help(command.get_name(), own.as_deref(), width);
        // A negative number is a wrong value then, and not an unknown option.
        let with_values = command.mut_args(|argument| {
            let option = !argument.is_positional() && argument.get_action().takes_values();
            if option { argument.allow_negative_numbers(true) } else { argument }
        });
        with_values.after_help(help).term_width(width)
    };
    ended(Args::command()).mut_subcommands(ended)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the distribution of the lengths and what padding costs
    Inspect(Inspect),
    /// Compare strategies: padding, batches, shapes and mixing
    Compare(Compare),
    /// Write a comparison with figures to one HTML page
    Report(Report),
    /// Plan the batches of one epoch
    Plan(Plan),
    /// Divide the sequences of one step over ranks and micro-batches of equal work
    Balance(Balance),
    /// Plan batches from a stream of lengths as they arrive
    Stream(Stream),
    /// Recommend settings within limits on padding, mixing and shapes
    Tune(Tune),
    /// Measure padding against mixing for every family of strategies
    Frontier(Frontier),
    /// Find the batch lengths with the least padding
    Ladder(Ladder),
    /// Fit a cost model to measured training steps
    Cost(Cost),
    /// Compute summary statistics of shards, so that each node can plan its own shard
    Statistics(Statistics),
    /// Check that a plan file is complete and matches its lengths
    Verify(Verify),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write the pages of all commands
    Man(Man),
    /// Explain a strategy, a setting or a word, with examples
    Explain(Explain),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// A strategy, a setting such as budget, or glossary [default: list all pages]
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder instead of printing one
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Markdown, as the site has it, in place of manual pages
    #[arg(long, hide = true, requires = "output")]
    pub(crate) markdown: bool,
}
