//! Where a task is from: what a table of settings says, or what a path turns out to be.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::error::{Error, SETTINGS, quote};
use super::{Task, documents, flat, handwriting, speech, tags, text, voice, wav};

/// Where a task is from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Lines of handwriting that are made.
    Handwriting(handwriting::Settings),
    /// Utterances that are made.
    Speech(speech::Settings),
    /// Texts that are read aloud, made.
    Voice(voice::Settings),
    /// Documents that are made.
    Documents(documents::Settings),
    /// Tagged sentences that are made.
    Tags(tags::Settings),
    /// A folder with one array and an index.
    Flat(Box<flat::Settings>),
    /// A folder of WAV files.
    Wav(wav::Settings),
    /// A text file, or a folder of them.
    Text(text::Settings),
}

/// Every kind of source, by its name.
pub const KINDS: [&str; 8] =
    ["handwriting", "speech", "voice", "documents", "tags", "flat", "wav", "text"];

/// Reads or makes the task, and checks it.
pub fn load(source: &Source) -> Result<Task, Error> {
    let task = match source {
        Source::Handwriting(settings) => handwriting::make(settings),
        Source::Speech(settings) => speech::make(settings),
        Source::Voice(settings) => voice::make(settings),
        Source::Documents(settings) => documents::make(settings),
        Source::Tags(settings) => tags::make(settings),
        Source::Flat(settings) => flat::load(settings)?,
        Source::Wav(settings) => wav::load(settings)?,
        Source::Text(settings) => text::load(settings)?,
    };
    task.check()?;
    Ok(task)
}

impl Source {
    /// What a table of settings says. `kind` is one of [`KINDS`]; without it the kind is what `path`
    /// turns out to be. Paths begin at `folder`, such as that of the file with the table.
    pub fn read(mut table: Table, folder: &Path) -> Result<Self, Error> {
        for name in ["path", "validation"] {
            if let Some(Value::String(path)) = table.get_mut(name) {
                *path = folder.join(&*path).to_string_lossy().into();
            }
        }
        let kind = match table.remove("kind") {
            Some(Value::String(kind)) => kind,
            Some(other) => {
                return Err(wrong(format!("`kind` is no text but {}", other.type_str())));
            }
            None => match table.get("path") {
                Some(Value::String(path)) => kind_of(Path::new(path))?.into(),
                _ => return Err(wrong("has neither `kind` nor `path`".into())),
            },
        };
        Ok(match kind.as_str() {
            "handwriting" => Self::Handwriting(settings(table)?),
            "speech" => Self::Speech(settings(table)?),
            "voice" => Self::Voice(settings(table)?),
            "documents" => Self::Documents(settings(table)?),
            "tags" => Self::Tags(settings(table)?),
            "flat" => Self::Flat(Box::new(settings(table)?)),
            "wav" => Self::Wav(settings(table)?),
            "text" => Self::Text(settings(table)?),
            _ => return Err(wrong(format!("there is no kind {}", quote(&kind)))),
        })
    }

    /// A kind by its name, or a path, with nothing more said about it.
    pub fn named(name: &str) -> Result<Self, Error> {
        let made = KINDS[..5].contains(&name);
        let key = if made { "kind" } else { "path" };
        let table = Table::from_iter([(key.to_owned(), Value::String(name.to_owned()))]);
        Self::read(table, &PathBuf::new())
    }
}

fn settings<T: DeserializeOwned>(table: Table) -> Result<T, Error> {
    table.try_into().map_err(|cause: toml::de::Error| {
        let message = cause.message().lines().collect::<Vec<_>>().join(" ");
        Error::new(message, "correct the settings of the data").within(SETTINGS)
    })
}

fn wrong(message: String) -> Error {
    let hint = format!("set `kind` to one of {}, or `path` to a folder or file", KINDS.join(", "));
    Error::new(message, hint).within(SETTINGS)
}

/// What a path turns out to be.
fn kind_of(path: &Path) -> Result<&'static str, Error> {
    let is = path.metadata().map_err(|cause| Error::io(path, &cause))?;
    if is.is_file() {
        let extension = path.extension().unwrap_or_default();
        return if extension == "tsv" || extension == "txt" {
            Ok("text")
        } else {
            Err(Error::new(
                "is a file of no kind that is known",
                "name a `.tsv` file or a folder, or set `kind`",
            )
            .in_file(path))
        };
    }
    if path.join(flat::INDEX).is_file() {
        Ok("flat")
    } else if path.join(text::TRAINING).is_file() {
        Ok("text")
    } else if wav::files(path)?.is_empty() {
        Err(Error::new(
            "has no `index.csv`, no `train.tsv` and no WAV files",
            "name a folder that has one of them, a `.tsv` file, or set `kind`",
        )
        .in_file(path))
    } else {
        Ok("wav")
    }
}
