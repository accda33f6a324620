//! A folder of WAV files, each of which says one thing.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Task;
use super::draw::Part;
use super::error::{Error, count, quote};
use super::mfcc::{COEFFICIENTS, Mfcc};
use super::pieces::{Join, Piece, Plan};
use super::split::{HoldOut, Split};
use super::table::Table;

/// What to read of a folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The folder. With a `labels.csv` it holds the columns `file` and `label`, and any others.
    /// Without one, the label of `7_jackson_0.wav` is `7`.
    pub path: PathBuf,
    /// Which files are in which part, by a column of `labels.csv`.
    #[serde(default)]
    pub split: Option<Split>,
    /// How much is held out to be examined on, where there is no split.
    #[serde(default = "a_fifth")]
    pub hold_out: HoldOut,
    /// Recordings to put end to end as lines. Without a `labels.csv`, `speaker` is what follows the
    /// label in the name of a file.
    #[serde(default)]
    pub join: Option<Join>,
    /// Whether to bring features to mean 0 and variance 1, as they are in the training part.
    #[serde(default = "yes")]
    pub normalize: bool,
    /// Of what is drawn what is held out, and lines.
    #[serde(default)]
    pub seed: u64,
}

fn a_fifth() -> HoldOut {
    HoldOut::Share(0.2)
}

fn yes() -> bool {
    true
}

/// What the labels of a folder are called.
const LABELS: &str = "labels.csv";

/// A file and what is known of it.
struct Recording {
    file: PathBuf,
    label: String,
    group: String,
    part: Option<Part>,
}

/// Reads the folder.
pub fn load(settings: &Settings) -> Result<Task, Error> {
    let folder = settings.path.as_path();
    let recordings = if folder.join(LABELS).is_file() {
        settings.by_table(&Table::read(&folder.join(LABELS))?)?
    } else {
        settings.by_names()?
    };
    let mut first: Option<(u32, PathBuf, Mfcc)> = None;
    let mut pieces = Vec::new();
    for Recording { file, label, group, part } in recordings {
        let Some(part) = part else { continue };
        let (rate, samples) = samples(&file)?;
        let (known, other, mfcc) =
            first.get_or_insert_with(|| (rate, file.clone(), Mfcc::new(rate)));
        if *known != rate {
            let other = quote(&other.to_string_lossy());
            return Err(Error::new(
                format!("has {rate} samples a second, and {other} has {known}"),
                "convert all files to one rate",
            )
            .in_file(&file));
        }
        if samples.len() < mfcc.shortest() {
            return Err(Error::new(
                format!(
                    "has {}, and a frame needs {}",
                    count(samples.len(), "sample"),
                    mfcc.shortest()
                ),
                "leave the file out",
            )
            .in_file(&file));
        }
        let frames = mfcc.compute(&samples);
        pieces.push(Piece { part, frames, labels: Vec::new(), label: Some(label), group });
    }
    let plan = Plan {
        name: folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into()),
        source: folder.to_string_lossy().into(),
        width: COEFFICIENTS,
        join: settings.join.clone(),
        states: None,
        align: None,
        spell: None,
        normalize: settings.normalize,
        seed: settings.seed,
    };
    plan.assemble(pieces).map_err(|error| error.in_file(folder))
}

/// The WAV files of a folder, sorted by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = folder.read_dir().map_err(|cause| Error::io(folder, &cause))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| {
            Path::new(name).extension().is_some_and(|ext| ext.eq_ignore_ascii_case("wav"))
        })
        .collect();
    names.sort_unstable();
    Ok(names)
}

impl Settings {
    fn by_table(&self, table: &Table) -> Result<Vec<Recording>, Error> {
        let (file, label) = (table.column("file")?, table.column("label")?);
        let group = self.join.as_ref().map(|join| table.column(&join.by)).transpose()?;
        // A column `split` counts even if no setting names it.
        let split = self.split.clone().or_else(|| table.find("split").map(|_| Split::default()));
        let parts = match split {
            Some(split) => split.parts(table)?,
            None => self.held_out(table.len(), |by| table.values(by))?,
        };
        let recordings = parts.into_iter().enumerate().map(|(row, part)| {
            let path = self.path.join(table.field(row, file));
            if !path.is_file() {
                let name = quote(table.field(row, file));
                return Err(table.wrong(
                    row,
                    format!("there is no file {name}"),
                    "correct the name, or copy the file",
                ));
            }
            if table.field(row, label).is_empty() {
                return Err(table.wrong(row, "column `label` is empty", "give the file a label"));
            }
            let group = group.map_or_else(String::new, |group| table.field(row, group).to_owned());
            Ok(Recording { file: path, label: table.field(row, label).to_owned(), group, part })
        });
        recordings.collect()
    }

    fn by_names(&self) -> Result<Vec<Recording>, Error> {
        let folder = self.path.as_path();
        let wrong = |message: String, hint: &str| Error::new(message, hint).in_file(folder);
        let names = files(folder)?;
        if names.is_empty() {
            return Err(wrong("holds no WAV files".into(), "check the path"));
        }
        if self.split.is_some() {
            return Err(wrong(
                format!("has no `{LABELS}`, and `split` needs a column of it"),
                "write the file, or leave out `split`",
            ));
        }
        if let Some(join) = self.join.as_ref().filter(|join| join.by != "speaker") {
            return Err(wrong(
                format!("has no `{LABELS}`, and `join` needs its column {}", quote(&join.by)),
                "write the file, or join by `speaker`",
            ));
        }
        let parts = self.held_out(names.len(), |by| {
            if by == "speaker" {
                return Ok(names.iter().map(|name| speaker(name)).collect());
            }
            Err(wrong(
                format!("has no `{LABELS}`, and `hold_out` needs its column {}", quote(by)),
                "write the file, or hold out by `speaker`",
            ))
        })?;
        let recordings = names.iter().zip(parts).map(|(name, part)| {
            let label = name.split(['_', '.']).next();
            let label = label.filter(|label| !label.is_empty() && name.contains('_'));
            let Some(label) = label else {
                return Err(wrong(
                    format!("the name {} has no label before its first `_`", quote(name)),
                    "call files such as `7_jackson_0.wav`, or write a `labels.csv` with `file,label`",
                ));
            };
            let group = speaker(name).to_owned();
            Ok(Recording { file: folder.join(name), label: label.to_owned(), group, part })
        });
        recordings.collect()
    }

    fn held_out<'a>(
        &self,
        sequences: usize,
        column: impl Fn(&str) -> Result<Vec<&'a str>, Error>,
    ) -> Result<Vec<Option<Part>>, Error> {
        let parts = self.hold_out.parts(self.seed, sequences, column);
        parts.map_err(|error| error.in_file(&self.path))
    }
}

/// What follows the label in the name of a file.
fn speaker(name: &str) -> &str {
    name.split(['_', '.']).nth(1).unwrap_or_default()
}

/// The rate and the samples of a file, from -1 to 1; the mean where there are several channels.
fn samples(file: &Path) -> Result<(u32, Vec<f64>), Error> {
    let refuse = |cause: hound::Error| match cause {
        hound::Error::IoError(cause) => Error::io(file, &cause),
        cause => Error::new(
            format!("is not a WAV file that can be read: {}", cause.to_string().to_lowercase()),
            "save it as PCM or floats",
        )
        .in_file(file),
    };
    let mut reader = hound::WavReader::open(file).map_err(refuse)?;
    let spec = reader.spec();
    if spec.sample_rate < 1000 {
        return Err(Error::new(
            format!("has {} samples a second", spec.sample_rate),
            "record it with at least 1000",
        )
        .in_file(file));
    }
    let all: Vec<f64> = match spec.sample_format {
        hound::SampleFormat::Float => {
            let samples = reader.samples::<f32>().map(|sample| sample.map(f64::from));
            samples.collect::<Result<_, _>>().map_err(refuse)?
        }
        hound::SampleFormat::Int => {
            let full = f64::from(1_u32 << (spec.bits_per_sample.clamp(1, 32) - 1));
            let samples = reader.samples::<i32>().map(|sample| Ok(f64::from(sample?) / full));
            samples.collect::<Result<_, _>>().map_err(refuse)?
        }
    };
    if let Some(at) = all.iter().position(|sample| !sample.is_finite()) {
        return Err(
            Error::new(format!("sample {at} is {}", all[at]), "record it again").in_file(file)
        );
    }
    let channels = usize::from(spec.channels.max(1));
    let mixed = all
        .chunks_exact(channels)
        .map(|channels| channels.iter().sum::<f64>() / channels.len() as f64);
    Ok((spec.sample_rate, mixed.collect()))
}
