//! Arguments of the commands that make plans and check them.

use std::path::PathBuf;

use clap::Args;

use crate::args::number::{real, whole};
use crate::args::shared::{Advice, Input, Ranks, Settings, Source};
use lengthwise_io::memory;

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05 (not
    /// needed with packed:capacity=4096)
    #[arg(
        long,
        value_name = "BUDGET",
        required_unless_present_any = ["strategy", "like"],
        help_heading = "Settings"
    )]
    pub(crate) budget: Option<String>,

    /// How sequences are grouped, as in alternated:bins=64 [default: what is recommended, as `lengthwise
    /// tune` shows it]
    #[arg(long, value_name = "STRATEGY", help_heading = "Settings")]
    pub(crate) strategy: Option<String>,

    /// Batch lengths that may occur: exact, multiple:8, ladder:16 or ladder:100/200/400 [default:
    /// those that are recommended; exact where a strategy is given]
    #[arg(long, value_name = "SHAPES", help_heading = "Settings")]
    pub(crate) shapes: Option<String>,

    #[command(flatten)]
    pub(crate) advice: Advice,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Epoch to plan; each has a plan of its own
    #[arg(long, value_name = "EPOCH", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    pub(crate) epoch: u64,

    #[command(flatten)]
    pub(crate) ranks: Ranks,

    #[command(flatten)]
    pub(crate) part: Part,

    /// Plan with at most so much memory, as in 500MB or 8GiB, the lengths in a file that is mapped: with
    /// --strategy the same plan, without ids; without it, batches but no optimizer steps
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
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

/// Which ranks and steps of an epoch are planned.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct Part {
    /// Batches of a step on any number of ranks that divides it
    #[arg(long, value_name = "RANKS", conflicts_with = "accumulate",
          value_parser = whole(1..=u32::MAX))]
    pub(crate) canonical_ranks: Option<u32>,

    /// Make the same number of batches, and so of steps, in every epoch
    #[arg(long)]
    pub(crate) constant_steps: bool,

    /// How long batches take, so that ranks wait little: a preset, coefficients, or a file of
    /// `lengthwise cost`
    #[arg(long, value_name = "MODEL")]
    pub(crate) cost_model: Option<String>,

    /// Only the batches of this rank, from 0 [default: all ranks, step by step]
    #[arg(long, value_name = "RANK", value_parser = whole(0..=u32::MAX))]
    pub(crate) rank: Option<u32>,

    /// Only the first steps
    #[arg(long, value_name = "STEPS", value_parser = whole(0..=u32::MAX))]
    pub(crate) take: Option<u32>,

    /// Write a cursor, the position in the epoch after these steps, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) cursor: Option<PathBuf>,

    /// Resume from a cursor; may be repeated, with the file of each rank
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Vec<PathBuf>,
}

/// Which shard of a corpus is planned.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shards")]
pub(crate) struct Shards {
    /// Plan the lengths as a part of a corpus with these statistics, a file of `lengthwise statistics`
    #[arg(long, value_name = "FILE")]
    pub(crate) statistics: Option<PathBuf>,

    /// Which shard of the corpus the input is, from 0
    #[arg(long, value_name = "SHARD", requires_all = ["statistics", "of"], value_parser = whole(0..=u32::MAX))]
    pub(crate) shard: Option<u32>,

    /// How many shards there are
    #[arg(long, value_name = "SHARDS", requires = "shard", value_parser = whole(0..=u32::MAX))]
    pub(crate) of: Option<u32>,

    /// Instead of a plan, write how many batches the shard needs to this .lws file, to be merged into
    /// the statistics
    #[arg(long, value_name = "FILE", requires = "shard",
          conflicts_with_all = ["output", "json", "rank", "take", "cursor", "resume"])]
    pub(crate) needs: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Balance {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Number of ranks
    #[arg(long, value_name = "RANKS", value_parser = whole(1..=u32::MAX), help_heading = "Settings")]
    pub(crate) world_size: u32,

    /// Most positions of a micro-batch, a hard limit [default: one micro-batch of any size for each rank]
    #[arg(long, value_name = "POSITIONS", value_parser = whole(1..=u32::MAX), help_heading = "Settings")]
    pub(crate) capacity: Option<u32>,

    /// How long a sequence takes: attention:hidden=4096,layers=32, a preset, coefficients, or a file of
    /// `lengthwise cost` [default: its length]
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub(crate) cost_model: Option<String>,

    /// What sequences with the same id share: a batch or a rank
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "batch",
        requires = "together",
        help_heading = "Settings"
    )]
    pub(crate) share: Share,

    /// Fewest micro-batches of a rank
    #[arg(long, value_name = "BATCHES", default_value_t = 1, value_parser = whole(1..=u32::MAX),
          help_heading = "Settings")]
    pub(crate) min_micro_batches: u32,

    /// Most micro-batches of a rank: an error if more are needed
    #[arg(long, value_name = "BATCHES", value_parser = whole(1..=u32::MAX), help_heading = "Settings")]
    pub(crate) max_micro_batches: Option<u32>,

    /// How fast each rank is, as in 1,1,2 [default: equally fast]
    #[arg(long, value_name = "SPEEDS", value_delimiter = ',', value_parser = real, help_heading = "Settings")]
    pub(crate) speeds: Vec<f64>,

    /// Over how many ranks a sequence may be split, as in 1,2,4,8: each divides the next one, and the last one
    /// the number of ranks [default: no ranks share a sequence]
    #[arg(long, value_name = "DEGREES", value_delimiter = ',', value_parser = whole(1..=u32::MAX),
          conflicts_with_all = ["together", "speeds"], help_heading = "Settings")]
    pub(crate) split: Vec<u32>,

    /// What ranks that share a sequence take for each position that they receive, in the unit of the cost
    /// [default: 0]
    #[arg(long, value_name = "COST", value_parser = real, requires = "split", help_heading = "Settings")]
    pub(crate) communication: Option<f64>,

    /// Write the step to this .json file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON, with the sequences of every micro-batch
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What sequences that stay together share.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Share {
    Batch,
    Rank,
}

#[derive(Debug, Args)]
#[command(
    after_help = "One line of JSON is written for each batch as soon as it is made, as in plan files: \
    the positions of its sequences in the stream (from 0), what they are padded to, and the sum of their \
    lengths. Run `lengthwise explain stream` to read more."
)]
pub(crate) struct Stream {
    /// File with a length on each line, optionally compressed by gzip or zstd; `-`, or nothing, is standard
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
    #[arg(long, value_name = "SEQUENCES", default_value_t = lengthwise::stream::Streamer::WINDOW,
          help_heading = "Settings", value_parser = whole(0..=u32::MAX))]
    pub(crate) window: u32,

    /// What happens to sequences that exceed the budget alone: error, alone, drop or truncate
    #[arg(long, value_name = "WHAT", default_value = "error", help_heading = "Settings")]
    pub(crate) over_long: String,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Settings", value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// Epoch, for streams that come again
    #[arg(long, value_name = "EPOCH", default_value_t = 0, help_heading = "Settings", value_parser = whole(0..=u64::MAX))]
    pub(crate) epoch: u64,

    /// Number of ranks that read this stream; a step has a batch for each
    #[arg(long, value_name = "RANKS", default_value_t = 1, help_heading = "Ranks",
          value_parser = whole(1..=u32::MAX))]
    pub(crate) world_size: u32,

    /// Only the batches of this rank, from 0 [default: all ranks, step by step]
    #[arg(long, value_name = "RANK", help_heading = "Ranks", value_parser = whole(0..=u32::MAX))]
    pub(crate) rank: Option<u32>,

    /// What happens at the end to batches that fill no step: split, repeat or drop
    #[arg(long, value_name = "WHAT", default_value = "split", help_heading = "Ranks")]
    pub(crate) tail: String,

    /// Around which sequence a step grows: oldest, or quantile for ranks with streams of their own
    #[arg(long, value_name = "PIVOT", default_value = "oldest", help_heading = "Ranks")]
    pub(crate) pivot: String,

    /// Save the state of the stream in this file, and resume from it if it exists
    #[arg(long, value_name = "FILE", help_heading = "State")]
    pub(crate) state: Option<PathBuf>,

    /// The input begins at the position that the state names as `from`, and not at its beginning
    #[arg(long, requires = "state", help_heading = "State")]
    pub(crate) from_position: bool,

    /// Stop after this many steps
    #[arg(long, value_name = "STEPS", help_heading = "State", value_parser = whole(0..=u64::MAX))]
    pub(crate) take: Option<u64>,
}

#[derive(Debug, Args)]
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
    #[arg(long, value_name = "SECONDS", conflicts_with = "rate", help_heading = "Input", value_parser = real)]
    pub(crate) frame_shift: Option<f64>,

    /// The numbers are seconds: make frames or samples of them, so many a second
    #[arg(long, value_name = "PER_SECOND", help_heading = "Input", value_parser = real)]
    pub(crate) rate: Option<f64>,

    /// The values are texts: count their words, characters, bytes, or tokens:FILE
    #[arg(long, value_name = "UNIT", help_heading = "Input")]
    pub(crate) unit: Option<String>,

    /// Leave out blank lines of a file of texts
    #[arg(long, requires = "unit", help_heading = "Input")]
    pub(crate) skip_blank: bool,

    /// Cut sequences into pieces of at most this length, as the plans will
    #[arg(long, value_name = "LENGTH", help_heading = "Input", value_parser = whole(0..=u32::MAX))]
    pub(crate) chunk: Option<u32>,

    /// Write the statistics to this .lws file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Plan file that `lengthwise plan -o` wrote: .json, .jsonl, .npz or .parquet
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    #[command(flatten)]
    pub(crate) source: Source,

    /// Read the plan batch by batch, with at most so much memory, as in 500MB or 8GiB; the checksum is
    /// looked at, and not every byte
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    pub(crate) memory: Option<u64>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
