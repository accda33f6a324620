//! A folder with all sequences in one array, and an index that says where each begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Task;
use super::draw::Part;
use super::error::{Error, count, quote, quote_all};
use super::npy::{self, Array};
use super::pieces::{Join, Piece, Plan};
use super::split::{HoldOut, Split};
use super::table::Table;

/// What to read of a folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The folder. Its `index.csv` has a line for each sequence: `offset`, its first row in the
    /// array, and `frames` or `points`, how many it has.
    pub path: PathBuf,
    /// The array of features, one row a position. When left out: the only `.npy` file but `labels`.
    #[serde(default)]
    pub features: Option<String>,
    /// The array of labels, one for each row of the features.
    #[serde(default)]
    pub labels: Option<String>,
    /// The columns of the index that say together what a sequence is.
    #[serde(default)]
    pub label: Columns,
    /// How many states a word has whose frames are to be labelled, from the training part alone. The word of a
    /// sequence is its `label`.
    #[serde(default)]
    pub align: Option<u32>,
    /// How labels are spelled, where they are not as they should be read. The letters of the words are then the
    /// input, and the frames the target. A label that is not here is spelled as it is.
    #[serde(default)]
    pub spell: Option<BTreeMap<String, String>>,
    /// The values of columns of the sequences to use; others are left out.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// Which sequences are in which part. When left out: `train` and `test` in the column `split`.
    #[serde(default)]
    pub split: Option<Split>,
    /// What is held out, in place of a split.
    #[serde(default)]
    pub hold_out: Option<HoldOut>,
    /// Sequences to put end to end as lines.
    #[serde(default)]
    pub join: Option<Join>,
    /// How many labels in a row are the states of one word.
    #[serde(default)]
    pub states: Option<u32>,
    /// Whether to bring features to mean 0 and variance 1, as they are in the training part.
    #[serde(default = "yes")]
    pub normalize: bool,
    /// Features that become differences from the row before, such as the places of a pen.
    #[serde(default)]
    pub difference: Vec<usize>,
    /// Of how many rows one is kept.
    #[serde(default = "one")]
    pub every: u32,
    /// A feature that marks rows which are always kept by a number other than 0, such as the ends of
    /// strokes.
    #[serde(default)]
    pub keep: Option<usize>,
    /// The features to use, by their places; all when left out.
    #[serde(default)]
    pub columns: Option<Vec<usize>>,
    /// Of what is drawn what is held out, and lines.
    #[serde(default)]
    pub seed: u64,
}

/// One column, or several whose values are put together with a slash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMore")]
pub struct Columns(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Columns {
    fn from(columns: OneOrMore) -> Self {
        match columns {
            OneOrMore::One(column) => Self(vec![column]),
            OneOrMore::More(columns) => Self(columns),
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// How many numbers there may be for each kind of label.
const GAPS: usize = 16;

/// One more than the highest label: a label beyond is a mistake, not a class.
const LABELS: f64 = 65536.0;

/// What the index of a folder is called.
pub(crate) const INDEX: &str = "index.csv";

/// The columns of the index that say what a sequence is; checks the settings that need no array.
fn targets(settings: &Settings, table: &Table) -> Result<Vec<usize>, Error> {
    let targets = settings.label.0.iter().map(|name| table.column(name));
    let targets = targets.collect::<Result<Vec<usize>, Error>>()?;
    if targets.is_empty() && settings.labels.is_none() {
        return Err(table.error(
            "it is not said what to learn",
            "set `label` to a column of the index, or `labels` to an array with a label for each row, in \
             [data] of an experiment file (in [task], where `path` is there)",
        ));
    }
    if settings.states == Some(0) {
        return Err(table.error("`states` is 0", "say how many states a word has"));
    }
    let made = [
        ("labels", settings.labels.is_some()),
        ("align", settings.align.is_some()),
        ("spell", settings.spell.is_some()),
    ];
    let made: Vec<&str> = made.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if let [one, other, ..] = made[..] {
        let message = format!("`{one}` and `{other}` each say what to learn");
        return Err(table.error(message, "leave one of them out"));
    }
    if settings.align == Some(0) || (settings.align.is_some() && settings.states.is_some()) {
        return Err(table.error(
            "`align` is 0, or `states` is there too",
            "set only `align`, to the number of states of a word, from 1",
        ));
    }
    if settings.split.is_some() && settings.hold_out.is_some() {
        return Err(table
            .error("`split` and `hold_out` each say what to examine on", "leave one of them out"));
    }
    if settings.every == 0 {
        return Err(table.error("`every` is 0", "say of how many rows one is kept, from 1"));
    }
    Ok(targets)
}

/// Reads the folder.
pub fn load(settings: &Settings) -> Result<Task, Error> {
    let folder = settings.path.as_path();
    let mut table = Table::read(&folder.join(INDEX))?;
    for (column, values) in &settings.only {
        table.keep(column, values)?;
    }
    let targets = targets(settings, &table)?;
    let group = settings.join.as_ref().map(|join| table.column(&join.by)).transpose()?;
    let parts = settings.parts(&table)?;
    let (file, features) = features(settings)?;
    let width = features.width.unwrap_or(1);
    settings.check_columns(width).map_err(|error| error.in_file(&file))?;
    let labels = settings.labels.as_ref().map(|name| labels(&folder.join(name), &features, name));
    let labels = labels.transpose()?;

    let (offset, length) = (table.column("offset")?, table.one_of(&["frames", "points"])?);
    let mut pieces = Vec::new();
    for (row, part) in parts.into_iter().enumerate() {
        let Some(part) = part else { continue };
        let rows = range(&table, row, [offset, length], &file, features.rows)?;
        let values = &features.values[rows.start * width..rows.end * width];
        finite(values, width).map_err(|error| error.about(&table, row).in_file(&file))?;
        let kept = settings.kept(values, width);
        if let Some(states) = settings.align.filter(|&states| kept.len() < states as usize) {
            return Err(table.wrong(
                row,
                format!(
                    "the sequence has {}, and a word has {states} states",
                    count(kept.len(), "frame")
                ),
                "leave the sequence out, or set `align` to fewer states",
            ));
        }
        let label = targets.iter().map(|&column| table.field(row, column)).collect::<Vec<_>>();
        if let Some(&column) = targets.iter().find(|&&column| table.field(row, column).is_empty()) {
            let name = quote(table.name(column));
            return Err(table.wrong(
                row,
                format!("column {name} is empty"),
                "give the sequence a label",
            ));
        }
        let labels: Vec<u32> = labels.as_ref().map_or_else(Vec::new, |labels| {
            kept.iter().map(|&at| labels[rows.start + at]).collect()
        });
        if let (Some(states), Some(name)) = (settings.states, &settings.labels) {
            one_word(&labels, states)
                .map_err(|error| error.about(&table, row).in_file(&folder.join(name)))?;
        }
        pieces.push(Piece {
            part,
            frames: settings.frames(values, width, &kept),
            labels,
            label: (!label.is_empty()).then(|| label.join("/")),
            group: group.map_or_else(String::new, |column| table.field(row, column).to_owned()),
        });
    }
    let plan = Plan {
        name: folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into()),
        source: folder.to_string_lossy().into(),
        width: settings.columns.as_ref().map_or(width, Vec::len),
        join: settings.join.clone(),
        states: settings.states.or(settings.align),
        align: settings.align,
        spell: settings.spell.clone(),
        normalize: settings.normalize,
        seed: settings.seed,
    };
    plan.assemble(pieces).map_err(|error| error.in_file(folder))
}

/// The rows of a sequence.
fn range(
    table: &Table,
    row: usize,
    [offset, length]: [usize; 2],
    file: &Path,
    rows: usize,
) -> Result<std::ops::Range<usize>, Error> {
    let (start, count) = (table.number(row, offset)?, table.number(row, length)?);
    if count == 0 {
        let name = quote(table.name(length));
        return Err(table.wrong(row, format!("column {name} is 0"), "leave out empty sequences"));
    }
    match start.checked_add(count) {
        Some(end) if end <= rows => Ok(start..end),
        _ => Err(table.wrong(
            row,
            format!(
                "the sequence is of {count} rows from row {start}, and {} has {rows}",
                quote(&file.to_string_lossy()),
            ),
            "correct the index, or save the whole array",
        )),
    }
}

/// The array of features, and where it is.
fn features(settings: &Settings) -> Result<(PathBuf, Array), Error> {
    let folder = settings.path.as_path();
    let file = match &settings.features {
        Some(name) => folder.join(name),
        None => the_only_array(folder, settings.labels.as_deref())?,
    };
    let array = npy::read(&file)?;
    if array.width.is_none_or(|width| width == 0) {
        let shape =
            array.width.map_or(format!("({},)", array.rows), |_| format!("({}, 0)", array.rows));
        return Err(Error::new(
            format!("the features have shape {shape}, not (rows, features)"),
            "save one row a position, one column a feature",
        )
        .in_file(&file));
    }
    Ok((file, array))
}

fn the_only_array(folder: &Path, labels: Option<&str>) -> Result<PathBuf, Error> {
    let entries = folder.read_dir().map_err(|cause| Error::io(folder, &cause))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "npy"))
        .filter(|name| Some(name.as_str()) != labels)
        .collect();
    names.sort_unstable();
    match &names[..] {
        [name] => Ok(folder.join(name)),
        [] => Err(Error::new("holds no `.npy` file of features", "check the path").in_file(folder)),
        _ => Err(Error::new(
            format!("holds several arrays: {}", quote_all(names.iter().map(String::as_str))),
            "set `features` to one of them, and `labels` to another if it has a label for each row",
        )
        .in_file(folder)),
    }
}

/// A label for each row.
fn labels(file: &Path, features: &Array, name: &str) -> Result<Vec<u32>, Error> {
    let array = npy::read(file)?;
    let wrong = |message: String, hint: &str| Err(Error::new(message, hint).in_file(file));
    if !array.whole || array.width.is_some_and(|width| width != 1) {
        return wrong(
            format!("{} does not hold one whole number a row", quote(name)),
            "save labels as an array of shape (rows,), such as `labels.astype(\"int32\")`",
        );
    }
    if array.rows != features.rows {
        return wrong(
            format!(
                "has {}, and the features {}",
                count(array.rows, "label"),
                count(features.rows, "row")
            ),
            "give every row one label",
        );
    }
    if let Some(row) = array.values.iter().position(|label| !(0.0..LABELS).contains(label)) {
        return wrong(
            format!("row {row} has label {}, and labels are from 0 to 65535", array.values[row]),
            "number the labels from 0",
        );
    }
    let labels: Vec<u32> = array.values.iter().map(|&label| label as u32).collect();
    // A label far beyond the others is a mistake, and would make a model of that many outputs.
    let mut kinds = labels.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let highest = kinds.last().copied().unwrap_or(0);
    if highest as usize > GAPS * kinds.len() {
        let row = labels.iter().position(|&label| label == highest).unwrap_or(0);
        return wrong(
            format!("row {row} has label {highest}, and there are {} kinds of labels", kinds.len()),
            "number the labels from 0 without gaps",
        );
    }
    Ok(labels)
}

/// The labels of a sequence are the states of one word.
fn one_word(labels: &[u32], states: u32) -> Result<(), Error> {
    let word = labels[0] / states;
    labels.iter().position(|label| label / states != word).map_or(Ok(()), |row| {
        let label = labels[row];
        Err(Error::new(
            format!(
                "begins with word {word} and has label {label} at frame {row}, of word {}",
                label / states
            ),
            format!("give each sequence the {states} states of one word, or correct `states`"),
        ))
    })
}

fn finite(values: &[f64], width: usize) -> Result<(), Error> {
    let beyond = |value: &f64| !(*value as f32).is_finite();
    values.iter().position(beyond).map_or(Ok(()), |at| {
        Err(Error::new(
            format!("has {:?} at frame {}, feature {}", values[at], at / width, at % width),
            "compute the features again without it, or leave the sequence out",
        ))
    })
}

impl Error {
    /// The same about the sequence of a row of the index.
    fn about(self, table: &Table, row: usize) -> Self {
        let id = table.find("id").map(|column| format!(" ({})", quote(table.field(row, column))));
        let (place, id) = (table.place(row), id.unwrap_or_default());
        let message = format!("sequence {place}{id} {}", self.said());
        Error::new(message, self.hint())
    }
}

impl Settings {
    /// The part of every sequence.
    fn parts(&self, table: &Table) -> Result<Vec<Option<Part>>, Error> {
        let Some(hold_out) = &self.hold_out else {
            return self.split.clone().unwrap_or_default().parts(table);
        };
        let parts = hold_out.parts(self.seed, table.len(), |by| table.values(by));
        parts.map_err(|error| error.in_file(&self.path.join(INDEX)))
    }

    fn check_columns(&self, width: usize) -> Result<(), Error> {
        let used = [("difference", Some(&self.difference)), ("columns", self.columns.as_ref())];
        let used = used.into_iter().flat_map(|(name, columns)| {
            columns.into_iter().flatten().map(move |&column| (name, column))
        });
        for (name, column) in used.chain(self.keep.map(|column| ("keep", column))) {
            if column >= width {
                let last = width - 1;
                return Err(Error::new(
                    format!("`{name}` names feature {column}, and features are from 0 to {last}"),
                    "count features from 0",
                ));
            }
        }
        if self.columns.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::new("`columns` is empty", "name a feature, or leave it out"));
        }
        Ok(())
    }

    /// The rows of a sequence that are kept: every so many, the last, and those that are marked.
    fn kept(&self, values: &[f64], width: usize) -> Vec<usize> {
        let (rows, every) = (values.len() / width, self.every as usize);
        let marked = |row: usize| self.keep.is_some_and(|mark| values[row * width + mark] != 0.0);
        (0..rows).filter(|&row| row % every == 0 || row + 1 == rows || marked(row)).collect()
    }

    /// The features of the rows that are kept.
    fn frames(&self, values: &[f64], width: usize, kept: &[usize]) -> Vec<f32> {
        let all: Vec<usize> = (0..width).collect();
        let columns = self.columns.as_ref().unwrap_or(&all);
        let mut frames = Vec::with_capacity(kept.len() * columns.len());
        for (place, &row) in kept.iter().enumerate() {
            let before = kept[place.saturating_sub(1)];
            frames.extend(columns.iter().map(|&column| {
                let value = values[row * width + column];
                let from = if self.difference.contains(&column) {
                    values[before * width + column]
                } else {
                    0.0
                };
                (value - from) as f32
            }));
        }
        frames
    }
}
