//! The arguments of the command.

use std::{num::NonZero, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use lengthwise_lab::collective::Mode;

/// Train a model under several ways to batch, and compare time, memory and error.
///
/// Without arguments, it trains a small model that reads handwriting under four ways to batch: half a minute
/// on two cores.
#[derive(Debug, Parser)]
#[command(name = "lengthwise-lab", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  lengthwise-lab run                 # the handwriting experiment
  lengthwise-lab run note4 --seeds 1,2";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment: a built-in one, or a file.
    #[command(after_help = "\
Examples:
  lengthwise-lab run handwriting --epochs 4 --fresh
  lengthwise-lab run mine.toml --data recordings/")]
    Run(RunArgs),
    /// Read the data and plan all batches, without training.
    #[command(after_help = "\
Examples:
  lengthwise-lab check handwriting
  lengthwise-lab check mine.toml --data recordings/")]
    Check(CheckArgs),
    /// List the built-in experiments, or print one to start your own file from.
    #[command(after_help = "\
Examples:
  lengthwise-lab show
  lengthwise-lab show handwriting > mine.toml")]
    Show(ShowArgs),
    /// Print the results of an experiment as a table, and write the page with `-o`.
    #[command(after_help = "\
Examples:
  lengthwise-lab report runs/handwriting
  lengthwise-lab report runs/handwriting --json
  lengthwise-lab report runs/handwriting -o page.html
  lengthwise-lab report runs/seed-1 runs/seed-2 --results-output results.jsonl")]
    Report(ReportArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Chosen {
    /// The name of an experiment (see `show`), or a TOML file.
    #[arg(default_value = DEFAULT)]
    pub(crate) experiment: String,
    /// Train on this data instead of generated data: a folder with index.csv and .npy files, a folder of
    /// WAV files, or a TSV file.
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// The number of epochs, of all runs.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<NonZero<u32>>,
    /// Seeds of parameters and plans: every run is trained once with each.
    #[arg(long, value_name = "SEED,…", value_delimiter = ',')]
    pub(crate) seeds: Vec<u64>,
    /// Recurrent layers of the model.
    #[arg(long, value_name = "N")]
    pub(crate) layers: Option<NonZero<u32>>,
    /// LSTM cells in each direction of a layer.
    #[arg(long, value_name = "N")]
    pub(crate) units: Option<NonZero<u32>>,
    /// Train only these runs, by name.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Workers that train together, in runs that do not set their own [default: as the experiment sets it;
    /// otherwise 1, or under mpirun the number of its processes].
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<NonZero<u32>>,
    /// How workers train together, in runs that do not set it: `sync` (one shared gradient per step) or `average`
    /// (parameters averaged once per epoch). `average:every=100,decay=1e-6` averages every 100 steps.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
}

const DEFAULT: &str = "handwriting";

impl Default for Chosen {
    fn default() -> Self {
        Self {
            experiment: DEFAULT.to_owned(),
            data: None,
            epochs: None,
            seeds: Vec::new(),
            layers: None,
            units: None,
            only: Vec::new(),
            workers: None,
            mode: None,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// Save results and checkpoints in this folder [default: runs/EXPERIMENT, or runs/EXPERIMENT-DATA with
    /// `--data`]. A run that was stopped continues from there.
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Train anew, and delete the results and checkpoints in the folder.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The device to train on.
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
    /// Threads of the processor [default: all]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Seconds between checkpoints within an epoch.
    #[arg(long, value_name = "SECONDS", default_value_t = SAVE_EVERY, value_parser = seconds)]
    pub(crate) save_every: f64,
    /// Write every batch of every worker to JSON lines in this folder: its sequences, its batch length, its
    /// time, and a digest of the parameters.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) trace: Option<PathBuf>,
    /// Print only the results.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const SAVE_EVERY: f64 = 30.0;

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0".to_owned()),
    }
}

impl Default for RunArgs {
    fn default() -> Self {
        Self {
            chosen: Chosen::default(),
            out: None,
            fresh: false,
            device: Device::Auto,
            threads: None,
            save_every: SAVE_EVERY,
            trace: None,
            quiet: false,
        }
    }
}

/// The device to train on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// A CUDA device if there is one, otherwise the processor.
    Auto,
    /// The processor.
    Cpu,
    /// The first CUDA device.
    Cuda,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The name of an experiment.
    pub(crate) experiment: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The folder of an experiment, or its results.jsonl. Several are joined, if they are parts of one experiment
    /// with other seeds or runs.
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// Write the page with all curves to this file.
    #[arg(long, short, value_name = "HTML")]
    pub(crate) output: Option<PathBuf>,
    /// Write the results to this file, as JSON lines: of several parts in one.
    #[arg(long, value_name = "FILE")]
    pub(crate) results_output: Option<PathBuf>,
    /// Print the tables as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print means, standard deviations and all comparisons as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
