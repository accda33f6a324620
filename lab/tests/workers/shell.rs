//! The command with several workers, and what it leaves.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde::Deserialize;

/// A small experiment: both modes, two epochs.
pub(crate) const EXPERIMENT: &str = r#"
title = "A small experiment"
epochs = 2

[task]
kind = "handwriting"
training = 61
validation = 8

[model]
units = 12

[batches]
budget = "sequences:2"
strategy = "optimal-buckets:count=3"
arrange = "short-first"

[[run]]
name = "sync"
mode = "sync"

[[run]]
name = "average"
mode = "average"
"#;

/// How many sequences it has.
pub(crate) const SEQUENCES: u32 = 61;

pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), EXPERIMENT).unwrap();
    folder
}

pub(crate) fn lab(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lengthwise-lab"));
    command.current_dir(folder).stdin(Stdio::null()).env("RAYON_NUM_THREADS", "1");
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A line of a trace.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) run: String,
    pub(crate) workers: usize,
    pub(crate) epoch: u32,
    pub(crate) step: u64,
    pub(crate) sequences: Vec<u32>,
    pub(crate) length: u32,
    pub(crate) parameters: String,
}

/// The whole lines of a worker.
pub(crate) fn lines(trace: &Path, rank: usize) -> Vec<Line> {
    let text = fs::read_to_string(trace.join(format!("worker-{rank}.jsonl"))).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn count(
    trace: &Path,
    workers: usize,
    which: impl Fn(&Line) -> bool,
    seen: &mut BTreeMap<u32, u32>,
) {
    for rank in 0..workers {
        for line in lines(trace, rank).iter().filter(|line| which(line)) {
            for &sequence in &line.sequences {
                *seen.entry(sequence).or_default() += 1;
            }
        }
    }
}

fn check(seen: &BTreeMap<u32, u32>, epoch: u32) {
    let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "epoch {epoch}: seen more than once: {twice:?}");
    assert_eq!(seen.len(), SEQUENCES as usize, "epoch {epoch}: some were not seen");
}

/// All sequences were trained on in an epoch, each once, by those lines of a run.
pub(crate) fn once_each(
    trace: &Path,
    workers: usize,
    run: &str,
    epoch: u32,
    which: impl Fn(&Line) -> bool,
) {
    let mut seen = BTreeMap::new();
    count(trace, workers, |line| line.run == run && line.epoch == epoch && which(line), &mut seen);
    check(&seen, epoch);
}

/// The same where others went on after `cut` steps of the epoch; what was done after that is lost.
pub(crate) fn once_each_of_two(
    before: (&Path, usize),
    after: (&Path, usize),
    run: &str,
    epoch: u32,
    cut: u64,
) {
    let mut seen = BTreeMap::new();
    let of = |line: &Line| line.run == run && line.epoch == epoch;
    count(before.0, before.1, |line| of(line) && line.step <= cut, &mut seen);
    count(after.0, after.1, of, &mut seen);
    check(&seen, epoch);
}

/// How far the training is that is kept in a folder.
pub(crate) fn checkpoint(folder: &Path) -> serde_json::Value {
    let mut kept =
        fs::read_dir(folder.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
    let path = kept.find(|path| path.extension().is_some_and(|end| end == "safetensors")).unwrap();
    let data = fs::read(path).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&data).unwrap();
    let about = &metadata.metadata().as_ref().unwrap()["lengthwise"];
    let about: serde_json::Value = serde_json::from_str(about).unwrap();
    about["place"].clone()
}

/// Waits for something, for a minute at most.
pub(crate) fn wait_for(done: impl Fn() -> bool) {
    for _ in 0..6000 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen in a minute");
}

pub(crate) fn signal(which: &str, process: u32) {
    let sent = Command::new("kill").args([which, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}
