//! What can be typed.

pub(crate) mod comparing;
pub(crate) mod planning;
pub(crate) mod shared;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::args::comparing::{Compare, Cost, Frontier, Inspect, Ladder, Report, Tune};
use crate::args::planning::{Plan, Statistics, Stream, Verify};
use crate::printer::When;

/// Plan the batches of variable-length sequences: little padding, few shapes, new batch-mates in every epoch.
#[derive(Debug, Parser)]
#[command(name = "lengthwise", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say nothing on standard error but errors
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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what the lengths are like, and what they do to random batches
    Inspect(Inspect),
    /// Show what every strategy does to padding, batches, shapes and freshness
    Compare(Compare),
    /// Write a comparison with figures as one HTML page
    Report(Report),
    /// Plan the batches of one epoch
    Plan(Plan),
    /// Plan the batches of a stream of lengths as they come
    Stream(Stream),
    /// Find the best strategy within limits on padding, company and shapes
    Tune(Tune),
    /// Measure padding against freshness for every family of strategies
    Frontier(Frontier),
    /// Find the batch lengths that pad the least
    Ladder(Ladder),
    /// Fit a cost model to measured training steps
    Cost(Cost),
    /// Gather what all shards of a corpus are like, so that each can be planned by itself
    Statistics(Statistics),
    /// Check that a plan file is whole, and right for its lengths
    Verify(Verify),
    /// Print a script that completes commands and options in a shell
    Completions(Completions),
    /// Print the manual page, or write one for every command
    Man(Man),
    /// Explain a strategy, or budgets, cost models, shapes, arrangements, steps, streams and shards
    Explain(Explain),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// A strategy, or budgets, cost models, shapes, arrangements, steps, streams, shards, tune;
    /// without it, the list of all
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
    /// Write the pages of all commands to this folder, instead of printing that of the whole
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Markdown, as the site has it, in place of manual pages
    #[arg(long, hide = true, requires = "output")]
    pub(crate) markdown: bool,
}
