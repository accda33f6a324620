//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Plan the batches of variable-length sequences: little padding, few shapes, fresh company.
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

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
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
    /// Find the best strategy within limits on padding, company and shapes
    Tune(Tune),
    /// Measure padding against freshness for every family of strategies
    Frontier(Frontier),
    /// Find the batch lengths that pad the least
    Ladder(Ladder),
    /// Fit a cost model to measured training steps
    Cost(Cost),
    /// Check that a plan file is whole, and right for its lengths
    Verify(Verify),
    /// Print a script that completes commands and options in a shell
    Completions(Completions),
    /// Print the manual page, or write one for every command
    Man(Man),
    /// Explain a strategy, or budgets, cost models, shapes, arrangements and steps
    Explain(Explain),
}

/// Where the lengths come from, and what is planned of them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Input {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Cut sequences into pieces of at most this length, and plan the pieces
    #[arg(long, value_name = "LENGTH")]
    pub(crate) chunk: Option<u32>,
}

/// Where the lengths come from.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Source {
    /// File of lengths: .csv, .tsv, .jsonl, .npy, .parquet, .arrow, .feather, .txt with one length
    /// a line, Kaldi's `utt2num_frames` or `utt2dur`, packed by gzip or zstd or not; a folder of WAV and
    /// FLAC files; `-` is standard input
    #[arg(value_name = "INPUT", conflicts_with = "example")]
    pub(crate) path: Option<PathBuf>,

    /// Use built-in lengths instead of a file: speech, documents or bimodal
    #[arg(long, value_name = "NAME")]
    pub(crate) example: Option<String>,

    /// Column of a table, or field of JSON with dots, that holds the lengths
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) column: Option<String>,

    /// Second length of each sequence: another column or field, for pairs such as frames and tokens;
    /// `--frame-shift` and `--rate` are for the first, and `--unit` then for the second alone
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) second: Option<String>,

    /// Format of the input, if its name does not tell: csv, tsv, jsonl, txt, npy, `utt2num_frames`,
    /// `utt2dur`, audio, parquet or arrow
    #[arg(long, value_name = "FORMAT", requires = "path")]
    pub(crate) format: Option<String>,

    /// The numbers are seconds: make frames of them, one every so many seconds
    #[arg(long, value_name = "SECONDS", requires = "path", conflicts_with = "rate")]
    pub(crate) frame_shift: Option<f64>,

    /// The numbers are seconds: make frames or samples of them, so many a second
    #[arg(long, value_name = "PER_SECOND", requires = "path")]
    pub(crate) rate: Option<f64>,

    /// The values are texts, one a line or in a column: count their words, characters, bytes, or
    /// tokens:FILE by a Hugging Face tokenizer.json
    #[arg(long, value_name = "UNIT", requires = "path")]
    pub(crate) unit: Option<String>,

    /// Leave out blank lines of a file of texts
    #[arg(long, requires = "unit")]
    pub(crate) skip_blank: bool,

    /// Keep the names of sequences for messages and plan files: in the usual column, or in this one;
    /// plan files have Kaldi's utterances and the paths of audio anyway
    #[arg(long, value_name = "COLUMN", requires = "path", num_args = 0..=1,
          default_missing_value = "")]
    pub(crate) ids: Option<String>,
}

/// The settings that every plan has besides strategy and budget.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// Order of the batches: as-built, shuffled, spread, short-first or long-first
    #[arg(long, value_name = "ORDER", default_value = "spread")]
    pub(crate) arrange: String,

    /// What happens to sequences that exceed the budget alone: error, alone, drop or truncate
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) over_long: String,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// How batches are dealt to several ranks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct Ranks {
    /// Number of ranks, which all take the same number of steps
    #[arg(long, value_name = "RANKS", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) world_size: u32,

    /// Which batches make a step: stratified, aligned or in-order [default: stratified if all batches
    /// take about the same time, aligned if not; in-order as built]
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<String>,

    /// What happens to batches that fill no step: split, repeat or drop
    #[arg(long, value_name = "WHAT", default_value = "split")]
    pub(crate) tail: String,

    /// Batches that each rank takes in a step, to accumulate gradients
    #[arg(long, value_name = "BATCHES", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) accumulate: u32,
}

/// Which ranks and steps of an epoch are planned.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct Part {
    /// Batches of a step on any number of ranks that divides it
    #[arg(long, value_name = "RANKS", conflicts_with = "accumulate",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) canonical_ranks: Option<u32>,

    /// Make the same number of batches, and so of steps, in every epoch
    #[arg(long)]
    pub(crate) constant_steps: bool,

    /// How long batches take, so that ranks wait little: a preset, coefficients, or a file of
    /// `lengthwise cost`
    #[arg(long, value_name = "MODEL")]
    pub(crate) cost_model: Option<String>,

    /// Only the batches of this rank, from 0 [default: all ranks, step by step]
    #[arg(long, value_name = "RANK")]
    pub(crate) rank: Option<u32>,

    /// Only the first steps
    #[arg(long, value_name = "STEPS")]
    pub(crate) take: Option<u32>,

    /// Write where the epoch stands after these steps to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) cursor: Option<PathBuf>,

    /// Go on from where the epoch stands by this file; may be repeated, with the file of each rank
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch, for padding: sequences:16, padded:20000, dynamic:16
    #[arg(long, value_name = "BUDGET", default_value = "sequences:16", help_heading = "Settings")]
    pub(crate) budget: String,

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
}

/// What is compared, and under which settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Comparing {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05
    #[arg(long, value_name = "BUDGET", default_value = "sequences:16", help_heading = "Settings")]
    pub(crate) budget: String,

    /// Strategy to compare, as in alternated:bins=64; may be repeated [default: all]
    #[arg(long = "strategy", value_name = "STRATEGY", help_heading = "Settings")]
    pub(crate) strategies: Vec<String>,

    /// Batch lengths that may occur: exact, multiple:8, ladder:16 or ladder:100/200/400
    #[arg(long, value_name = "SHAPES", default_value = "exact", help_heading = "Settings")]
    pub(crate) shapes: String,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Epochs to plan and average over; freshness needs two
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) epochs: u32,

    #[command(flatten)]
    pub(crate) ranks: Ranks,

    /// Predict the seconds of an epoch: a preset as in paper-2, coefficients as in a=0.001,c=1e-9,
    /// or a file written by `lengthwise cost`
    #[arg(long, value_name = "MODEL")]
    pub(crate) cost_model: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) comparing: Comparing,

    /// Also write a report with figures to this .html file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) comparing: Comparing,

    /// Write the report to this .html file
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "lengthwise.html",
        help_heading = "Output"
    )]
    pub(crate) output: PathBuf,

    /// Print what the report shows as JSON instead of writing it
    #[arg(long, help_heading = "Output", conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05 (not
    /// needed with packed:capacity=4096)
    #[arg(
        long,
        value_name = "BUDGET",
        required_unless_present = "strategy",
        help_heading = "Settings"
    )]
    pub(crate) budget: Option<String>,

    /// How sequences are grouped, as in alternated:bins=64 [default: the recommended: shuffled on a
    /// ladder, blurred otherwise]
    #[arg(long, value_name = "STRATEGY", help_heading = "Settings")]
    pub(crate) strategy: Option<String>,

    /// Batch lengths that may occur: exact, multiple:8, ladder:16 or ladder:100/200/400 [default:
    /// a ladder of up to 16 rungs; exact where a strategy is given]
    #[arg(long, value_name = "SHAPES", help_heading = "Settings")]
    pub(crate) shapes: Option<String>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Epoch to plan; each has a plan of its own
    #[arg(long, value_name = "EPOCH", default_value_t = 0)]
    pub(crate) epoch: u64,

    #[command(flatten)]
    pub(crate) ranks: Ranks,

    #[command(flatten)]
    pub(crate) part: Part,

    /// Write the plan to this file, .json, .jsonl, .npz or .parquet, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON; without it, one batch a line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05
    #[arg(long, value_name = "BUDGET", default_value = "dynamic:16", help_heading = "Settings")]
    pub(crate) budget: String,

    /// Batch lengths that may occur, unless --max-shapes chooses them [default: exact; without any
    /// limit the recommended ladder]
    #[arg(long, value_name = "SHAPES", help_heading = "Settings")]
    pub(crate) shapes: Option<String>,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Settings")]
    pub(crate) seed: u64,

    /// At most this share of padding, such as 0.05
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    pub(crate) max_padding: Option<f64>,

    /// At least this many effective mates
    #[arg(long, value_name = "MATES", help_heading = "Limits")]
    pub(crate) min_mates: Option<f64>,

    /// At most this many different shapes; chooses a ladder
    #[arg(long, value_name = "COUNT", help_heading = "Limits",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_shapes: Option<u32>,

    /// At most this many seconds an epoch, by the cost model
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", requires = "cost_model")]
    pub(crate) max_seconds: Option<f64>,

    /// How long steps take: a preset, coefficients, or a file of `lengthwise cost`
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub(crate) cost_model: Option<String>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Frontier {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05
    #[arg(long, value_name = "BUDGET", default_value = "sequences:16", help_heading = "Settings")]
    pub(crate) budget: String,

    /// Batch lengths that may occur
    #[arg(long, value_name = "SHAPES", default_value = "exact", help_heading = "Settings")]
    pub(crate) shapes: String,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Settings")]
    pub(crate) seed: u64,

    /// Points on every curve
    #[arg(long, value_name = "COUNT", default_value_t = 13,
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) steps: u32,

    /// Epochs to plan for every point
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) epochs: u32,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Ladder {
    #[command(flatten)]
    pub(crate) input: Input,

    /// How many batch lengths
    #[arg(long, value_name = "COUNT", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rungs: u32,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Cost {
    /// CSV file of measured steps with the columns `batch_size`, `batch_length` and `seconds`; `-`
    /// is standard input
    #[arg(value_name = "STEPS")]
    pub(crate) steps: PathBuf,

    /// Write the model to this .json file, for `--cost-model` and `--budget cost:FILE,limit=...`
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// Plan file that `lengthwise plan -o` wrote: .json, .jsonl, .npz or .parquet
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    #[command(flatten)]
    pub(crate) source: Source,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// A strategy, or budget, cost, shapes, arrange, steps; without it, the list of all
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
