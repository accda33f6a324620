//! Trainings of every kind of model: padding changes nothing, threads change nothing, and a training that was
//! stopped continues as if it had not been.
#![expect(clippy::unwrap_used, reason = "tests")]

use lengthwise::{Budget, Planner, Strategy, Update, strategy::SemiSorted};
use lengthwise_lab::{
    Evaluator, Learning, Optimizer, Requests, Schedule, Setup, Snapshot, Trained, Trial,
    batch::{Batch, Piece},
    collective::{Alone, Mode},
    data::{Dataset, Inputs, Ragged, Targets, Task, Words},
    load_checkpoint,
    model::{Model, Size},
    save_checkpoint,
};
use lengthwise_nn::{Cpu, Engine as _};

fn wave(at: usize, seed: f64) -> f32 {
    (seed * (at + 1) as f64 + 0.3 * (at as f64).sqrt()).sin() as f32
}

fn names(count: u32) -> Vec<String> {
    (0..count).map(|name| name.to_string()).collect()
}

/// Lengths from 3 to 12.
fn length(sequence: usize) -> usize {
    3 + sequence * 7 % 10
}

fn frames(count: usize, width: usize, times: usize) -> Ragged<f32> {
    let mut all = Ragged::new(width);
    for sequence in 0..count {
        let seed = 0.2 + 0.37 * (sequence % 4) as f64;
        all.push((0..length(sequence) * times * width).map(|at| wave(at, seed)));
    }
    all
}

fn symbols(count: usize) -> Ragged<u32> {
    let mut all = Ragged::new(1);
    for sequence in 0..count {
        all.push((0..length(sequence)).map(|at| ((at * 3 + sequence % 4) % 5) as u32));
    }
    all
}

fn labels(count: usize, with_words: bool) -> Targets {
    let mut values = Ragged::new(1);
    let mut spoken = Ragged::new(1);
    for sequence in 0..count {
        let word = (sequence % 2) as u32;
        let half = length(sequence) / 2;
        values.push((0..length(sequence)).map(|at| 2 * word + u32::from(at >= half)));
        spoken.push([word]);
    }
    let words =
        with_words.then(|| Words { names: names(2), states: vec![vec![0, 1], vec![2, 3]], spoken });
    Targets::Labels { names: names(4), values, words }
}

fn transcripts(count: usize) -> Targets {
    let mut values = Ragged::new(1);
    for sequence in 0..count {
        values.push([(sequence % 4) as u32, 1].into_iter().take(1 + sequence % 2));
    }
    Targets::Transcripts { names: names(4), values }
}

/// One task for each kind of model.
fn tasks() -> Vec<Task> {
    let part = |which: usize, count: usize| {
        let shown = |values| Inputs::Symbols { names: names(5), values };
        let (inputs, targets) = match which {
            0 => (Inputs::Frames(frames(count, 3, 1)), labels(count, true)),
            1 => (Inputs::Frames(frames(count, 3, 1)), transcripts(count)),
            2 => {
                let values = (0..count).map(|sequence| (sequence % 4) as u32).collect();
                (shown(symbols(count)), Targets::Classes { names: names(4), values })
            }
            3 => (shown(symbols(count)), Targets::Frames(frames(count, 2, 2))),
            _ => (shown(symbols(count)), labels(count, false)),
        };
        Dataset { inputs, targets }
    };
    let kinds = ["words", "transcripts", "classes", "frames", "labels"];
    let task = |(which, name): (usize, &&str)| Task {
        name: (*name).to_owned(),
        source: "the tests".to_owned(),
        training: part(which, 22),
        validation: part(which, 6),
    };
    kinds.iter().enumerate().map(task).collect()
}

fn size() -> Size {
    Size { layers: 2, units: 9, both: true, embedding: 4, ..Size::default() }
}

fn learning(optimizer: Optimizer) -> Learning {
    let rate = if optimizer == Optimizer::Adam { 0.02 } else { 1.0 };
    Learning { optimizer, rate, schedule: Schedule::Cosine, warmup: 0.1, ..Learning::default() }
}

fn training(chunk: Option<u32>, epochs: u32) -> Trained {
    Trained {
        name: "the tests".to_owned(),
        seed: 5,
        planner: planner().seed(5),
        chunk,
        settings: String::new(),
        workers: 1,
        mode: Mode::Sync,
        epochs,
    }
}

fn planner() -> Planner<Strategy> {
    Planner::new(Strategy::SemiSorted(SemiSorted { noise: 0.3 }), Budget::sequences(4))
}

#[test]
fn tasks_of_the_tests_can_be_learnt_from() {
    for task in tasks() {
        task.check().unwrap();
    }
}

#[test]
fn more_padding_changes_neither_losses_nor_gradients() {
    for task in tasks() {
        let data = &task.training;
        let model = Model::new(&size(), data);
        let parameters = Cpu.upload(model.start(3)).unwrap();
        let pieces: Vec<Piece> = (0..5)
            .map(|sequence| Piece { sequence, offset: 0, length: data.length(sequence) })
            .collect();
        let longest = pieces.iter().map(|piece| piece.length).max().unwrap();
        let pass = |steps: usize| {
            let batch = Batch::new(data, &pieces, steps);
            let passed = model.pass(&Cpu, &parameters, &batch).unwrap();
            let mut gradient = Cpu.zeros(parameters.len()).unwrap();
            (passed.backward(&mut gradient).unwrap(), gradient)
        };
        let ((short, exact), (long, padded)) = (pass(longest), pass(longest + 9));
        assert!((short.total - long.total).abs() <= 1e-6 * short.total, "{}", task.name);
        assert_eq!((short.count, short.correct), (long.count, long.correct));
        let largest = exact.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!(largest > 0.0);
        for (exact, padded) in exact.iter().zip(padded.iter()) {
            assert!((exact - padded).abs() <= 2e-6 * largest, "{}: {exact} {padded}", task.name);
        }
    }
}

/// Trains to the end; where `stops` says so, the training is kept on disk and read back.
fn train(task: &Task, epochs: u32, chunk: Option<u32>, stops: impl Fn(u64) -> bool) -> Snapshot {
    train_as(&training(chunk, epochs), task, stops)
}

fn train_as(training: &Trained, task: &Task, stops: impl Fn(u64) -> bool) -> Snapshot {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept");
    let model = Model::new(&size(), &task.training);
    let evaluator = Evaluator::new(task, Budget::sequences(4)).unwrap();
    let learning = learning(match task.name.as_str() {
        "transcripts" => Optimizer::Adadelta,
        _ => Optimizer::Adam,
    });
    let setup = Setup {
        engine: &Cpu,
        model: &model,
        data: &task.training,
        evaluator: &evaluator,
        learning: &learning,
    };
    let mut trial = Trial::new(setup, training, &Alone).unwrap();
    while !trial.finished() {
        trial.step(Requests::default()).unwrap();
        if stops(trial.progress().steps) {
            save_checkpoint(&file, &model, "the same", &trial.snapshot().unwrap()).unwrap();
            let kept = load_checkpoint(&file, &model, "the same").unwrap().unwrap();
            trial = Trial::resume(setup, training, &Alone, kept).unwrap();
        }
    }
    trial.snapshot().unwrap()
}

fn bits(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.weights[0].parameters.iter().map(|value| value.to_bits()).collect()
}

/// What was measured, without the clock and the memory: how much is in use at a time depends on what
/// threads do at once, and on other tests.
fn measured(snapshot: &Snapshot) -> Vec<String> {
    let timeless = |epoch: &lengthwise_lab::report::TrainingEpoch| {
        let mut epoch = epoch.clone();
        (epoch.seconds, epoch.peak_bytes) = (0.0, 0);
        format!("{epoch:?}")
    };
    snapshot.progress.epochs.iter().map(timeless).collect()
}

#[test]
fn steps_of_several_micro_batches_end_the_same_after_a_stop() {
    let task = &tasks()[0];
    let mut training = training(None, 2);
    training.planner = training.planner.update(Update::Sequences(8));
    let whole = train_as(&training, task, |_| false);
    let epoch = &whole.progress.epochs[0];
    // Of 22 sequences in batches of 4: three steps of two batches.
    assert_eq!((epoch.steps, epoch.sequences), (3, 22));
    for stop in [1, 2, 3, 5] {
        let resumed = train_as(&training, task, |steps| steps == stop);
        assert_eq!(bits(&whole), bits(&resumed), "stopped after {stop}");
        assert_eq!(measured(&whole), measured(&resumed), "stopped after {stop}");
    }
}

#[test]
fn a_training_that_was_stopped_ends_as_one_that_was_not() {
    for task in tasks() {
        let whole = train(&task, 3, None, |_| false);
        // Six batches an epoch: stopped within the first, at its end, and in the last.
        for stop in [1, 4, 6, 17] {
            let resumed = train(&task, 3, None, |steps| steps == stop);
            assert_eq!(bits(&whole), bits(&resumed), "{} stopped after {stop}", task.name);
            assert_eq!(measured(&whole), measured(&resumed), "{} after {stop}", task.name);
        }
        let often = train(&task, 3, None, |_| true);
        assert_eq!(bits(&whole), bits(&often));
        assert_eq!(whole.weights, often.weights);
    }
}

#[test]
fn every_kind_of_model_learns() {
    for task in tasks() {
        let trained = train(&task, 20, None, |_| false);
        let losses: Vec<f64> = trained.progress.epochs.iter().map(|epoch| epoch.loss).collect();
        let validation = |at: usize| trained.progress.epochs[at].validation.as_ref().unwrap().loss;
        assert!(losses[19] < 0.6 * losses[0], "{}: {losses:?}", task.name);
        assert!(validation(19) < 0.8 * validation(0), "{}", task.name);
    }
}

#[test]
fn measures_of_an_epoch_are_those_of_its_plan() {
    let task = &tasks()[0];
    let trained = train(task, 1, None, |_| false);
    let lengths: Vec<u32> = (0..22).map(|sequence| length(sequence) as u32).collect();
    let lengths = lengths_of(lengths);
    let plan = planner().seed(5).plan(&lengths, 0).unwrap();
    let measures = plan.measure(&lengths);
    let epoch = &trained.progress.epochs[0];
    assert_eq!(epoch.steps, plan.len() as u64);
    assert_eq!((epoch.sequences, epoch.frames), (22, lengths.total()));
    assert_eq!((epoch.cells, epoch.shapes), (measures.cells, measures.shapes));
    // Words are decoded from their states.
    assert_eq!(epoch.validation.as_ref().unwrap().more[0].0, "word error rate");
}

fn lengths_of(lengths: Vec<u32>) -> lengthwise::Lengths {
    lengthwise::Lengths::new(lengths).unwrap()
}

#[test]
fn pieces_of_sequences_are_trained_on_one_by_one() {
    let task = &tasks()[4];
    let whole = train(task, 1, None, |_| false);
    let pieces = train(task, 1, Some(4), |_| false);
    let (whole, pieces) = (&whole.progress.epochs[0], &pieces.progress.epochs[0]);
    assert_eq!((whole.frames, whole.sequences), (pieces.frames, pieces.sequences));
    assert!(pieces.steps > whole.steps && pieces.cells < whole.cells);
}

#[test]
fn threads_change_nothing() {
    for task in tasks() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bits(&train(&task, 2, None, |_| false)))
        };
        assert!(with(1) == with(2) && with(2) == with(3), "{}", task.name);
    }
}

#[test]
fn training_ends_when_nothing_gets_better_or_all_is_lost() {
    let task = &tasks()[4];
    let model = Model::new(&size(), &task.training);
    let evaluator = Evaluator::new(task, Budget::sequences(4)).unwrap();
    let run = |learning: &Learning| {
        let setup = Setup {
            engine: &Cpu,
            model: &model,
            data: &task.training,
            evaluator: &evaluator,
            learning,
        };
        let training = training(None, 50);
        let mut trial = Trial::new(setup, &training, &Alone).unwrap();
        while !trial.finished() {
            if trial.step(Requests::default()).unwrap().over {
                assert_eq!(trial.progress().taken, []);
            }
        }
        trial.snapshot().unwrap().progress
    };
    // A rate so small that the loss stays, up to its last digits.
    let patient = run(&Learning { rate: 1e-30, patience: 3, ..Learning::default() });
    assert_eq!(patient.ended, Some(lengthwise_lab::Ended::Patience));
    assert_eq!(patient.epochs.len(), 4);
    let lost = run(&Learning { rate: f32::MAX, clip: 0.0, ..Learning::default() });
    assert_eq!(lost.ended, Some(lengthwise_lab::Ended::Diverged));
    assert!(!lost.epochs.last().unwrap().loss.is_finite());
}

#[test]
fn checkpoints_of_other_settings_or_with_damage_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept");
    let task = &tasks()[0];
    let model = Model::new(&size(), &task.training);
    assert_eq!(load_checkpoint(&file, &model, "a").unwrap(), None);
    let snapshot = train(task, 1, None, |_| false);
    save_checkpoint(&file, &model, "a", &snapshot).unwrap();
    assert_eq!(load_checkpoint(&file, &model, "a").unwrap(), Some(snapshot));
    let refused = |identity: &str| {
        let error = load_checkpoint(&file, &model, identity).unwrap_err();
        assert!(error.hint().unwrap().contains("--fresh"));
        error.to_string()
    };
    assert!(refused("b").ends_with("it was made with other settings or other data"));
    let bytes = std::fs::read(&file).unwrap();
    let cut =
        [0, 1, 8, 300, bytes.len() / 2, bytes.len() - 5].map(|length| bytes[..length].to_vec());
    for data in cut.into_iter().chain([b"hello".to_vec(), [&bytes[..], &[0]].concat()]) {
        std::fs::write(&file, &data).unwrap();
        let said = refused("a");
        assert!(said.contains("kept: this is no checkpoint of ours, or it is damaged"), "{said}");
    }
}

#[test]
fn a_checkpoint_with_a_changed_bit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept");
    let task = &tasks()[0];
    let model = Model::new(&size(), &task.training);
    save_checkpoint(&file, &model, "a", &train(task, 1, None, |_| false)).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    // All that is said about the numbers, and some of the numbers.
    for at in (0..header).chain((header..bytes.len()).step_by(997)) {
        let mut data = bytes.clone();
        data[at] ^= 1 << (at % 8);
        std::fs::write(&file, &data).unwrap();
        let error = load_checkpoint(&file, &model, "a").unwrap_err();
        assert!(error.hint().unwrap().contains("--fresh"), "{error}");
        if at >= header {
            assert!(error.to_string().contains("(expected the checksum "), "{error}");
        }
    }
    std::fs::write(&file, &bytes).unwrap();
    assert!(load_checkpoint(&file, &model, "a").unwrap().is_some());
}
