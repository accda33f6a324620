//! Arguments of the commands that explain the others.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A strategy, or budgets, cost models, shapes, arrangements, steps, streams, shards, tune;
    /// without it, the list of all
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder, instead of printing that of the whole
    #[arg(short, long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}
