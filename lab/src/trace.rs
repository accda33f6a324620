//! Every micro-batch of every worker, as lines of JSON.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use lengthwise_nn::Engine;
use serde::Serialize;

use crate::{
    collective::Collective,
    error::Error,
    experiment::Trained,
    trial::{MicroBatch, Stepped, Trial},
};

/// The file that a worker writes its micro-batches to.
#[derive(Debug)]
pub(crate) struct Trace {
    file: File,
    path: PathBuf,
}

#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    seed: u64,
    workers: usize,
    epoch: u32,
    /// The optimizer step of the epoch, from 1.
    step: usize,
    sequences: &'a [u32],
    length: u32,
    seconds: f64,
    /// The digest of the worker's parameters after the step.
    parameters: &'a str,
}

impl Trace {
    /// The file of a worker, `worker-3.jsonl`; what it has is kept.
    pub(crate) fn new(folder: &Path, world: &dyn Collective) -> Result<Self, Error> {
        let path = folder.join(format!("worker-{}.jsonl", world.rank()));
        let file = fs::create_dir_all(folder)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .map_err(|error| cannot(&path, &error))?;
        Ok(Self { file, path })
    }

    /// A line for each micro-batch of a step, or one without sequences if the worker had none. After the last
    /// step of an epoch, the progress is that of the next.
    pub(crate) fn write<E: Engine>(
        &mut self,
        training: &Trained,
        trial: &Trial<'_, E>,
        stepped: &Stepped,
    ) -> Result<(), Error> {
        let progress = trial.progress();
        let Stepped { batches, over, .. } = stepped;
        let (epoch, step) = match progress.epochs.last().filter(|_| *over) {
            Some(last) => (last.epoch, last.steps as usize),
            None => (progress.current.epoch, progress.steps_of_epoch()),
        };
        let Trained { name: run, seed, workers, .. } = training;
        let parameters = format!("{:016x}", trial.digest()?);
        let none = [MicroBatch { sequences: Vec::new(), length: 0, seconds: 0.0 }];
        let batches = if batches.is_empty() { &none[..] } else { batches };
        let mut text = String::new();
        for MicroBatch { sequences, length, seconds } in batches {
            let line = Line {
                run,
                seed: *seed,
                workers: *workers,
                epoch,
                step,
                sequences,
                length: *length,
                seconds: *seconds,
                parameters: &parameters,
            };
            text +=
                &serde_json::to_string(&line).map_err(|error| cannot(&self.path, &error.into()))?;
            text.push('\n');
        }
        // In one piece, and at once: it is to be there if this process is killed.
        self.file.write_all(text.as_bytes()).map_err(|error| cannot(&self.path, &error))
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("{}: {error}", path.display()), "name another folder with `--trace`")
}
