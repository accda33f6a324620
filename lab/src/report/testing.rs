//! Records for the tests of this module.

use super::records::{Together, Training, TrainingEpoch, TrainingRun, Validation, WorkerEpoch};

/// An epoch of so many seconds after which there are so many errors.
pub(super) fn epoch(epoch: u32, seconds: f64, error: f64) -> TrainingEpoch {
    TrainingEpoch {
        epoch,
        seconds,
        steps: 655,
        batches: 655,
        sequences: 10_480,
        frames: 5_504_096,
        cells: 8_000_000,
        shapes: 420,
        step_mix: None,
        peak_bytes: 1_234_567_890,
        loss: 3.0 * error,
        validation: Some(Validation { loss: 4.0 * error, error, more: Vec::new() }),
        together: None,
    }
}

/// An epoch of workers of which each worked and waited so long, and had to wait such a share.
pub(super) fn shared(number: u32, workers: &[(f64, f64, f64)]) -> TrainingEpoch {
    let seconds = workers.iter().map(|(work, wait, _)| work + wait).fold(0.0, f64::max);
    let worker = |&(work, wait, predicted)| WorkerEpoch { work, wait, predicted };
    let workers = workers.iter().map(worker).collect();
    let together = Some(Together { wall: seconds, exchange: 0.0, workers });
    let seconds = if seconds.is_finite() { seconds } else { 1.0 };
    TrainingEpoch { together, ..epoch(number, seconds, 0.5) }
}

/// A run from a seed.
pub(super) fn run(name: &str, seed: u64, epochs: Vec<TrainingEpoch>) -> TrainingRun {
    let settings = format!("{name}, budget sequences:16");
    TrainingRun {
        name: name.to_owned(),
        settings,
        seed,
        digest: None,
        planned_epochs: None,
        epochs,
        ended: false,
    }
}

/// Two rows of three seeds and four epochs.
pub(super) fn training() -> Training {
    let mut runs = Vec::new();
    for (name, seconds, cells, errors, spread) in [
        ("shuffled", 10.0, 8_000_000, [0.6, 0.4, 0.25, 0.2], 0.004),
        ("semi-sorted", 6.0, 5_600_000, [0.58, 0.35, 0.19, 0.18], 0.0045),
    ] {
        for seed in 0..3 {
            let epochs = (1..).zip(errors).map(|(number, error)| {
                let error = error + spread * seed as f64;
                let mut epoch = epoch(number, seconds + 0.1 * seed as f64, error);
                epoch.cells = cells;
                let more = &mut epoch.validation.as_mut().unwrap().more;
                more.push(("word error rate".to_owned(), 2.5 * error));
                epoch
            });
            runs.push(run(name, seed, epochs.collect()));
        }
    }
    Training {
        title: "a small model on `speech`".to_owned(),
        about: [("model", "2 layers of 128"), ("device", "CPU, 2 threads")]
            .map(|(what, value)| (what.to_owned(), value.to_owned()))
            .to_vec(),
        error: "character error rate".to_owned(),
        runs,
        notes: vec!["The data were made by a program.".to_owned()],
        pairs: Vec::new(),
        scaling: Vec::new(),
        higher: Vec::new(),
    }
}
