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
    #[arg(long, value_name = "NAME",
          conflicts_with_all = ["column", "second", "format", "frame_shift", "rate", "unit", "ids"])]
    pub(crate) example: Option<String>,

    /// Column of a table, or field of JSON with dots, that holds the lengths
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) column: Option<String>,

    /// Second length of each sequence: another column or field, for pairs such as frames and tokens;
    /// `--frame-shift` and `--rate` are for the first, and `--unit` for those that hold texts
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

/// Which shard of a corpus is planned.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Shards")]
pub(crate) struct Shards {
    /// Plan the lengths as a part of a corpus with these statistics, a file of `lengthwise statistics`
    #[arg(long, value_name = "FILE")]
    pub(crate) statistics: Option<PathBuf>,

    /// Which shard of the corpus the input is, from 0
    #[arg(long, value_name = "SHARD", requires_all = ["statistics", "of"])]
    pub(crate) shard: Option<u32>,

    /// How many shards there are
    #[arg(long, value_name = "SHARDS", requires = "shard")]
    pub(crate) of: Option<u32>,

    /// Instead of a plan, write how many batches the shard needs to this .lws file, to be merged into
    /// the statistics
    #[arg(long, value_name = "FILE", requires = "shard",
          conflicts_with_all = ["output", "json", "rank", "take", "cursor", "resume"])]
    pub(crate) needs: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Statistics {
    /// Files of lengths, as for other commands, and files of statistics; all are merged
    #[arg(value_name = "INPUT", required = true, help_heading = "Input")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Column of a table, or field of JSON with dots, that holds the lengths
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) column: Option<String>,

    /// Format of the lengths, if the names of the files do not tell
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub(crate) format: Option<String>,

    /// The numbers are seconds: make frames of them, one every so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "rate", help_heading = "Input")]
    pub(crate) frame_shift: Option<f64>,

    /// The numbers are seconds: make frames or samples of them, so many a second
    #[arg(long, value_name = "PER_SECOND", help_heading = "Input")]
    pub(crate) rate: Option<f64>,

    /// The values are texts: count their words, characters, bytes, or tokens:FILE
    #[arg(long, value_name = "UNIT", help_heading = "Input")]
    pub(crate) unit: Option<String>,

    /// Leave out blank lines of a file of texts
    #[arg(long, requires = "unit", help_heading = "Input")]
    pub(crate) skip_blank: bool,

    /// Cut sequences into pieces of at most this length, as the plans will
    #[arg(long, value_name = "LENGTH", help_heading = "Input")]
    pub(crate) chunk: Option<u32>,

    /// Write the statistics to this .lws file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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

    /// Plan with at most so much memory, as in 500MB or 8GiB, the lengths in a file that is mapped: the
    /// same plan, without ids, for strategies that sort; others say what they take
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    pub(crate) memory: Option<u64>,

    #[command(flatten)]
    pub(crate) shards: Shards,

    /// Write the plan to this file, .json, .jsonl, .npz or .parquet, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON; without it, one batch a line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "One line of JSON is written for each batch as soon as it is made, as in plan files: \
    the positions of its sequences in the stream (from 0), what they are padded to, and the sum of their \
    lengths. Run `lengthwise explain stream` to read more."
)]
pub(crate) struct Stream {
    /// File with a length on each line, packed by gzip or zstd or not; `-`, or nothing, is standard
    /// input, read as it comes
    #[arg(value_name = "INPUT", conflicts_with = "example", help_heading = "Input")]
    pub(crate) path: Option<PathBuf>,

    /// Use built-in lengths instead of a file: speech, documents or bimodal
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) example: Option<String>,

    /// Other commands have it: it is taken to say why a stream does not
    #[arg(long, hide = true)]
    pub(crate) column: Option<String>,

    /// Other commands have it: it is taken to say why a stream does not
    #[arg(long, hide = true)]
    pub(crate) second: Option<String>,

    /// Limit of every batch: sequences:16, padded:20000, cost:MODEL,limit=0.05
    #[arg(long, value_name = "BUDGET", help_heading = "Settings")]
    pub(crate) budget: String,

    /// Batch lengths that may occur: exact, multiple:8, ladder:16 (learned from the first window) or
    /// ladder:100/200/400
    #[arg(long, value_name = "SHAPES", default_value = "exact", help_heading = "Settings")]
    pub(crate) shapes: String,

    /// How many sequences are held at most; the more, the less padding
    #[arg(long, value_name = "SEQUENCES", default_value_t = lengthwise::Streamer::WINDOW,
          help_heading = "Settings")]
    pub(crate) window: u32,

    /// What happens to sequences that exceed the budget alone: error, alone, drop or truncate
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Settings")]
    pub(crate) over_long: String,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Settings")]
    pub(crate) seed: u64,

    /// Epoch, for streams that come again
    #[arg(long, value_name = "EPOCH", default_value_t = 0, help_heading = "Settings")]
    pub(crate) epoch: u64,

    /// Number of ranks that read this stream; a step has a batch for each
    #[arg(long, value_name = "RANKS", default_value_t = 1, help_heading = "Ranks",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) world_size: u32,

    /// Only the batches of this rank, from 0 [default: all ranks, step by step]
    #[arg(long, value_name = "RANK", help_heading = "Ranks")]
    pub(crate) rank: Option<u32>,

    /// What happens at the end to batches that fill no step: split, repeat or drop
    #[arg(long, value_name = "WHAT", default_value = "split", help_heading = "Ranks")]
    pub(crate) tail: String,

    /// Around which sequence a step grows: oldest, or quantile for ranks with streams of their own
    #[arg(long, value_name = "PIVOT", default_value = "oldest", help_heading = "Ranks")]
    pub(crate) pivot: String,

    /// Keep where the stream stands in this file; go on from there if it is there
    #[arg(long, value_name = "FILE", help_heading = "State")]
    pub(crate) state: Option<PathBuf>,

    /// The input begins at the position that the state names as `from`, and not at its beginning
    #[arg(long, requires = "state", help_heading = "State")]
    pub(crate) from_position: bool,

    /// Stop after so many steps
    #[arg(long, value_name = "STEPS", help_heading = "State")]
    pub(crate) take: Option<u64>,
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

    /// Read the plan batch by batch, with at most so much memory, as in 500MB or 8GiB; the checksum is
    /// looked at, and not every byte
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    pub(crate) memory: Option<u64>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
