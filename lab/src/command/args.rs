//! What can be typed.

use std::{num::NonZero, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use lengthwise_lab::collective::Mode;

/// Train a model under several ways to batch, and see what each does to time, memory and error.
///
/// Without arguments it learns online handwriting under three ways to batch, in a minute or two.
#[derive(Debug, Parser)]
#[command(name = "lengthwise-lab", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment: one that is built in, or a file.
    Run(RunArgs),
    /// Read the data and plan all batches, without training.
    Check(CheckArgs),
    /// List the experiments that are built in, or print one to begin a file of your own from.
    Show(ShowArgs),
    /// Show what an experiment measured: the table, and the page with `-o`.
    Report(ReportArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Chosen {
    /// The name of an experiment (see `show`), or a TOML file.
    #[arg(default_value = DEFAULT)]
    pub(crate) experiment: String,
    /// Learn from this instead of what is built in: a folder with index.csv and .npy files, a folder of
    /// WAV files, or a TSV file.
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// How often all sequences are seen.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<NonZero<u32>>,
    /// Where parameters and plans begin: every run is trained from each.
    #[arg(long, value_name = "SEED,…", value_delimiter = ',')]
    pub(crate) seeds: Vec<u64>,
    /// How many recurrent layers the model has.
    #[arg(long, value_name = "N")]
    pub(crate) layers: Option<NonZero<u32>>,
    /// How many cells each direction of a layer has.
    #[arg(long, value_name = "N")]
    pub(crate) units: Option<NonZero<u32>>,
    /// Only the runs of these names.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How many workers learn together, in runs that do not say so themselves [default: as the
    /// experiment says; where it does not, 1, and under mpirun as many as it started].
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<NonZero<u32>>,
    /// How they learn together, in runs that do not say so themselves: `sync`, one gradient in every
    /// step, or `average`, one mean of their parameters in every epoch; `average:every=100,decay=1e-6`
    /// for one in 100 steps.
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
    /// Where results and trainings are kept [default: runs/EXPERIMENT, and runs/EXPERIMENT-DATA with
    /// `--data`]. A run that was stopped goes on from there.
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Begin anew, and forget what is kept in the folder.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// What to train on.
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
    /// How many threads of the processor to use [default: all]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// How often a training is kept within an epoch, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = SAVE_EVERY, value_parser = seconds)]
    pub(crate) save_every: f64,
    /// Write down every step of every worker, as JSON lines in files of this folder: which sequences,
    /// what they were padded to, how long it took, and a digest of the parameters.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) trace: Option<PathBuf>,
    /// Show nothing but the results.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const SAVE_EVERY: f64 = 30.0;

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0".to_owned()),
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

/// What to train on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// A CUDA device where there is one, and the processor otherwise.
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
    /// The folder of an experiment, or its results.jsonl.
    pub(crate) results: PathBuf,
    /// Write the page with all curves.
    #[arg(long, short, value_name = "HTML")]
    pub(crate) output: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,
}
