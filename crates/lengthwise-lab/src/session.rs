//! A whole experiment: all its trainings side by side, kept on disk as they go.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use lengthwise_nn::Engine;
use lengthwise_report::training::{Training, TrainingRun};

use crate::{
    Ended, Error, Examiner, Experiment, Trained, checkpoint,
    data::{Task, count},
    model::Model,
    trial::{Bench, Place, Stepped, Trial},
};

/// Who looks on while an experiment runs.
pub trait Watch {
    /// A training took a step.
    fn step(&mut self, training: usize, place: &Place, batches: Option<usize>, loss: f64);
    /// An epoch of a training is over.
    fn epoch(&mut self, training: usize, place: &Place);
    /// Whether to stop as soon as everything is kept.
    fn stop(&self) -> bool;
}

/// An experiment with its task, and where its results are kept.
#[derive(Debug)]
pub struct Session<'a> {
    experiment: &'a Experiment,
    task: &'a Task,
    /// What tells the task from others.
    digest: u64,
    folder: PathBuf,
    /// How often a training is kept within an epoch.
    every: Duration,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured so far.
    pub training: Training,
    /// Whether all is done.
    pub finished: bool,
}

/// Where in its folder an experiment keeps what was measured.
pub const RESULTS: &str = "results.jsonl";
/// Where it keeps the page.
pub const PAGE: &str = "report.html";
/// What is locked while an experiment is at work in its folder.
const LOCK: &str = ".lock";
/// How files begin that have not their names yet.
const UNFINISHED: &str = ".lengthwise-";

impl<'a> Session<'a> {
    /// A session that keeps its results in a folder, and its trainings there after every epoch, and
    /// every so often in between.
    pub fn new(
        experiment: &'a Experiment,
        task: &'a Task,
        folder: impl Into<PathBuf>,
        every: Duration,
    ) -> Self {
        let digest = task.digest();
        Self { experiment, task, digest, folder: folder.into(), every }
    }

    /// Forgets what was kept of an experiment before, unless this one cannot be trained.
    pub fn forget(&self) -> Result<(), Error> {
        crate::describe(self.experiment, self.task)?;
        let _lock = self.lock()?;
        let gone = |result: io::Result<()>, path: &Path| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(path, &error)),
            _ => Ok(()),
        };
        let mut paths = [RESULTS, PAGE].map(|name| self.folder.join(name)).to_vec();
        // Others may keep files there too.
        let entries = fs::read_dir(self.checkpoints()).into_iter().flatten().flatten();
        paths.extend(entries.filter(|entry| ours(&entry.file_name())).map(|entry| entry.path()));
        paths.iter().try_for_each(|path| gone(fs::remove_file(path), path))
    }

    /// Makes the folder, and keeps all others out of it until the file is closed.
    fn lock(&self) -> Result<fs::File, Error> {
        let checkpoints = self.checkpoints();
        fs::create_dir_all(&checkpoints).map_err(|error| cannot(&checkpoints, &error))?;
        let path = checkpoints.join(LOCK);
        let file = fs::File::create(&path).map_err(|error| cannot(&path, &error))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(Error::new(
                format!("{}: another run is at work in this folder", self.folder.display()),
                "wait until it ends, or name another folder with `--out`",
            )),
            // Where a file system has no locks, nobody is kept out.
            Err(fs::TryLockError::Error(_)) => Ok(file),
            Ok(()) => {
                // What others began to write and did not end, as they were killed.
                for entry in fs::read_dir(&checkpoints).into_iter().flatten().flatten() {
                    if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                        _ = fs::remove_file(entry.path());
                    }
                }
                Ok(file)
            }
        }
    }

    fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }

    /// Where a training is kept.
    pub fn checkpoint(&self, training: &Trained) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = training.name.chars().map(plain).collect();
        // Two names may look alike once they are plain, and a file cannot have a long one.
        let name = name.get(..40).unwrap_or(&name);
        let run = self.experiment.runs.iter().find(|run| run.name == training.name);
        let number = run.map_or(0, |run| run.number);
        self.checkpoints().join(format!("{number:02}-{name}-seed-{}.safetensors", training.seed))
    }

    /// All settings and data that a training depends on.
    fn identity(&self, training: &Trained) -> String {
        let Experiment { model, learning, epochs, .. } = self.experiment;
        // Where the rate stays, more epochs change nothing of those before.
        let epochs = match learning.schedule {
            crate::Schedule::Constant if learning.warmup == 0.0 => None,
            _ => Some(epochs),
        };
        serde_json::json!({
            "data": format!("{:016x}", self.digest),
            "model": model,
            "learning": learning,
            "epochs": epochs,
            "batches": training.settings,
            "seed": training.seed,
        })
        .to_string()
    }

    /// Trains: an epoch of each training in turn, so that a machine that slows down does so for all.
    pub fn run<E: Engine>(&self, engine: &E, watch: &mut dyn Watch) -> Result<Outcome, Error> {
        let Experiment { model, learning, epochs, .. } = self.experiment;
        let model = Model::fitting(model, &self.task.training)?;
        let examiner = Examiner::new(self.task, self.experiment.budget())?;
        let bench = Bench {
            engine,
            model: &model,
            data: &self.task.training,
            examiner: &examiner,
            learning,
            epochs: *epochs,
        };
        let trainings = self.experiment.trainings()?;
        let _lock = self.lock()?;
        let mut trials = Vec::new();
        for training in &trainings {
            let Trained { planner, chunk, seed, name, .. } = training;
            let kept =
                checkpoint::load(&self.checkpoint(training), &model, &self.identity(training))?;
            let trial = match kept {
                Some(snapshot) => Trial::resume(bench, planner.clone(), *chunk, snapshot),
                None => Trial::new(bench, planner.clone(), *chunk, *seed),
            };
            trials.push(trial.map_err(|error| error.within(name))?);
        }
        let keep = |at: usize, trial: &Trial<'_, E>| -> Result<(), Error> {
            let training = &trainings[at];
            let snapshot = trial.snapshot()?;
            checkpoint::save(
                &self.checkpoint(training),
                &model,
                &self.identity(training),
                &snapshot,
            )
        };
        // A training that was kept within an epoch ends that first.
        for epoch in 0..*epochs as usize {
            for (at, trial) in trials.iter_mut().enumerate() {
                let mut kept = Instant::now();
                while !trial.finished() && trial.place().epochs.len() <= epoch {
                    let stepped =
                        trial.step().map_err(|error| error.within(&trainings[at].name))?;
                    match stepped {
                        Stepped::Batch { loss } => {
                            watch.step(at, trial.place(), trial.batches(), loss);
                            if kept.elapsed() >= self.every || watch.stop() {
                                keep(at, trial)?;
                                kept = Instant::now();
                            }
                        }
                        Stepped::Epoch => {
                            keep(at, trial)?;
                            watch.epoch(at, trial.place());
                        }
                    }
                    if watch.stop() {
                        let training = self.measured(engine, &trainings, &trials, &examiner);
                        self.write(&training)?;
                        return Ok(Outcome { training, finished: false });
                    }
                }
            }
            let training = self.measured(engine, &trainings, &trials, &examiner);
            self.write(&training)?;
        }
        let training = self.measured(engine, &trainings, &trials, &examiner);
        self.write(&training)?;
        Ok(Outcome { training, finished: true })
    }

    fn measured<E: Engine>(
        &self,
        engine: &E,
        trainings: &[Trained],
        trials: &[Trial<'_, E>],
        examiner: &Examiner,
    ) -> Training {
        let Experiment { title, notes, model, learning, epochs, .. } = self.experiment;
        let Task { name, source, training, validation } = self.task;
        let mut notes = notes.clone();
        for (training, trial) in trainings.iter().zip(trials) {
            let Trained { name, seed, .. } = training;
            let last = trial.place().epochs.len();
            // The report says by itself what diverged.
            if trial.place().ended == Some(Ended::Patience) && last <= *epochs as usize {
                notes.push(format!("{name}, seed {seed}: ended after epoch {last}, as its validation loss did not fall any more."));
            }
        }
        let directions = if model.both { "both directions" } else { "forward" };
        let about = [
            ("task", format!("{name} ({source})")),
            (
                "sequences",
                format!("{} to learn from, {} to be examined on", training.len(), validation.len()),
            ),
            (
                "model",
                format!(
                    "{} of {}, {directions}",
                    count(model.layers, "LSTM layer"),
                    count(model.units, "unit")
                ),
            ),
            (
                "learning",
                format!(
                    "{:?}, rate {:?}, {:?}, {}",
                    learning.optimizer,
                    learning.rate,
                    learning.schedule,
                    count(*epochs as usize, "epoch")
                )
                .to_lowercase(),
            ),
            ("engine", engine.name()),
        ];
        Training {
            title: title.clone(),
            about: about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            error: examiner.error().to_owned(),
            runs: trainings
                .iter()
                .zip(trials)
                .map(|(training, trial)| TrainingRun {
                    name: training.name.clone(),
                    settings: training.settings.clone(),
                    seed: training.seed,
                    // A training that was kept may be further than this experiment goes.
                    ended: trial.place().ended == Some(Ended::Patience),
                    epochs: trial.place().epochs.iter().take(*epochs as usize).cloned().collect(),
                })
                .collect(),
            notes,
            pairs: self.experiment.pairs.clone(),
            scaling: Vec::new(),
        }
    }

    fn write(&self, training: &Training) -> Result<(), Error> {
        let save = |name: &str, text: &str| {
            lengthwise_files::save(&self.folder.join(name), |file| {
                io::Write::write_all(file, text.as_bytes())
            })
        };
        save(RESULTS, &training.to_jsonl())?;
        save(PAGE, &training.page())?;
        Ok(())
    }
}

/// Whether a file is a training that a session kept.
fn ours(name: &std::ffi::OsStr) -> bool {
    let text = name.to_string_lossy();
    let numbered = text.split_once('-').is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    numbered && text.contains("-seed-") && text.ends_with(".safetensors")
}

fn cannot(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("{}: {error}", path.display()), "name another folder with `--out`")
}
