//! Experiments as files: a task, a model, and several ways to batch.

use std::path::Path;

use lengthwise::{Arrange, Budget, Planner, Shapes, Strategy};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IgnoredAny},
};
use toml::{Spanned, Table, Value};

use crate::{
    collective::{Mode, Together},
    data::{Source, Task, count, load},
    error::Error,
    learning::Learning,
    model::Size,
};

/// The experiments of the papers, which need no file: their names and what they say.
pub const EXPERIMENTS: [(&str, &str); 9] = [
    ("handwriting", include_str!("../experiments/handwriting.toml")),
    ("paper1-table1", include_str!("../experiments/paper1-table1.toml")),
    ("paper1-table2", include_str!("../experiments/paper1-table2.toml")),
    ("paper2-table2", include_str!("../experiments/paper2-table2.toml")),
    ("paper3-fig3", include_str!("../experiments/paper3-fig3.toml")),
    ("paper3-fig5", include_str!("../experiments/paper3-fig5.toml")),
    ("note4", include_str!("../experiments/note4.toml")),
    ("tags", include_str!("../experiments/tags.toml")),
    ("workers", include_str!("../experiments/workers.toml")),
];

/// An experiment: a model is trained on a task under several ways to batch, from several seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What it is, in a line.
    pub title: String,
    /// What a reader must know to judge the numbers, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What is learnt, where no data is given: see [`Source::read`].
    pub task: Table,
    /// How data that is given is read: the same without a path.
    #[serde(default)]
    pub data: Table,
    /// How often all sequences are seen.
    pub epochs: u32,
    /// Where parameters and plans begin; each run is trained from each.
    #[serde(default = "first_seed")]
    pub seeds: Vec<u64>,
    /// How large the model is.
    #[serde(default)]
    pub model: Size,
    /// How it learns.
    #[serde(default)]
    pub learning: Learning,
    /// How batches are made where a run does not say.
    pub batches: Batches,
    /// How many workers learn together, and how, where a run does not say.
    #[serde(default)]
    pub together: Together,
    /// Up to how many workers an epoch is computed from the plan and measured steps; 0 for none.
    #[serde(default)]
    pub scaling: u32,
    /// The ways to batch; others are compared with the first.
    #[serde(rename = "run")]
    pub runs: Vec<Run>,
    /// Runs that are set against each other, besides all against the first: from one to the other.
    #[serde(default)]
    pub pairs: Vec<(String, String)>,
    /// Where `[task]` and `[data]` are: the file and the line.
    #[serde(skip)]
    places: [String; 2],
}

/// The tables of an experiment whose settings are read later.
#[derive(Deserialize)]
struct Tables {
    task: Spanned<IgnoredAny>,
    data: Option<Spanned<IgnoredAny>>,
}

fn first_seed() -> Vec<u64> {
    vec![1]
}

/// Something of the planner, by its string form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<T>(pub T);

impl<T: std::fmt::Display> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T> Deserialize<'de> for Named<T>
where
    T: std::str::FromStr<Err = lengthwise::Error>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error: lengthwise::Error| {
            de::Error::custom(match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            })
        })
    }
}

/// How batches are made. What a run does not say is as for all, and what nobody says is exact shapes, and
/// batches spread over the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Batches {
    /// Which sequences come together.
    pub strategy: Option<Named<Strategy>>,
    /// What no batch exceeds.
    pub budget: Option<Named<Budget>>,
    /// Which lengths batches may have.
    pub shapes: Option<Named<Shapes>>,
    /// In which order batches come.
    pub arrange: Option<Named<Arrange>>,
    /// How long pieces are that sequences are cut into.
    pub chunk: Option<u32>,
}

/// One way to batch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "RunTable")]
pub struct Run {
    /// What it is called in tables.
    pub name: String,
    /// Its place in the file, from 1.
    pub number: usize,
    /// How its batches are made.
    pub batches: Batches,
    /// How many workers learn together, and how.
    pub together: Together,
}

/// A run as it is written. Its settings stand beside its name, and serde would not refuse unknown ones
/// in a flattened struct.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    name: String,
    strategy: Option<Named<Strategy>>,
    budget: Option<Named<Budget>>,
    shapes: Option<Named<Shapes>>,
    arrange: Option<Named<Arrange>>,
    chunk: Option<u32>,
    workers: Option<u32>,
    mode: Option<Mode>,
}

impl From<RunTable> for Run {
    fn from(table: RunTable) -> Self {
        let RunTable { name, strategy, budget, shapes, arrange, chunk, workers, mode } = table;
        Self {
            name,
            number: 0,
            batches: Batches { strategy, budget, shapes, arrange, chunk },
            together: Together { workers, mode },
        }
    }
}

/// One training of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The run's name.
    pub name: String,
    /// Where parameters and plans begin.
    pub seed: u64,
    /// Makes its plans.
    pub planner: Planner<Strategy>,
    /// How long pieces are.
    pub chunk: Option<u32>,
    /// How batches are made, for people.
    pub settings: String,
    /// How many workers learn together.
    pub workers: usize,
    /// How they do so.
    pub mode: Mode,
}

impl Trained {
    /// How batches are made, and what follows from them, for records: the number of workers may change.
    pub fn recorded(&self) -> String {
        match self.mode {
            Mode::Sync => self.settings.clone(),
            mode @ Mode::Average { .. } => format!("{}, {mode}", self.settings),
        }
    }

    /// How batches are made, and who learns from them, for people.
    pub fn described(&self) -> String {
        let Self { settings, workers, mode, .. } = self;
        match (workers, mode) {
            (1, Mode::Sync) => settings.clone(),
            _ => format!("{settings}, {} {mode}", count(*workers, "worker")),
        }
    }
}

/// More workers than anybody starts, of which a few thousand threads can be made.
const WORKERS: u32 = 4096;

impl Experiment {
    /// Reads an experiment; `name` is where it is from, for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let wrong = |what: String, hint: &str| Error::new(format!("{name}: {what}"), hint);
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let refuse = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| line(span.start));
            Error::new(
                format!("{name}:{line}: {}", error.message().trim().replace('\n', "; ")),
                "`lengthwise-lab show` prints experiments that can be run, to begin from",
            )
        };
        let mut experiment: Self = toml::from_str(text).map_err(refuse)?;
        let tables: Tables = toml::from_str(text).map_err(refuse)?;
        let task = tables.task.span().start;
        let data = tables.data.map_or(0, |table| table.span().start);
        experiment.places = [task, data].map(|at| format!("{name}:{}", line(at)));
        for (run, number) in experiment.runs.iter_mut().zip(1..) {
            run.number = number;
        }
        if experiment.runs.iter().any(|run| run.name.trim().is_empty()) {
            return Err(wrong("a run has an empty name".into(), "say what to call it in tables"));
        }
        if experiment.runs.is_empty() {
            return Err(wrong("there is nothing to run".into(), "give it a [[run]]"));
        }
        if experiment.seeds.is_empty() || experiment.epochs == 0 {
            return Err(wrong("seeds and epochs are from 1".into(), "say for example seeds = [1]"));
        }
        for (at, run) in experiment.runs.iter().enumerate() {
            if experiment.runs[..at].iter().any(|other| other.name == run.name) {
                let what = format!("two runs are called {:?}", run.name);
                return Err(wrong(what, "give each a name of its own"));
            }
        }
        let unknown = |name: &&String| !experiment.runs.iter().any(|run| run.name == **name);
        let names = experiment.pairs.iter().flat_map(|(from, to)| [from, to]);
        if let Some(name) = names.into_iter().find(unknown) {
            let what = format!("`pairs` has {name:?}, and no run is called that");
            return Err(wrong(what, "give names of runs, as [from, to]"));
        }
        experiment.model.check().map_err(|error| error.within(name))?;
        let learning = &experiment.learning;
        let fine = learning.rate > 0.0
            && learning.rate.is_finite()
            && learning.clip >= 0.0
            && (0.0..1.0).contains(&learning.warmup);
        if !fine {
            return Err(wrong(
                "a rate, a clip or a warmup out of range".into(),
                "rate is above 0, clip from 0, and warmup a share from 0 to below 1",
            ));
        }
        if experiment.scaling > WORKERS {
            let what = format!("`scaling` is {}", experiment.scaling);
            return Err(wrong(what, &format!("give at most {WORKERS} workers")));
        }
        experiment.trainings().map_err(|error| error.within(name))?;
        Ok(experiment)
    }

    /// What is learnt, checked: from `data`, or as the experiment says. Paths of the experiment begin at
    /// `folder`.
    pub fn task(&self, data: Option<&Path>, folder: &Path) -> Result<Task, Error> {
        let [task, given] = &self.places;
        let (place, source) = match data {
            Some(path) => {
                let mut table = self.data.clone();
                let path = path.to_string_lossy().into_owned();
                table.insert("path".to_owned(), Value::String(path));
                (given, Source::read(table, Path::new("")))
            }
            None => (task, Source::read(self.task.clone(), folder)),
        };
        let source = source.map_err(|error| {
            let settings = error.is_of_settings();
            let error = Error::from(error);
            if settings { error.within(place) } else { error }
        })?;
        Ok(load(&source)?)
    }

    /// The budget that examinations use: that of all runs, or of the first.
    pub fn budget(&self) -> Budget {
        let of = |batches: &Batches| batches.budget.as_ref().map(|named| named.0);
        let first = self.runs.first().and_then(|run| of(&run.batches));
        of(&self.batches).or(first).unwrap_or(Budget::sequences(16))
    }

    /// All trainings: every run from every seed, the runs of a seed one after another.
    pub fn trainings(&self) -> Result<Vec<Trained>, Error> {
        let mut all = Vec::new();
        for (at, &seed) in self.seeds.iter().enumerate() {
            if self.seeds[..at].contains(&seed) {
                return Err(Error::new(
                    format!("the seed {seed} is given twice"),
                    "give every seed once: the same training again tells nothing of chance",
                ));
            }
            for run in &self.runs {
                all.push(self.training(run, seed)?);
            }
        }
        Ok(all)
    }

    fn training(&self, run: &Run, seed: u64) -> Result<Trained, Error> {
        let (own, all) = (&run.batches, &self.batches);
        let missing = |what: &str| {
            Error::new(
                format!("the run {:?} has no {what}", run.name),
                format!(
                    "say it in its [[run]] or in [batches], such as {what} = {}",
                    match what {
                        "strategy" => "\"shuffled\"",
                        _ => "\"sequences:16\"",
                    }
                ),
            )
        };
        let strategy = own.strategy.clone().or_else(|| all.strategy.clone());
        let strategy = strategy.ok_or_else(|| missing("strategy"))?.0;
        if matches!(strategy, Strategy::Packed(_)) {
            return Err(Error::new(
                format!("the run {:?} packs several sequences into a row", run.name),
                "the models here have a row for each sequence: give another `strategy`",
            ));
        }
        let budget = own.budget.or(all.budget).ok_or_else(|| missing("budget"))?.0;
        let shapes = own.shapes.clone().or_else(|| all.shapes.clone()).map(|named| named.0);
        let shapes = shapes.unwrap_or_default();
        let arrange = own.arrange.or(all.arrange).map(|named| named.0).unwrap_or_default();
        let chunk = own.chunk.or(all.chunk);
        if chunk == Some(0) {
            return Err(Error::new("chunks are from 1", "leave `chunk` out for whole sequences"));
        }
        let (own, all) = (run.together, self.together);
        let (workers, mode) = (own.workers.or(all.workers).unwrap_or(1), own.mode.or(all.mode));
        if !(1..=WORKERS).contains(&workers) {
            return Err(Error::new(
                format!("the run {:?} has {workers} workers", run.name),
                format!("give it from 1 to {WORKERS}"),
            ));
        }
        let pieces = chunk.map_or_else(String::new, |size| format!(" chunks of {size}"));
        let settings = format!("{strategy} {budget} {shapes} {arrange}{pieces}");
        let planner = Planner::new(strategy, budget).shapes(shapes).arrange(arrange).seed(seed);
        let (name, workers) = (run.name.clone(), workers as usize);
        let mode = mode.unwrap_or_default();
        Ok(Trained { name, seed, planner, chunk, settings, workers, mode })
    }
}
