//! Arguments that several commands have.

use std::path::PathBuf;

use clap::Args;
use lengthwise::{
    Budget, Error, Update,
    tune::{Like, Wanted},
};

use crate::args::number::{real, whole};
use crate::cost_model;
use crate::failure::Failure;

/// Where the lengths come from, and what is planned of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Input {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Cut sequences into pieces of at most this length, and plan the pieces
    #[arg(long, value_name = "LENGTH", value_parser = whole(0..=u32::MAX))]
    pub(crate) chunk: Option<u32>,
}

/// Where the lengths come from.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Source {
    /// File of lengths: .csv, .tsv, .jsonl, .npy, .parquet, .arrow, .feather, .txt with one length
    /// per line, Kaldi's `utt2num_frames` or `utt2dur`, optionally compressed by gzip or zstd; a folder of WAV and
    /// FLAC files, or a Kaldi data folder; `-` is standard input
    #[arg(value_name = "INPUT", conflicts_with = "example")]
    pub(crate) path: Option<PathBuf>,

    /// Use built-in lengths instead of a file: speech, documents or bimodal
    #[arg(long, value_name = "NAME",
          conflicts_with_all = ["column", "second", "together", "kind", "format", "frame_shift", "rate", "unit",
                                "ids"])]
    pub(crate) example: Option<String>,

    /// Column of a table, or field of JSON with dots, that holds the lengths
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) column: Option<String>,

    /// Second length of each sequence: another column or field, for pairs such as frames and tokens;
    /// `--frame-shift` and `--rate` are for the first, and `--unit` for those that hold texts
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) second: Option<String>,

    /// Column of ids: sequences with the same id stay together, as preference pairs do
    #[arg(long, value_name = "COLUMN", requires = "path")]
    pub(crate) together: Option<String>,

    /// Column of ids: batches have sequences of one kind only, such as one language
    #[arg(long, value_name = "COLUMN", requires = "path")]
    pub(crate) kind: Option<String>,

    /// Format of the input, if its name does not tell: csv, tsv, jsonl, txt, npy, `utt2num_frames`,
    /// `utt2dur`, audio, parquet or arrow
    #[arg(long, value_name = "FORMAT", requires = "path")]
    pub(crate) format: Option<String>,

    /// The numbers are seconds: make frames of them, one every so many seconds
    #[arg(long, value_name = "SECONDS", requires = "path", conflicts_with = "rate", value_parser = real)]
    pub(crate) frame_shift: Option<f64>,

    /// The numbers are seconds: make frames or samples of them, so many a second
    #[arg(long, value_name = "PER_SECOND", requires = "path", value_parser = real)]
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
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// Order of the batches: as-built, shuffled, spread, short-first or long-first
    #[arg(long, value_name = "ORDER", default_value = "spread")]
    pub(crate) arrange: String,

    /// What happens to sequences that exceed the budget alone: error, alone, drop or truncate
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) over_long: String,

    /// What sequences that stay together share: a batch, or a rank in one step
    #[arg(long, value_name = "WHAT", default_value = "batch", requires = "together")]
    pub(crate) share: String,

    /// What has sequences of one kind only: every batch, or every step of all ranks too
    #[arg(long, value_name = "WHAT", default_value = "batch", requires = "kind")]
    pub(crate) one_kind: String,

    /// How much of every kind an epoch has, as in en=0.7,de=0.3 [default: all sequences once]
    #[arg(long, value_name = "MIX", requires = "kind")]
    pub(crate) mix: Option<String>,

    /// Seed of all randomness
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,
}

/// How batches are assigned to several ranks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct Ranks {
    /// Number of ranks; all take the same number of steps
    #[arg(long, value_name = "RANKS", default_value_t = 1,
          value_parser = whole(1..=u32::MAX))]
    pub(crate) world_size: u32,

    /// Which batches make a step: stratified, aligned or in-order [default: stratified if all batches
    /// take about the same time, aligned if not; in-order as built]
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<String>,

    /// What happens to batches that fill no step: split, repeat or drop
    #[arg(long, value_name = "WHAT", default_value = "split")]
    pub(crate) tail: String,

    /// Micro-batches that each rank takes in an optimizer step, to accumulate gradients [default: 1 where a
    /// strategy is given, as many as recommended where none is]
    #[arg(long, value_name = "BATCHES", value_parser = whole(1..=u32::MAX))]
    pub(crate) accumulate: Option<u32>,

    /// Data of an optimizer step over all ranks, as in tokens:100000 or sequences:256: it decides how many
    /// batches each rank accumulates, and is nearly the same in every step
    #[arg(long, value_name = "SIZE", conflicts_with = "accumulate")]
    pub(crate) update: Option<String>,
}

/// What the recommendation should know.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recommendation")]
pub(crate) struct Advice {
    /// The model that is trained: attention, recurrent, packed (it takes several sequences in a row), or
    /// how long its steps take: a file of `lengthwise cost`, or coefficients as in a=0.02,c=6e-7,s=0.1
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// You train with this batch size today: the budget of equal memory; 32,keep=steps also keeps the
    /// optimizer steps of an epoch
    #[arg(long, value_name = "BATCH_SIZE", conflicts_with = "budget")]
    pub(crate) like: Option<String>,
}

impl Advice {
    pub(crate) fn like(&self) -> Result<Option<Like>, Error> {
        self.like.as_deref().map(str::parse).transpose()
    }

    /// The budget of equal memory, or the one that is given, or the default.
    pub(crate) fn budget(&self, given: Option<&str>) -> Result<Budget, Failure> {
        match self.like()? {
            Some(like) => Ok(like.budget()),
            None => cost_model::budget(given.unwrap_or(BUDGET)),
        }
    }

    /// What is wanted of a recommendation for so many ranks, where these settings are known.
    pub(crate) fn wanted(
        &self,
        settings: lengthwise::Settings,
        ranks: u32,
    ) -> Result<Wanted, Failure> {
        let named = self.model.as_deref().map(cost_model::model).transpose()?;
        let mut model = named.unwrap_or_default();
        model.cost = model.cost.or(settings.cost_model);
        let like = self.like()?;
        let kept = like.and_then(|like| like.update(ranks));
        let mut wanted = Wanted::new(settings.budget);
        (wanted.ranks, wanted.model, wanted.like) = (ranks, model, like);
        wanted.settings = settings;
        wanted.settings.update = wanted.settings.update.or(kept);
        Ok(wanted)
    }
}

/// The budget where none is given.
pub(crate) const BUDGET: &str = "sequences:16";

impl Ranks {
    /// The size of an update, if it was given.
    pub(crate) fn update(&self) -> Result<Option<Update>, Error> {
        self.update.as_deref().map(str::parse).transpose()
    }
}
