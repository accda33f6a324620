//! A whole experiment: all its trainings side by side, kept on disk as they go.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use lengthwise_nn::Engine;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    checkpoint,
    collective::{Collective, Mode},
    data::{Task, count},
    error::Error,
    evaluate::Evaluator,
    experiment::{Experiment, Trained},
    files,
    model::{Model, Padding},
    progress::{Ended, Progress, Snapshot},
    report::{Scaling, Training, TrainingRun},
    scaling::scaling,
    sync_point::Requests,
    trace::Trace,
    trial::{Setup, Trial},
};

/// Follows an experiment while it runs.
pub trait Watch {
    /// The workers of a training synchronized, after one or more of the steps that this epoch has.
    fn step(&mut self, training: usize, progress: &Progress, steps: Option<usize>, loss: f64);
    /// An epoch of a training is over.
    fn epoch(&mut self, training: usize, progress: &Progress);
    /// Whether to stop as soon as everything is saved.
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
    /// The time between checkpoints within an epoch.
    every: Duration,
    /// The folder of traces, if there is one.
    trace: Option<PathBuf>,
}

/// An epoch of a training.
struct Turn<'a> {
    /// Its number among the trainings.
    at: usize,
    training: &'a Trained,
    epoch: usize,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured so far.
    pub training: Training,
    /// Whether all is done.
    pub finished: bool,
    /// Whether anything was trained; if not, all of it was kept from before.
    pub trained: bool,
}

/// Where in its folder an experiment keeps what was measured.
pub const RESULTS: &str = "results.jsonl";
/// Where it keeps the page.
pub const PAGE: &str = "report.html";
/// What is locked while an experiment is at work in its folder.
const LOCK: &str = ".lock";
/// The longest time between sync points of workers that train apart, to show progress and to stop.
const SYNC: Duration = Duration::from_millis(500);
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
        Self { experiment, task, digest, folder: folder.into(), every, trace: None }
    }

    /// Writes down every step of every worker, in files of this folder.
    #[must_use]
    pub fn trace(mut self, folder: Option<PathBuf>) -> Self {
        self.trace = folder;
        self
    }

    /// Forgets what was kept of an experiment before, unless this one cannot be trained.
    pub fn forget(&self) -> Result<(), Error> {
        crate::describe::describe(self.experiment, self.task)?;
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
            // A file system without locks keeps no other run out.
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
        self.all_but_the_seed(training, Some(training.seed))
    }

    /// The same, with another seed or none.
    fn all_but_the_seed(&self, training: &Trained, seed: Option<u64>) -> String {
        let Experiment { model, learning, .. } = self.experiment;
        // Where the rate stays, more epochs change nothing of those before.
        let epochs = match learning.schedule {
            crate::rate::Schedule::Constant if learning.warmup == 0.0 => None,
            _ => Some(training.epochs),
        };
        // How many workers there are may change, and so it may whether there are several at all.
        let mode = (training.mode != Mode::Sync).then_some(training.mode);
        serde_json::json!({
            "data": format!("{:016x}", self.digest),
            "model": model,
            "learning": learning,
            "epochs": epochs,
            "batches": training.settings,
            "seed": seed,
            "mode": mode,
        })
        .to_string()
    }

    /// Trains: an epoch of each training in turn, so that a machine that slows down does so for all. All
    /// workers of the world call this; the first of them keeps everything, and tells what was measured.
    pub fn run<E: Engine>(
        &self,
        engine: &E,
        world: &dyn Collective,
        watch: &mut dyn Watch,
    ) -> Result<Option<Outcome>, Error> {
        let Experiment { model, learning, .. } = self.experiment;
        let model = Model::fitting(model, &self.task.training)?;
        let evaluator = Evaluator::new(self.task, self.experiment.budget())?;
        let setup = Setup {
            engine,
            model: &model,
            data: &self.task.training,
            evaluator: &evaluator,
            learning,
        };
        let trainings = self.experiment.trainings()?;
        self.check_world(world, &trainings)?;
        let leads = world.rank() == 0;
        let _lock = leads.then(|| self.lock()).transpose()?;
        let mut trace =
            self.trace.as_deref().map(|folder| Trace::new(folder, world)).transpose()?;
        let collectives = trainings
            .iter()
            .map(|training| world.first(training.workers))
            .collect::<Result<Vec<_>, _>>()?;
        let mut trials = trainings
            .iter()
            .zip(&collectives)
            .map(|(training, group)| {
                group.as_deref().map(|group| self.trial(setup, training, group)).transpose()
            })
            .collect::<Result<Vec<_>, _>>()?;
        if world.size() > 1 {
            self.keep_new(&trials, &trainings, trace.is_some())?;
        }
        let steps_of = |trials: &[Option<Trial<'_, E>>]| -> u64 {
            trials.iter().flatten().map(|trial| trial.progress().steps).sum()
        };
        let kept = steps_of(&trials);
        let mut stopped = false;
        // A training that was kept within an epoch ends that first.
        for epoch in 0..trainings.iter().map(|training| training.epochs as usize).max().unwrap_or(0)
        {
            for (at, (trial, training)) in trials.iter_mut().zip(&trainings).enumerate() {
                // Workers that have no part in a training learn here that all stop.
                let mut told = vec![u8::from(stopped)];
                world.broadcast(&mut told)?;
                if told != [0] {
                    let trained = steps_of(&trials) > kept;
                    return self.outcome(&setup, leads, &trainings, &trials, (false, trained));
                }
                if let Some(trial) = trial {
                    let turn = Turn { at, training, epoch };
                    stopped = self
                        .train(&turn, trial, &mut trace, watch)
                        .map_err(|error| error.within(&training.name))?;
                }
            }
            if leads {
                self.write(&self.measured(engine, &trainings, &trials, &evaluator))?;
            }
        }
        let trained = steps_of(&trials) > kept;
        self.outcome(&setup, leads, &trainings, &trials, (!stopped, trained))
    }

    /// A training from its checkpoint, or from its beginning. All its workers call this together.
    fn trial<'t, E: Engine>(
        &self,
        setup: Setup<'t, E>,
        training: &'t Trained,
        collective: &'t dyn Collective,
    ) -> Result<Trial<'t, E>, Error> {
        let trial = match self.load(training, setup.model, collective)? {
            Some(snapshot) => Trial::resume(setup, training, collective, snapshot),
            None => Trial::new(setup, training, collective),
        };
        trial.map_err(|error| error.within(&training.name))
    }

    /// Trains to the end of an epoch, or until all are to stop; says whether they are.
    fn train<E: Engine>(
        &self,
        turn: &Turn<'_>,
        trial: &mut Trial<'_, E>,
        trace: &mut Option<Trace>,
        watch: &mut dyn Watch,
    ) -> Result<bool, Error> {
        let Turn { at, training, epoch } = *turn;
        let mut kept = Instant::now();
        while !trial.finished() && trial.progress().epochs.len() <= epoch {
            let stop = watch.stop();
            let keep = stop || kept.elapsed() >= self.every;
            let stepped = trial.step(Requests { stop, keep, within: self.every.min(SYNC) })?;
            if let Some(trace) = trace {
                trace.write(training, trial, &stepped)?;
            }
            let Some(agreement) = stepped.agreement else { continue };
            if stepped.over || agreement.keep || agreement.stop {
                self.keep(trial, training, trace.is_some())?;
                kept = Instant::now();
            }
            if stepped.over {
                watch.epoch(at, trial.progress());
            } else {
                watch.step(at, trial.progress(), trial.steps_of_epoch(), agreement.loss);
            }
            if agreement.stop {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps trainings that have no step yet, so that something is left if a worker is lost early.
    fn keep_new<E: Engine>(
        &self,
        trials: &[Option<Trial<'_, E>>],
        trainings: &[Trained],
        traced: bool,
    ) -> Result<(), Error> {
        for (trial, training) in trials.iter().zip(trainings) {
            if let Some(trial) = trial.as_ref().filter(|trial| trial.progress().steps == 0) {
                self.keep(trial, training, traced)?;
            }
        }
        Ok(())
    }

    /// Keeps a training. All its workers call this together.
    fn keep<E: Engine>(
        &self,
        trial: &Trial<'_, E>,
        training: &Trained,
        traced: bool,
    ) -> Result<(), Error> {
        let (snapshot, collective) = (trial.snapshot()?, trial.collective());
        if traced {
            // What is kept was written down by every worker.
            collective.share(&[0.0])?;
        }
        if collective.rank() > 0 {
            return Ok(());
        }
        let path = self.checkpoint(training);
        checkpoint::save(&path, trial.model(), &self.identity(training), &snapshot)
    }

    /// What was measured, also saved; `None` on all workers but the first.
    fn outcome<E: Engine>(
        &self,
        setup: &Setup<'_, E>,
        leads: bool,
        trainings: &[Trained],
        trials: &[Option<Trial<'_, E>>],
        (finished, trained): (bool, bool),
    ) -> Result<Option<Outcome>, Error> {
        if !leads {
            return Ok(None);
        }
        let mut training = self.measured(setup.engine, trainings, trials, setup.evaluator);
        if finished {
            training.scaling = self.scaling(trainings, trials)?;
        }
        self.write(&training)?;
        Ok(Some(Outcome { training, finished, trained }))
    }

    /// What was kept of a training: read by the first worker, and heard by the others.
    fn load(
        &self,
        training: &Trained,
        model: &Model,
        collective: &dyn Collective,
    ) -> Result<Option<Snapshot>, Error> {
        let path = self.checkpoint(training);
        let kept = if collective.rank() == 0 { checkpoint::bytes_of(&path)? } else { None };
        // A byte before the file: an empty one is not the same as none.
        let mut bytes = kept.map_or_else(Vec::new, |kept| [&[1], &kept[..]].concat());
        collective.broadcast(&mut bytes)?;
        let Some((_, kept)) = bytes.split_first() else { return Ok(None) };
        checkpoint::parse(&path, kept, model, &self.identity(training)).map(Some)
    }

    /// Refuses workers that do other things, or that are too few.
    fn check_world(&self, world: &dyn Collective, trainings: &[Trained]) -> Result<(), Error> {
        let identities: Vec<String> = trainings
            .iter()
            .map(|training| {
                let Trained { workers, epochs, .. } = training;
                format!("{} {workers} {epochs}", self.identity(training))
            })
            .collect();
        let all = format!("{}\n{}", self.trace.is_some(), identities.join("\n"));
        let mine = xxh3_64(all.as_bytes());
        let all = world.all_gather(&mine.to_le_bytes())?;
        if let Some(rank) = all.chunks_exact(8).position(|digest| digest != &all[..8]) {
            return Err(Error::new(
                format!("worker {rank} has other data or other settings than worker 0"),
                "start all workers with the same command, and the same data on every machine",
            ));
        }
        let most = trainings.iter().max_by_key(|training| training.workers);
        match most {
            Some(Trained { name, workers, .. }) if *workers > world.size() => Err(Error::new(
                format!("the run {name:?} has {workers} workers, and there are {}", world.size()),
                format!("start {workers} processes, such as with `mpirun -n {workers}`"),
            )),
            _ => Ok(()),
        }
    }

    fn measured<E: Engine>(
        &self,
        engine: &E,
        trainings: &[Trained],
        trials: &[Option<Trial<'_, E>>],
        evaluator: &Evaluator,
    ) -> Training {
        let Experiment { title, notes, .. } = self.experiment;
        let mut notes = notes.clone();
        // The first worker has a part in all trainings.
        let trials: Vec<&Trial<'_, E>> = trials.iter().flatten().collect();
        for (training, trial) in trainings.iter().zip(&trials) {
            let Trained { name, seed, epochs, .. } = training;
            let last = trial.progress().epochs.len();
            // The report says by itself what diverged.
            if trial.progress().ended == Some(Ended::Patience) && last <= *epochs as usize {
                notes.push(format!("{name}, seed {seed}: stopped after epoch {last}, because its validation loss no longer fell."));
            }
        }
        let about = self.about(engine.name());
        Training {
            title: title.clone(),
            about: about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            error: evaluator.error().to_owned(),
            runs: trainings
                .iter()
                .zip(&trials)
                .map(|(training, trial)| TrainingRun {
                    name: training.name.clone(),
                    settings: training.recorded(),
                    seed: training.seed,
                    digest: Some(format!(
                        "{:016x}",
                        xxh3_64(self.all_but_the_seed(training, None).as_bytes())
                    )),
                    planned_epochs: Some(training.epochs),
                    // A training that was kept may be further than this experiment goes.
                    ended: trial.progress().ended == Some(Ended::Patience),
                    epochs: trial
                        .progress()
                        .epochs
                        .iter()
                        .take(training.epochs as usize)
                        .cloned()
                        .collect(),
                })
                .collect(),
            notes,
            pairs: self.experiment.pairs.clone(),
            scaling: Vec::new(),
            higher: Vec::new(),
        }
    }

    /// What was trained on what, for people.
    fn about(&self, engine: String) -> [(&'static str, String); 5] {
        let Experiment { model, learning, .. } = self.experiment;
        let Task { name, source, training, validation } = self.task;
        let (training, validation) = (training.len(), validation.len());
        let (layers, units) = (count(model.layers, "LSTM layer"), count(model.units, "unit"));
        let directions = if model.both { "both directions" } else { "forward" };
        let padding = if model.padding == Padding::Computed { ", padding computed" } else { "" };
        let learning = format!(
            "{:?}, rate {:?}, {:?}, {}",
            learning.optimizer,
            learning.rate,
            learning.schedule,
            self.experiment.epochs_of_runs()
        );
        [
            ("task", format!("{name} ({source})")),
            ("sequences", format!("{training} for training, {validation} for validation")),
            ("model", format!("{layers} of {units}, {directions}{padding}")),
            ("learning", learning.to_lowercase()),
            ("engine", engine),
        ]
    }

    /// What more workers would take, for every way to batch.
    fn scaling<E: Engine>(
        &self,
        trainings: &[Trained],
        trials: &[Option<Trial<'_, E>>],
    ) -> Result<Vec<Scaling>, Error> {
        let most = self.experiment.scaling;
        let mut ways: Vec<(&Trained, Vec<Scaling>)> = Vec::new();
        for (training, trial) in trainings.iter().zip(trials.iter().flatten()) {
            let known = ways.iter().any(|(way, _)| way.settings == training.settings);
            let Some(cost) = trial.cost().filter(|_| most > 0 && !known) else { continue };
            let scaled = scaling(&training.planner, trial.lengths(), cost, most);
            ways.push((training, scaled.map_err(|error| error.within("scaling"))?));
        }
        if let [_, _, ..] = &ways[..] {
            for (training, scaled) in &mut ways {
                for one in scaled {
                    one.name = format!("{}, {}", training.name, one.name);
                }
            }
        }
        Ok(ways.into_iter().flat_map(|(_, scaled)| scaled).collect())
    }

    fn write(&self, training: &Training) -> Result<(), Error> {
        files::keep(&self.folder.join(RESULTS), training.to_jsonl().as_bytes())?;
        files::keep(&self.folder.join(PAGE), training.page().as_bytes())
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
