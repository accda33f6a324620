//! Several workers: with threads and with processes they arrive at the same parameters; gradients that are
//! added over workers, or accumulated over micro-batches, are those of one batch; and if a worker is lost, others
//! continue.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "workers/shell.rs"]
mod shell;

#[cfg(feature = "mpi")]
#[path = "workers/processes.rs"]
mod processes;

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use lengthwise::{Budget, Planner, Strategy, Update};
use lengthwise_lab::{
    Evaluator, Experiment, Learning, Requests, Session, Setup, Snapshot, Trained, Trial,
    batch::{Batch, Piece},
    collective::{Alone, Collective, Mode, on_threads},
    data::Task,
    model::Model,
};
use lengthwise_nn::{Cpu, Engine as _};
use shell::{EXPERIMENT, checkpoint, folder, lab, lines, once_each, text};

/// The tasks of the experiments, small.
fn tasks() -> Vec<Task> {
    let kinds = ["handwriting", "speech", "voice", "documents", "tags"];
    let task = |kind: &str| {
        let text = EXPERIMENT.replace("\"handwriting\"", &format!("\"{kind}\""));
        let experiment = Experiment::parse(kind, &text).unwrap();
        experiment.task(None, "".as_ref()).unwrap()
    };
    kinds.map(task).into()
}

fn training(strategy: &str, budget: &str, workers: usize, mode: Mode) -> Trained {
    let strategy: Strategy = strategy.parse().unwrap();
    let budget: Budget = budget.parse().unwrap();
    Trained {
        name: "the tests".to_owned(),
        seed: 3,
        planner: Planner::new(strategy, budget).seed(3),
        chunk: None,
        settings: String::new(),
        workers,
        mode,
        epochs: 2,
    }
}

/// Calls `work` with the training of each worker, on threads.
fn on_workers<T: Send>(
    task: &Task,
    training: &Trained,
    learning: &Learning,
    kept: Option<&Snapshot>,
    work: impl Fn(Trial<'_, Cpu>, &dyn Collective) -> T + Sync,
) -> T {
    let size = Experiment::parse("small", EXPERIMENT).unwrap().model;
    let model = Model::fitting(&size, &task.training).unwrap();
    let evaluator = Evaluator::new(task, Budget::sequences(4)).unwrap();
    let setup = Setup {
        engine: &Cpu,
        model: &model,
        data: &task.training,
        evaluator: &evaluator,
        learning,
    };
    let done = on_threads(training.workers, 2, |collective| {
        let trial = match kept {
            Some(kept) => Trial::resume(setup, training, &collective, kept.clone()),
            None => Trial::new(setup, training, &collective),
        };
        Ok(work(trial.unwrap(), &collective))
    });
    done.unwrap()
}

#[test]
fn gradients_of_a_step_are_that_of_all_its_batches_as_one() {
    // Nothing is cut, so that gradients can be compared.
    let learning = Learning { clip: 0.0, ..Learning::default() };
    let unequal = AtomicUsize::new(0);
    for task in tasks() {
        // Batches of one size each, and of many: of 900 cells, with one sequence or a dozen. Steps of one batch
        // for each worker, and of several.
        for (workers, budget, update) in [
            (2, "padded:900", None),
            (3, "sequences:4", None),
            (5, "padded:900", None),
            (1, "padded:900", Some(16)),
            (1, "sequences:3", Some(9)),
            (2, "padded:900", Some(24)),
        ] {
            let mut training = training("shuffled", budget, workers, Mode::Sync);
            if let Some(sequences) = update {
                training.planner = training.planner.update(Update::Sequences(sequences));
            }
            let data = &task.training;
            let size = Experiment::parse("small", EXPERIMENT).unwrap().model;
            let model = Model::fitting(&size, data).unwrap();
            on_workers(&task, &training, &learning, None, |mut trial, collective| {
                let plan = training.planner.plan(trial.lengths(), 0).unwrap();
                let schedule = plan.schedule(workers as u32).unwrap();
                let (batches, each) = (schedule.all_ranks(), schedule.accumulate() as usize);
                let handwriting = task.name == "handwriting";
                assert!(each > 1 || update.is_none() || !handwriting, "steps of one batch");
                let per_step = workers * each;
                for step in 0..batches.len() / per_step {
                    let before = trial.snapshot().unwrap().weights.swap_remove(0).parameters;
                    trial.step(Requests::default()).unwrap();
                    if collective.rank() > 0 || trial.progress().epochs.len() == 1 {
                        continue;
                    }
                    let mine = (step * per_step..).take(per_step);
                    let sizes: Vec<usize> =
                        mine.clone().map(|at| batches.get(at).unwrap().len()).collect();
                    if sizes.iter().any(|size| *size != sizes[0]) {
                        unequal.fetch_add(1, Ordering::Relaxed);
                    }
                    let union: Vec<Piece> = mine
                        .clone()
                        .flat_map(|at| batches.get(at).unwrap())
                        .map(|&index| index as usize)
                        .map(|index| Piece {
                            sequence: index,
                            offset: 0,
                            length: data.length(index),
                        })
                        .collect();
                    let longest = mine.filter_map(|at| batches.batch_length(at)).max().unwrap();
                    let batch = Batch::new(data, &union, longest as usize);
                    let parameters = Cpu.upload(before).unwrap();
                    let mut serial = Cpu.zeros(model.parameters()).unwrap();
                    let passed = model.pass(&Cpu, &parameters, &batch).unwrap();
                    passed.backward(&mut serial).unwrap();
                    let gradient = trial.gradient().unwrap();
                    let most = serial.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                    assert!(most > 0.0);
                    for (one, all) in serial.iter().zip(&gradient) {
                        let apart = (one - all).abs() / most.max(1.0);
                        // Micro-batches are multiplied by their counts and divided by the sum, in 32 bits.
                        let rounding = if update.is_some() { 5e-6 } else { 1e-6 };
                        assert!(apart <= rounding, "{}, {budget}: {one} and {all}", task.name);
                    }
                }
            });
        }
    }
    let unequal = unequal.into_inner();
    assert!(unequal > 20, "only {unequal} steps have batches of several sizes");
}

/// Trains to the end; after so many steps, all is given to so many workers as kept.
fn trained(task: &Task, mode: Mode, changes: &[(u64, usize)]) -> Snapshot {
    let mut kept: Option<Snapshot> = None;
    for (at, &(_, workers)) in changes.iter().enumerate() {
        let until = changes.get(at + 1).map_or(u64::MAX, |next| next.0);
        let training = training("blurred", "padded:400", workers, mode);
        kept = Some(on_workers(
            task,
            &training,
            &Learning::default(),
            kept.as_ref(),
            |mut trial, _| {
                while !trial.finished() && trial.progress().steps < until {
                    trial.step(Requests::default()).unwrap();
                }
                trial.snapshot().unwrap()
            },
        ));
    }
    kept.unwrap()
}

#[test]
fn workers_that_were_stopped_go_on_as_if_they_had_not_been() {
    let task = &tasks()[0];
    for mode in ["sync", "average", "average:every=3,decay=0.01"] {
        let mode: Mode = mode.parse().unwrap();
        for workers in [1, 3] {
            let whole = trained(task, mode, &[(0, workers)]);
            for stop in [1, 2, 3, 5] {
                let resumed = trained(task, mode, &[(0, workers), (stop, workers)]);
                assert_eq!(whole.weights, resumed.weights, "{mode}, {workers}, after {stop}");
            }
            assert_eq!(whole.progress.epochs.len(), 2);
            assert!(whole.weights.len() == 1 && whole.common.is_none(), "all have the same");
        }
    }
}

#[test]
fn another_number_of_workers_sees_what_is_left_of_the_epoch() {
    let task = &tasks()[0];
    let data = &task.training;
    let frames = (0..data.len()).map(|sequence| data.length(sequence) as u64).sum::<u64>();
    for mode in ["sync", "average", "average:every=2"] {
        for changes in [&[(0, 4), (2, 3)][..], &[(0, 2), (3, 5), (4, 1)], &[(0, 1), (5, 4)]] {
            let done = trained(task, mode.parse().unwrap(), changes);
            for epoch in &done.progress.epochs {
                assert_eq!(epoch.sequences, task.training.len() as u64, "{mode}, {changes:?}");
                assert_eq!(epoch.frames, frames, "{mode}, {changes:?}");
            }
            assert!(done.progress.epochs[1].loss < done.progress.epochs[0].loss);
        }
    }
}

#[test]
fn the_mean_of_parameters_is_made_smaller_by_what_they_were() {
    // One step of each of two workers, which is all of the epoch.
    let task = &tasks()[0];
    let decay = 0.25_f32;
    let apart = training("sorted", "sequences:30", 2, Mode::Average { every: 0, decay: 0.0 });
    let start = on_workers(task, &apart, &Learning::default(), None, |trial, _| {
        trial.snapshot().unwrap().weights.swap_remove(0).parameters
    });
    let mean = |decay: f32| {
        let training = Trained { mode: Mode::Average { every: 0, decay }, ..apart.clone() };
        on_workers(task, &training, &Learning::default(), None, |mut trial, _| {
            while !trial.step(Requests::default()).unwrap().over {}
            trial.snapshot().unwrap().weights.swap_remove(0).parameters
        })
    };
    let (plain, decayed) = (mean(0.0), mean(decay));
    assert_ne!(plain, start);
    for ((plain, decayed), start) in plain.iter().zip(&decayed).zip(&start) {
        assert_eq!(decayed.to_bits(), (plain - decay * start).to_bits());
    }
}

#[test]
fn another_number_of_workers_begins_with_the_mean() {
    let task = &tasks()[0];
    let decay = 0.125;
    let with =
        |workers| training("blurred", "padded:400", workers, Mode::Average { every: 0, decay });
    let kept = on_workers(task, &with(2), &Learning::default(), None, |mut trial, _| {
        trial.step(Requests::default()).unwrap();
        trial.snapshot().unwrap()
    });
    let (one, other) = (&kept.weights[0], &kept.weights[1]);
    assert_ne!(one.parameters, other.parameters);
    for workers in [1, 3] {
        let weights =
            on_workers(task, &with(workers), &Learning::default(), Some(&kept), |trial, _| {
                trial.snapshot().unwrap().weights
            });
        assert_eq!(weights.len(), 1);
        let common = kept.common.as_ref().unwrap();
        for (at, mean) in weights[0].parameters.iter().enumerate() {
            let both = f32::midpoint(one.parameters[at], other.parameters[at]);
            assert_eq!(mean.to_bits(), (both - decay * common[at]).to_bits());
        }
        for (at, mean) in weights[0].state[0].iter().enumerate() {
            let both = f32::midpoint(one.state[0][at], other.state[0][at]);
            assert_eq!(mean.to_bits(), both.to_bits());
        }
    }
}

#[test]
fn workers_with_other_data_are_refused() {
    let experiment = Experiment::parse("small", EXPERIMENT).unwrap();
    let tasks = tasks();
    let folder = tempfile::tempdir().unwrap();
    let failed = on_threads(3, 2, |collective| {
        let task = &tasks[usize::from(collective.rank() == 2)];
        let session = Session::new(&experiment, task, folder.path(), Duration::ZERO);
        session.run(&Cpu, &collective, &mut Silent).map(drop)
    });
    let error = failed.unwrap_err().1;
    assert_eq!(error.to_string(), "worker 2 has other data or other settings than worker 0");
}

struct Silent;

impl lengthwise_lab::Watch for Silent {
    fn step(&mut self, _: usize, _: &lengthwise_lab::Progress, _: Option<usize>, _: f64) {}
    fn epoch(&mut self, _: usize, _: &lengthwise_lab::Progress) {}
    fn stop(&self) -> bool {
        false
    }
}

#[test]
fn runs_of_one_experiment_have_workers_of_their_own() {
    let folder = folder();
    let several = EXPERIMENT
        .replace("mode = \"sync\"", "mode = \"sync\"\nworkers = 1")
        .replace("mode = \"average\"", "mode = \"average:every=2\"\nworkers = 5");
    fs::write(folder.path().join("several.toml"), several).unwrap();
    let output =
        lab(folder.path()).args(["run", "several.toml", "--trace", "trace"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let log = text(&output.stderr);
    assert!(log.contains("average, seed 1: epoch 2/2") && log.contains("% by the plan"), "{log}");
    let path = folder.path().join("trace");
    assert!(lines(&path, 0).iter().any(|line| line.run == "sync" && line.workers == 1));
    assert!(lines(&path, 4).iter().all(|line| line.run == "average" && line.workers == 5));
    // Each learns from batches of its own, and every other step all have the same parameters.
    for (rank, together) in [(1, true), (4, true), (2, false)] {
        let first = lines(&path, 0).into_iter().filter(|line| line.run == "average");
        let pairs =
            first.zip(lines(&path, rank)).filter(|(one, _)| (one.step % 2 == 0) == together);
        for (one, other) in pairs {
            assert_ne!((&one.sequences, one.length), (&other.sequences, 0));
            let last = other.step == 7;
            assert_eq!(one.parameters == other.parameters, together || last, "{one:?} {other:?}");
        }
    }
    for (run, workers) in [("sync", 1), ("average", 5)] {
        for epoch in [1, 2] {
            once_each(&path, workers, run, epoch, |_| true);
        }
    }
    let results = fs::read_to_string(folder.path().join("runs/several/results.jsonl")).unwrap();
    let training = lengthwise_lab::report::Training::from_jsonl(&results).unwrap();
    assert!(training.runs[0].epochs.iter().all(|epoch| epoch.together.is_none()));
    let workers = |epoch: &lengthwise_lab::report::TrainingEpoch| {
        epoch.together.as_ref().unwrap().workers.len()
    };
    assert!(training.runs[1].epochs.iter().all(|epoch| workers(epoch) == 5));
    assert!(training.runs[1].settings.ends_with(", average:every=2"));
}

#[test]
fn more_workers_are_computed_from_the_plan() {
    let folder = folder();
    let scaled = format!("scaling = 64\n{EXPERIMENT}");
    fs::write(folder.path().join("scaled.toml"), scaled).unwrap();
    let output = lab(folder.path()).args(["run", "scaled.toml"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = fs::read_to_string(folder.path().join("runs/scaled/results.jsonl")).unwrap();
    let training = lengthwise_lab::report::Training::from_jsonl(&results).unwrap();
    let of = |name: &str| -> Vec<_> {
        training.scaling.iter().filter(|scaling| scaling.name == name).collect()
    };
    for name in ["sync", "average"] {
        let all = of(name);
        assert_eq!(all.iter().map(|one| one.workers).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
        assert!(all.windows(2).all(|two| two[1].seconds < two[0].seconds), "{all:?}");
        assert!(all[0].idle.abs() < 1e-9);
    }
    for (sync, average) in of("sync").iter().zip(of("average")) {
        // Workers that wait less often wait for less.
        assert!(average.seconds <= sync.seconds * (1.0 + 1e-9));
        assert_eq!(average.steps, sync.steps);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = folder();
    let refused = |arguments: &[&str]| {
        let output = lab(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let error = refused(&["run", "small.toml", "--workers", "1000"]);
    assert!(error.contains("1000") && error.contains("hint"), "{error}");
    let error = refused(&["run", "small.toml", "--workers", "100000"]);
    assert!(error.contains("a number from 1 to 4096"), "{error}");
    // All workers would report it: it is reported once, without a worker.
    assert!(refused(&["run", "small.toml", "--workers", "62"]).starts_with("error: sync: 61 "));
    fs::write(folder.path().join("x.toml"), format!("scaling = 4097\n{EXPERIMENT}")).unwrap();
    assert!(refused(&["check", "x.toml"]).contains("x.toml: `scaling` is 4097"));
    let error = refused(&["run", "small.toml", "--mode", "mean"]);
    assert!(error.contains("there is no mode `mean`"), "{error}");
}

#[cfg(unix)]
#[test]
fn asked_to_stop_all_workers_stop_together_and_others_go_on() {
    let folder = folder();
    for (mode, more) in [("sync", "3"), ("average", "2")] {
        let run = |workers: &str, epochs: &str| {
            let mut command = lab(folder.path());
            command.args(["run", "small.toml", "--only", mode, "--workers", workers]);
            command.args(["--epochs", epochs, "--out", mode, "--trace", &format!("{mode}-trace")]);
            command
        };
        let child = run("4", "100000")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let trace = folder.path().join(format!("{mode}-trace"));
        shell::wait_for(|| lines(&trace, 3).len() > 40);
        shell::signal("-INT", child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        let progress = checkpoint(&folder.path().join(mode));
        let over = progress["epochs"].as_array().unwrap().len() as u32;
        let cut: u64 = progress["taken"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["steps"].as_u64().unwrap())
            .sum();
        fs::rename(&trace, folder.path().join("before")).unwrap();
        let output = run(more, &(over + 1).to_string()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        shell::once_each_of_two(
            (&folder.path().join("before"), 4),
            (&trace, more.parse().unwrap()),
            mode,
            over + 1,
            cut,
        );
        fs::remove_dir_all(folder.path().join("before")).unwrap();
    }
}

#[test]
fn one_worker_is_what_there_was_without_workers() {
    let task = &tasks()[0];
    let training = training("blurred", "padded:400", 1, Mode::Sync);
    let by_thread = trained(task, Mode::Sync, &[(0, 1)]);
    let size = Experiment::parse("small", EXPERIMENT).unwrap().model;
    let model = Model::fitting(&size, &task.training).unwrap();
    let evaluator = Evaluator::new(task, Budget::sequences(4)).unwrap();
    let learning = Learning::default();
    let setup = Setup {
        engine: &Cpu,
        model: &model,
        data: &task.training,
        evaluator: &evaluator,
        learning: &learning,
    };
    let mut trial = Trial::new(setup, &training, &Alone).unwrap();
    while !trial.finished() {
        let stepped = trial.step(Requests::default()).unwrap();
        let plan = training.planner.plan(trial.lengths(), 0).unwrap();
        if trial.progress().epochs.is_empty() {
            let at = trial.progress().steps_of_epoch() - 1;
            let batch = &stepped.batches[0].sequences;
            assert_eq!(plan.get(at), Some(&batch[..]), "the order of the plan");
        }
    }
    assert_eq!(trial.snapshot().unwrap().weights, by_thread.weights);
}
