//! Experiments as files: a task, a model, and several ways to batch.

use std::{fmt::Write as _, path::Path};

use lengthwise::{
    Arrange, Budget, Chunks, Planner, Settings, Shapes, Strategy, Update,
    tune::{Wanted, recommend},
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IgnoredAny},
};
use toml::{Spanned, Table, Value};

use crate::{
    collective::{Mode, Together},
    data::{Source, Task, count, load},
    error::Error,
    evaluate,
    learning::Learning,
    model::Size,
    trial,
};

/// The experiments of the papers, which need no file: their names and what they say.
pub const EXPERIMENTS: [(&str, &str); 17] = [
    ("handwriting", include_str!("../experiments/handwriting.toml")),
    ("paper1-table1", include_str!("../experiments/paper1-table1.toml")),
    ("paper1-table2", include_str!("../experiments/paper1-table2.toml")),
    ("paper1-table2-others", include_str!("../experiments/paper1-table2-others.toml")),
    ("paper1-table2-speaker", include_str!("../experiments/paper1-table2-speaker.toml")),
    ("paper1-table2-takes", include_str!("../experiments/paper1-table2-takes.toml")),
    ("paper1-table2-takes-16", include_str!("../experiments/paper1-table2-takes-16.toml")),
    ("paper2-table2", include_str!("../experiments/paper2-table2.toml")),
    ("paper2-table2-longer", include_str!("../experiments/paper2-table2-longer.toml")),
    ("paper3-fig3", include_str!("../experiments/paper3-fig3.toml")),
    ("paper3-fig3-digits", include_str!("../experiments/paper3-fig3-digits.toml")),
    ("paper3-fig3-strings", include_str!("../experiments/paper3-fig3-strings.toml")),
    ("paper3-fig5", include_str!("../experiments/paper3-fig5.toml")),
    ("paper3-fig5-linear", include_str!("../experiments/paper3-fig5-linear.toml")),
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
    /// What is learnt, where no data is given: see [`Source::read`]. Without it, data must be given.
    pub task: Option<Table>,
    /// How data that is given is read: the same without a path.
    #[serde(default)]
    pub data: Table,
    /// How often all sequences are seen, where a run does not say.
    pub epochs: u32,
    /// Where parameters and plans begin, from 0; each run is trained from each.
    #[serde(default = "first_seed")]
    pub seeds: Vec<u64>,
    /// How large the model is.
    #[serde(default)]
    pub model: Size,
    /// How it learns.
    #[serde(default)]
    pub learning: Learning,
    /// How batches are made where a run does not say.
    #[serde(default)]
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
    task: Option<Spanned<IgnoredAny>>,
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
            let error = Error::from(error);
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            de::Error::custom(format!("{error}{hint}"))
        })
    }
}

/// How sequences are grouped into batches.
#[derive(Clone, Debug, PartialEq)]
pub enum Grouping {
    /// By this strategy.
    By(Strategy),
    /// As `lengthwise plan` does without a strategy: by what is [recommended](recommend) for the data.
    Recommended,
}

/// What is written for [`Grouping::Recommended`] and [`StepSize::Recommended`].
const RECOMMENDED: &str = "recommended";

impl std::fmt::Display for Grouping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::By(strategy) => strategy.fmt(f),
            Self::Recommended => f.write_str(RECOMMENDED),
        }
    }
}

impl std::str::FromStr for Grouping {
    type Err = lengthwise::Error;

    fn from_str(text: &str) -> Result<Self, lengthwise::Error> {
        if text == RECOMMENDED { Ok(Self::Recommended) } else { text.parse().map(Self::By) }
    }
}

/// How much data an optimizer step has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSize {
    /// So much.
    Of(Update),
    /// As much as `lengthwise plan` chooses without a strategy: the tokens of a full batch without padding.
    Recommended,
}

impl std::fmt::Display for StepSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Of(update) => update.fmt(f),
            Self::Recommended => f.write_str(RECOMMENDED),
        }
    }
}

impl std::str::FromStr for StepSize {
    type Err = lengthwise::Error;

    fn from_str(text: &str) -> Result<Self, lengthwise::Error> {
        if text == RECOMMENDED { Ok(Self::Recommended) } else { text.parse().map(Self::Of) }
    }
}

/// How batches are made. A run's own settings replace those of `[batches]`. Without either, shapes are exact,
/// batches are spread over the epoch, and every batch is an optimizer step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Batches {
    /// The strategy, or `recommended`.
    pub strategy: Option<Named<Grouping>>,
    /// The limit of every batch.
    pub budget: Option<Named<Budget>>,
    /// The batch lengths that may occur.
    pub shapes: Option<Named<Shapes>>,
    /// The order of the batches in the epoch.
    pub arrange: Option<Named<Arrange>>,
    /// How much data an optimizer step has, or `recommended`. It then accumulates the gradients of as many
    /// batches as that takes.
    pub update: Option<Named<StepSize>>,
    /// How long the pieces are that sequences are cut into.
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
    /// The settings that [`Experiment::recommend`] found, if its strategy or its update is `recommended`.
    pub recommended: Option<Settings>,
    /// How many workers learn together, and how.
    pub together: Together,
    /// How often it sees all sequences.
    pub epochs: Option<u32>,
}

/// A run as it is written. Its settings stand beside its name, and serde would not refuse unknown ones
/// in a flattened struct.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    name: String,
    strategy: Option<Named<Grouping>>,
    budget: Option<Named<Budget>>,
    shapes: Option<Named<Shapes>>,
    arrange: Option<Named<Arrange>>,
    update: Option<Named<StepSize>>,
    chunk: Option<u32>,
    workers: Option<u32>,
    mode: Option<Mode>,
    epochs: Option<u32>,
}

impl From<RunTable> for Run {
    fn from(table: RunTable) -> Self {
        let RunTable {
            name,
            strategy,
            budget,
            shapes,
            arrange,
            update,
            chunk,
            workers,
            mode,
            epochs,
        } = table;
        Self {
            name,
            number: 0,
            batches: Batches { strategy, budget, shapes, arrange, update, chunk },
            recommended: None,
            together: Together { workers, mode },
            epochs,
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
    /// How often all sequences are seen.
    pub epochs: u32,
}

impl Trained {
    /// How batches are made, and what follows from them, for records: the number of workers may change.
    pub fn recorded(&self) -> String {
        match self.mode {
            Mode::Sync => self.settings.clone(),
            mode @ Mode::Average { .. } => format!("{}, {mode}", self.settings),
        }
    }

    /// How batches are made, and by how many workers they are trained on, for people.
    pub fn described(&self) -> String {
        let Self { settings, workers, mode, .. } = self;
        match (workers, mode) {
            (1, Mode::Sync) => settings.clone(),
            _ => format!("{settings}, {} {mode}", count(*workers, "worker")),
        }
    }
}

/// The most workers: as many threads can still be started.
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
        experiment.places = [tables.task, tables.data].map(|table| {
            let at = table.map_or(0, |table| table.span().start);
            format!("{name}:{}", line(at))
        });
        for (run, number) in experiment.runs.iter_mut().zip(1..) {
            run.number = number;
        }
        if experiment.runs.iter().any(|run| run.name.trim().is_empty()) {
            return Err(wrong("a run has an empty name".into(), "say what to call it in tables"));
        }
        if experiment.runs.is_empty() {
            return Err(wrong("there is nothing to run".into(), "give it a [[run]]"));
        }
        if experiment.seeds.is_empty() {
            return Err(wrong("there are no seeds".into(), "set for example seeds = [1, 2, 3]"));
        }
        let epochs = experiment.runs.iter().filter_map(|run| run.epochs);
        if epochs.chain([experiment.epochs]).any(|epochs| epochs == 0) {
            return Err(wrong(
                "expected epochs from 1, got 0".into(),
                "set for example epochs = 10",
            ));
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
        experiment.check().map_err(|error| error.within(name))?;
        Ok(experiment)
    }

    /// Refuses seeds and runs that cannot be trained, as far as that is known without data.
    fn check(&self) -> Result<(), Error> {
        for (at, &seed) in self.seeds.iter().enumerate() {
            if self.seeds[..at].contains(&seed) {
                return Err(Error::new(
                    format!("the seed {seed} is given twice"),
                    "give every seed once: training again with the same seed gives the same result",
                ));
            }
        }
        for run in &self.runs {
            self.grouping(run)?;
            self.settings(run)?;
            self.workers(run)?;
        }
        Ok(())
    }

    /// What is learnt, checked: from `data`, or as the experiment says. Paths of the experiment begin at
    /// `folder`.
    pub fn task(&self, data: Option<&Path>, folder: &Path) -> Result<Task, Error> {
        let [task, given] = &self.places;
        let (place, source) = if let Some(path) = data {
            let mut table = self.data.clone();
            let path = path.to_string_lossy().into_owned();
            table.insert("path".to_owned(), Value::String(path));
            (given, Source::read(table, Path::new("")))
        } else {
            let table = self.task.clone().ok_or_else(|| {
                Error::new(
                    format!("{:?} has no [task] to generate", self.title),
                    "give `--data PATH`, or write a [task]",
                )
            })?;
            (task, Source::read(table, folder))
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

    /// Decides on strategies and updates that are `recommended`: as `lengthwise plan` does without a strategy, for
    /// the lengths of this task. Call it before [`trainings`](Self::trainings).
    pub fn recommend(&mut self, task: &Task) -> Result<(), Error> {
        let whole = evaluate::lengths(&task.training)?;
        for at in 0..self.runs.len() {
            let run = &self.runs[at];
            let decided = self.grouping(run)? != Grouping::Recommended
                && self.step_size(run) != Some(StepSize::Recommended);
            if decided {
                continue;
            }
            let within = |error: Error| error.within(&run.name);
            let settings = self.settings(run)?;
            let chunks = self.chunk(run).map(|size| trial::cut(&task.training, &whole, size));
            let chunks = chunks.transpose().map_err(within)?;
            let lengths = chunks.as_ref().map_or(&whole, Chunks::lengths);
            let mut wanted = Wanted::new(settings.budget);
            wanted.shapes =
                run.batches.shapes.clone().or(self.batches.shapes.clone()).map(|of| of.0);
            wanted.settings = settings;
            let found = recommend(lengths, &wanted).map_err(|error| within(error.into()))?;
            self.runs[at].recommended = Some(found.best().settings.clone());
        }
        Ok(())
    }

    /// All trainings: every run from every seed, the runs of a seed one after another.
    pub fn trainings(&self) -> Result<Vec<Trained>, Error> {
        self.check()?;
        let each = self.seeds.iter().flat_map(|&seed| self.runs.iter().map(move |run| (run, seed)));
        each.map(|(run, seed)| self.training(run, seed)).collect()
    }

    fn training(&self, run: &Run, seed: u64) -> Result<Trained, Error> {
        let recommended = || {
            run.recommended.clone().ok_or_else(|| {
                Error::new(
                    format!("what is recommended for the run {:?} is not decided", run.name),
                    "call `Experiment::recommend` with its data first",
                )
            })
        };
        let settings = match self.grouping(run)? {
            Grouping::Recommended => recommended()?,
            Grouping::By(strategy) => {
                let mut settings = self.settings(run)?;
                if self.step_size(run) == Some(StepSize::Recommended) {
                    settings.update = recommended()?.update;
                }
                Settings { strategy: strategy.to_string(), ..settings }
            }
        };
        let chunk = self.chunk(run);
        let mut text = format!(
            "{} {} {} {}",
            settings.strategy, settings.budget, settings.shapes, settings.arrange
        );
        if let Some(update) = settings.update {
            _ = write!(text, " update {update}");
        }
        if let Some(model) = settings.cost_model {
            _ = write!(text, " cost-model {model}");
        }
        if let Some(size) = chunk {
            _ = write!(text, " chunks of {size}");
        }
        Ok(Trained {
            name: run.name.clone(),
            seed,
            planner: Planner::named(settings)?.seed(seed),
            chunk,
            settings: text,
            workers: self.workers(run)? as usize,
            mode: run.together.mode.or(self.together.mode).unwrap_or_default(),
            epochs: run.epochs.unwrap_or(self.epochs),
        })
    }

    /// How a run groups sequences.
    fn grouping(&self, run: &Run) -> Result<Grouping, Error> {
        let own = run.batches.strategy.clone().or_else(|| self.batches.strategy.clone());
        let grouping = own.ok_or_else(|| missing(run, "strategy", "recommended"))?.0;
        if matches!(grouping, Grouping::By(Strategy::Packed(_))) {
            return Err(Error::new(
                format!("the run {:?} packs several sequences into a row", run.name),
                "the models here have one row per sequence: set another `strategy`",
            ));
        }
        Ok(grouping)
    }

    /// The settings of a run, all but its strategy and its seed.
    fn settings(&self, run: &Run) -> Result<Settings, Error> {
        let (own, all) = (&run.batches, &self.batches);
        let budget = own.budget.or(all.budget);
        let budget = budget.ok_or_else(|| missing(run, "budget", "sequences:16"))?.0;
        if self.chunk(run) == Some(0) {
            return Err(Error::new(
                format!("the run {:?} has chunks of length 0", run.name),
                "leave `chunk` out for whole sequences",
            ));
        }
        let shapes = own.shapes.clone().or_else(|| all.shapes.clone()).map(|named| named.0);
        Ok(Settings {
            shapes: shapes.unwrap_or_default(),
            arrange: own.arrange.or(all.arrange).map(|named| named.0).unwrap_or_default(),
            update: match self.step_size(run) {
                Some(StepSize::Of(update)) => Some(update),
                Some(StepSize::Recommended) | None => None,
            },
            ..Settings::new("", budget)
        })
    }

    fn step_size(&self, run: &Run) -> Option<StepSize> {
        run.batches.update.or(self.batches.update).map(|named| named.0)
    }

    fn chunk(&self, run: &Run) -> Option<u32> {
        run.batches.chunk.or(self.batches.chunk)
    }

    /// How many epochs the runs have, for people.
    pub(crate) fn epochs_of_runs(&self) -> String {
        let each = self.runs.iter().map(|run| run.epochs.unwrap_or(self.epochs));
        let least = each.clone().min().unwrap_or(self.epochs);
        let most = count(each.max().unwrap_or(self.epochs) as usize, "epoch");
        if most == count(least as usize, "epoch") { most } else { format!("{least} to {most}") }
    }

    fn workers(&self, run: &Run) -> Result<u32, Error> {
        let workers = run.together.workers.or(self.together.workers).unwrap_or(1);
        if (1..=WORKERS).contains(&workers) {
            return Ok(workers);
        }
        Err(Error::new(
            format!("the run {:?} has {workers} workers", run.name),
            format!("set `workers` to a number from 1 to {WORKERS}"),
        ))
    }
}

fn missing(run: &Run, what: &str, example: &str) -> Error {
    Error::new(
        format!("the run {:?} has no {what}", run.name),
        format!("set it in its [[run]] or in [batches], such as {what} = \"{example}\""),
    )
}
