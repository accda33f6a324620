//! Arguments of the commands that look at lengths and compare strategies.

use std::path::PathBuf;

use clap::Args;

use crate::args::number::{real, whole};
use crate::args::shared::{Advice, Input, Ranks, Settings};

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16 [default: sequences:16]
    #[arg(long, value_name = "BUDGET", help_heading = "Settings")]
    pub(crate) budget: Option<String>,

    #[command(flatten)]
    pub(crate) advice: Advice,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What is compared, and under which settings.
#[derive(Debug, Args)]
pub(crate) struct Comparing {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05 [default:
    /// sequences:16]
    #[arg(long, value_name = "BUDGET", help_heading = "Settings")]
    pub(crate) budget: Option<String>,

    #[command(flatten)]
    pub(crate) advice: Advice,

    /// Strategy to compare, as in alternated:bins=64; may be repeated [default: all]
    #[arg(long = "strategy", value_name = "STRATEGY", help_heading = "Settings")]
    pub(crate) strategies: Vec<String>,

    /// Batch lengths that may occur: exact, multiple:8, ladder:16 or ladder:100/200/400 [default: exact,
    /// and those that are recommended]
    #[arg(long, value_name = "SHAPES", help_heading = "Settings")]
    pub(crate) shapes: Option<String>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Epochs to plan and average over; mixing needs at least two
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = whole(1..=u32::MAX))]
    pub(crate) epochs: u32,

    #[command(flatten)]
    pub(crate) ranks: Ranks,

    /// Predict the seconds of an epoch: a preset as in paper-2, coefficients as in a=0.001,c=1e-9,
    /// or a file written by `lengthwise cost`
    #[arg(long, value_name = "MODEL")]
    pub(crate) cost_model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) comparing: Comparing,

    /// Also write a report with figures to this .html file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    /// Add the papers' tuning curves to the report
    #[arg(long, help_heading = "Output", requires = "report")]
    pub(crate) papers: bool,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
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

    /// Add the papers' tuning curves to the report
    #[arg(long, help_heading = "Output")]
    pub(crate) papers: bool,

    /// Print what the report shows as JSON instead of writing it
    #[arg(long, help_heading = "Output", conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Limit of every batch: sequences:16, padded:20000, dynamic:16, cost:MODEL,limit=0.05 [default:
    /// sequences:16]
    #[arg(long, value_name = "BUDGET", help_heading = "Settings")]
    pub(crate) budget: Option<String>,

    #[command(flatten)]
    pub(crate) advice: Advice,

    /// Batch lengths that may occur [default: those that are recommended]
    #[arg(long, value_name = "SHAPES", help_heading = "Settings")]
    pub(crate) shapes: Option<String>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) ranks: Ranks,

    /// At most this share of padding, such as 0.05
    #[arg(long, value_name = "SHARE", help_heading = "Limits", value_parser = real)]
    pub(crate) max_padding: Option<f64>,

    /// At least this mixing, from 0 to 1: how freely batch-mates change between epochs, where 1 is random
    /// shuffling [default: 0.05]
    #[arg(long, value_name = "SHARE", help_heading = "Limits", value_parser = real)]
    pub(crate) min_mixing: Option<f64>,

    /// At least this many effective batch-mates: the size of the pool that they are drawn from
    #[arg(long, value_name = "MATES", help_heading = "Limits", value_parser = real)]
    pub(crate) min_mates: Option<f64>,

    /// At most this many different shapes
    #[arg(long, value_name = "COUNT", help_heading = "Limits",
          value_parser = whole(1..=u32::MAX))]
    pub(crate) max_shapes: Option<u32>,

    /// At most this step mix: how much optimizer steps differ in length, where 1 is like random steps; inf for
    /// any [default: 1]
    #[arg(long, value_name = "MIX", help_heading = "Limits", value_parser = real)]
    pub(crate) max_step_mix: Option<f64>,

    /// At least this many optimizer steps per epoch
    #[arg(long, value_name = "STEPS", help_heading = "Limits", value_parser = whole(0..=u64::MAX))]
    pub(crate) min_optimizer_steps: Option<u64>,

    /// At most this many optimizer steps per epoch
    #[arg(long, value_name = "STEPS", help_heading = "Limits", value_parser = whole(0..=u64::MAX))]
    pub(crate) max_optimizer_steps: Option<u64>,

    /// At most this many seconds per epoch, by the cost model
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", requires = "cost_model", value_parser = real)]
    pub(crate) max_seconds: Option<f64>,

    /// How long steps take: a preset, coefficients, or a file of `lengthwise cost`
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub(crate) cost_model: Option<String>,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
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
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Settings", value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// Points on every curve
    #[arg(long, value_name = "COUNT", default_value_t = 13,
          value_parser = whole(2..=1000_u32))]
    pub(crate) steps: u32,

    /// Epochs to plan for every point
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = whole(2..=100_u32))]
    pub(crate) epochs: u32,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ladder {
    #[command(flatten)]
    pub(crate) input: Input,

    /// Number of batch lengths
    #[arg(long, value_name = "COUNT", default_value_t = 8,
          value_parser = whole(1..=u32::MAX))]
    pub(crate) rungs: u32,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
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
