//! Texts: tagged sentences, tagged documents, or documents with a class.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, str};

use serde::Deserialize;

use super::draw::Part;
use super::error::{Error, count, quote};
use super::split::held_out;
use super::{Dataset, Inputs, Ragged, Targets, Task};

/// What to read of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The file to learn from, or a folder with [`TRAINING`] and perhaps one of [`VALIDATION`].
    pub path: PathBuf,
    /// The file to be examined on. When left out, that of the folder; when there is none, a share of the other.
    #[serde(default)]
    pub validation: Option<PathBuf>,
    /// How much is held out to be examined on, where there is no second file.
    #[serde(default = "a_tenth")]
    pub hold_out: f64,
    /// Of what it is drawn.
    #[serde(default)]
    pub seed: u64,
    /// What a sequence is, and what is to be said about it.
    #[serde(default)]
    pub form: Form,
    /// How often a word must be in the training part to be known.
    #[serde(default = "two")]
    pub least: u32,
    /// Whether words are the same in small and capital letters.
    #[serde(default = "yes")]
    pub lowercase: bool,
}

/// What a sequence is, and what is to be said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Lines of `word<TAB>tag`, with a blank line between sentences: the tag of every word.
    #[default]
    Sentences,
    /// The same, with a line `#doc<TAB>class<TAB>id` where a document begins: the tag of every word
    /// of a document.
    Documents,
    /// The same: the class of a document.
    Classes,
    /// Lines of `class<TAB>text`: the class of the line.
    Lines,
}

fn a_tenth() -> f64 {
    0.1
}

fn two() -> u32 {
    2
}

fn yes() -> bool {
    true
}

/// The file of a folder to learn from.
pub const TRAINING: &str = "train.tsv";
/// The files of a folder to be examined on: the first that is there.
pub const VALIDATION: [&str; 4] = ["dev.tsv", "valid.tsv", "validation.tsv", "test.tsv"];

/// The word for all that are not known.
pub const UNKNOWN: &str = "<unknown>";

/// A sentence, a document or a line.
struct Unit<'a> {
    line: u64,
    class: &'a str,
    words: Vec<&'a str>,
    tags: Vec<&'a str>,
}

/// Reads the file, and the one to be examined on.
pub fn load(settings: &Settings) -> Result<Task, Error> {
    if settings.path.is_dir() {
        let task = load(&settings.of_folder())?;
        let name = settings.path.file_name();
        let name = name.map_or(task.name, |name| name.to_string_lossy().into());
        return Ok(Task { name, source: settings.path.to_string_lossy().into(), ..task });
    }
    if !(0.0..1.0).contains(&settings.hold_out) {
        let message = format!("`hold_out` is {}", settings.hold_out);
        let hint = "say what share to hold out, from 0 up to 1";
        return Err(Error::new(message, hint).in_file(&settings.path));
    }
    let text = slurp(&settings.path)?;
    let other = settings.validation.as_deref().map(slurp).transpose()?;
    let mut training = settings.units(&text).map_err(|error| error.in_file(&settings.path))?;
    let (path, validation) = match (&settings.validation, &other) {
        (Some(path), Some(text)) => {
            (path, settings.units(text).map_err(|error| error.in_file(path))?)
        }
        _ => (&settings.path, settings.hold_out(&mut training)?),
    };
    let vocabulary = settings.vocabulary(&training);
    let names = settings.names(&training);
    let [training, validation] =
        [(&settings.path, training), (path, validation)].map(|(path, units)| {
            settings.dataset(&units, &vocabulary, &names).map_err(|error| error.in_file(path))
        });
    let task = Task {
        name: settings
            .path
            .file_stem()
            .map_or_else(String::new, |name| name.to_string_lossy().into()),
        source: settings.path.to_string_lossy().into(),
        training: training?,
        validation: validation?,
    };
    task.check()?;
    Ok(task)
}

fn slurp(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|cause| Error::io(path, &cause))?;
    String::from_utf8(bytes).map_err(|cause| {
        let right = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = right.split(|&byte| byte == b'\n').count() as u64;
        Error::new("the line is not valid UTF-8", "save the file as UTF-8 text")
            .in_file(path)
            .at(line)
    })
}

impl Settings {
    /// The same for the files of the folder.
    fn of_folder(&self) -> Self {
        let mut files = VALIDATION.iter().map(|name| self.path.join(name));
        let validation = self.validation.clone().or_else(|| files.find(|file| file.is_file()));
        Self { path: self.path.join(TRAINING), validation, ..self.clone() }
    }

    fn units<'a>(&self, text: &'a str) -> Result<Vec<Unit<'a>>, Error> {
        let units = match self.form {
            Form::Lines => lines(text)?,
            form => tagged(text, form)?,
        };
        if units.is_empty() {
            return Err(Error::new("holds no words", "check the path, and what `form` it has"));
        }
        Ok(units)
    }

    /// Takes out what is held out.
    fn hold_out<'a>(&self, units: &mut Vec<Unit<'a>>) -> Result<Vec<Unit<'a>>, Error> {
        let parts = held_out(self.hold_out, self.seed, units.len());
        let whole = units.len();
        let mut parts = parts.into_iter();
        let out: Vec<Unit<'a>> =
            units.extract_if(.., |_| parts.next() == Some(Some(Part::Validation))).collect();
        if out.is_empty() || units.is_empty() {
            let part = if out.is_empty() { Part::Validation } else { Part::Training };
            return Err(Error::new(
                format!(
                    "the {} part is empty: of {} a share of {} was held out",
                    part.name(),
                    count(whole, "sequence"),
                    self.hold_out
                ),
                "set `validation` to another file, or change `hold_out` or `seed`",
            )
            .in_file(&self.path));
        }
        Ok(out)
    }

    fn word(&self, word: &str) -> String {
        if self.lowercase { word.to_lowercase() } else { word.to_owned() }
    }

    /// The words that are known: what is not, then those of the training part in their order.
    fn vocabulary(&self, units: &[Unit]) -> Vocabulary {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for word in units.iter().flat_map(|unit| &unit.words) {
            *counts.entry(self.word(word)).or_default() += 1;
        }
        let known = counts.into_iter().filter(|&(_, count)| count >= self.least);
        let names = std::iter::once(UNKNOWN.to_owned()).chain(known.map(|(word, _)| word));
        Vocabulary::new(names.collect())
    }

    /// The tags or the classes.
    fn names(&self, units: &[Unit]) -> Vocabulary {
        let mut names: Vec<String> = match self.form {
            Form::Sentences | Form::Documents => {
                units.iter().flat_map(|unit| &unit.tags).map(|&tag| tag.to_owned()).collect()
            }
            Form::Classes | Form::Lines => units.iter().map(|unit| unit.class.to_owned()).collect(),
        };
        names.sort_unstable();
        names.dedup();
        Vocabulary::new(names)
    }

    fn dataset(
        &self,
        units: &[Unit],
        vocabulary: &Vocabulary,
        names: &Vocabulary,
    ) -> Result<Dataset, Error> {
        let mut inputs = Ragged::new(1);
        for unit in units {
            let place = |word: &&str| vocabulary.place(&self.word(word)).unwrap_or(0);
            inputs.push(unit.words.iter().map(place));
        }
        let strange = |what: &str, name: &str, unit: &Unit| {
            Error::new(
                format!("the {what} {} is not in the training part", quote(name)),
                format!("correct the {what}, or learn from more"),
            )
            .at(unit.line)
        };
        let targets = match self.form {
            Form::Sentences | Form::Documents => {
                let mut values = Ragged::new(1);
                for unit in units {
                    let places = unit
                        .tags
                        .iter()
                        .map(|tag| names.place(tag).ok_or_else(|| strange("tag", tag, unit)));
                    values.push(places.collect::<Result<Vec<u32>, Error>>()?);
                }
                Targets::Labels { names: names.names.clone(), values, words: None }
            }
            Form::Classes | Form::Lines => {
                let places = units.iter().map(|unit| {
                    names.place(unit.class).ok_or_else(|| strange("class", unit.class, unit))
                });
                let values = places.collect::<Result<Vec<u32>, Error>>()?;
                Targets::Classes { names: names.names.clone(), values }
            }
        };
        let inputs = Inputs::Symbols { names: vocabulary.names.clone(), values: inputs };
        Ok(Dataset { inputs, targets })
    }
}

/// Names and their places.
struct Vocabulary {
    names: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Vocabulary {
    fn new(names: Vec<String>) -> Self {
        let places = names.iter().cloned().zip(0..).collect();
        Self { names, places }
    }

    fn place(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }
}

/// Documents of one line: a class, a tab and words.
fn lines(text: &str) -> Result<Vec<Unit<'_>>, Error> {
    let mut units = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((class, text)) = line.split_once('\t') else {
            return Err(Error::new(
                format!("{} has no tab", quote(line)),
                "write `class<TAB>text` on every line, or set another `form`",
            )
            .at(number));
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return Err(Error::new("the text has no words", "leave the line out").at(number));
        }
        units.push(Unit { line: number, class: class.trim(), words, tags: Vec::new() });
    }
    Ok(units)
}

/// Sentences or documents of tagged words.
fn tagged(text: &str, form: Form) -> Result<Vec<Unit<'_>>, Error> {
    let mut units: Vec<Unit> = Vec::new();
    // Whether the next word begins a sequence, and of what class it is.
    let (mut fresh, mut class) = (true, None);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            fresh |= form == Form::Sentences;
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["#doc", name, ..] => (fresh, class) = (true, Some(name)),
            [word, tag] if !word.trim().is_empty() && !tag.trim().is_empty() => {
                if class.is_none() && form != Form::Sentences {
                    return Err(Error::new(
                        format!("{} is in no document", quote(word)),
                        "begin with a line `#doc<TAB>class<TAB>id`, or set `form` to `sentences`",
                    )
                    .at(number));
                }
                if fresh {
                    let class = class.unwrap_or_default();
                    units.push(Unit { line: number, class, words: Vec::new(), tags: Vec::new() });
                    fresh = false;
                }
                if let Some(unit) = units.last_mut() {
                    unit.words.push(word);
                    unit.tags.push(tag);
                }
            }
            _ => {
                return Err(Error::new(
                    format!("{} is not a word, a tab and a tag", quote(line)),
                    "write `word<TAB>tag`, a blank line after a sentence, and `#doc<TAB>class<TAB>id`",
                )
                .at(number));
            }
        }
    }
    Ok(units)
}
