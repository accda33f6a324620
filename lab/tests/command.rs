//! The command as it is used from a shell.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use lengthwise_lab::report::Training;
use safetensors::SafeTensors;

/// A small experiment: two runs of three epochs, a second or so.
const SMALL: &str = r#"
title = "A small experiment"
epochs = 3

[task]
kind = "handwriting"
training = 48
validation = 8

[model]
units = 12

[batches]
budget = "sequences:4"

[[run]]
name = "random"
strategy = "shuffled"

[[run]]
name = "semi sorted/ü"
strategy = "semi-sorted:noise=0.2"
arrange = "shuffled"
"#;

fn lab(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lengthwise-lab"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    lab(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn small() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

/// What is wrong with an experiment, on a line, and what to do.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    text(&output.stderr)
}

#[test]
fn an_experiment_leaves_its_results_and_a_page() {
    let folder = small();
    let output = run(folder.path(), &["run", "small.toml", "--device", "cpu"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (out, log) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("semi sorted/ü") && out.contains("padding"), "{out}");
    assert!(log.contains("random, seed 1: epoch 3/3 in "), "{log}");
    let results = folder.path().join("runs/small/results.jsonl");
    let training = Training::from_jsonl(&fs::read_to_string(&results).unwrap()).unwrap();
    assert_eq!(training.runs.len(), 2);
    assert!(training.runs.iter().all(|run| run.epochs.len() == 3));
    let page = fs::read_to_string(folder.path().join("runs/small/report.html")).unwrap();
    assert!(page.contains("A small experiment"));
    // The same once more, from what was kept.
    let again = run(folder.path(), &["report", "runs/small", "-o", "page.html"]);
    assert_eq!(text(&again.stdout), out);
    assert_eq!(fs::read_to_string(folder.path().join("page.html")).unwrap(), page);
    // All is done already, and more epochs go on from there.
    let done = run(folder.path(), &["run", "small.toml", "--device", "cpu"]);
    let told = text(&done.stderr);
    assert!(done.status.success() && !told.contains("epoch"), "{told}");
    assert!(told.contains("Nothing was trained"), "{told}");
    assert!(told.contains(" run small.toml --device cpu --fresh\n"), "{told}");
    assert!(!log.contains("Nothing was trained"), "{log}");
    let more = run(folder.path(), &["run", "small.toml", "--epochs", "4", "--device", "cpu"]);
    let log = text(&more.stderr);
    assert!(log.contains("epoch 4/4") && !log.contains("epoch 3/"), "{log}");
}

/// The numbers of every checkpoint; times are elsewhere.
fn numbers(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder.join("checkpoints")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let data = fs::read(&path).unwrap();
        let tensors = SafeTensors::deserialize(&data).unwrap();
        for (tensor, view) in tensors.tensors() {
            all.push((format!("{name} {tensor}"), view.data().to_vec()));
        }
    }
    all.sort();
    all
}

#[test]
fn killed_at_any_moment_it_goes_on_to_the_same_weights() {
    let folder = small();
    let path = folder.path();
    let arguments = ["run", "small.toml", "--device", "cpu", "-q", "--save-every", "0.01"];
    assert!(run(path, &[&arguments[..], &["--out", "whole"]].concat()).status.success());
    let whole = numbers(&path.join("whole"));
    // Two runs, each with its layers and the two states of its optimizer.
    assert_eq!(whole.len(), 2 * (6 + 2 + 2));
    for trial in 0..20_u64 {
        let out = format!("killed-{trial}");
        let arguments = [&arguments[..], &["--out", &out]].concat();
        // Times that come to every part of the work; shorter ones where it was done before.
        let mut wait = 20 + (trial * 67) % 400;
        let mut killed = 0;
        for _ in 0..50 {
            let mut child = lab(path)
                .args(&arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(wait));
            if child.try_wait().unwrap().is_none() {
                killed += 1;
            } else {
                wait /= 2;
                fs::remove_dir_all(path.join(&out)).unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            // Twice, as what goes on may be killed too.
            if killed == 2 {
                break;
            }
        }
        assert_eq!(killed, 2, "trial {trial} was always done before");
        let last = run(path, &arguments);
        assert!(last.status.success(), "{}", text(&last.stderr));
        assert!(numbers(&path.join(&out)) == whole, "trial {trial} has other weights");
    }
}

#[cfg(unix)]
#[test]
fn asked_to_stop_it_keeps_everything() {
    let folder = small();
    let child = lab(folder.path())
        .args(["run", "small.toml", "--device", "cpu", "--epochs", "100000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until something is trained.
    let results = folder.path().join("runs/small/results.jsonl");
    for _ in 0..600 {
        if results.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    let log = text(&output.stderr);
    assert!(log.ends_with("the same command continues from here (saved in runs/small)\n"), "{log}");
    assert!(Training::from_jsonl(&fs::read_to_string(&results).unwrap()).is_ok());
}

#[test]
fn what_is_kept_of_other_settings_is_not_gone_on_with() {
    let folder = small();
    let path = folder.path();
    assert!(run(path, &["run", "small.toml", "-q", "--epochs", "1"]).status.success());
    fs::write(path.join("small.toml"), SMALL.replace("units = 12", "units = 13")).unwrap();
    let error = refused(path, &["run", "small.toml", "-q", "--epochs", "1"]);
    assert!(error.contains("made with other settings or other data: `model.units`\n"), "{error}");
    assert!(error.contains("--fresh"), "{error}");
    assert!(run(path, &["run", "small.toml", "-q", "--epochs", "1", "--fresh"]).status.success());
}

#[test]
fn a_damaged_checkpoint_is_deleted_to_repeat_its_training_only() {
    let folder = small();
    let path = folder.path();
    let small = ["run", "small.toml", "--device", "cpu", "--epochs", "1"];
    let results = || {
        let text = fs::read_to_string(path.join("runs/small/results.jsonl")).unwrap();
        let runs = Training::from_jsonl(&text).unwrap().runs;
        runs.iter().map(|run| run.epochs[0].loss).collect::<Vec<f64>>()
    };
    assert!(run(path, &small).status.success());
    let (before, file) = (results(), "runs/small/checkpoints/01-random-seed-1.safetensors");
    fs::write(path.join(file), "damaged").unwrap();
    let error = refused(path, &small);
    assert!(error.contains(file) && error.contains("or delete this file to repeat"), "{error}");
    fs::remove_file(path.join(file)).unwrap();
    let output = run(path, &small);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(told.contains("random, seed 1: epoch 1/1") && !told.contains("ü, seed 1"), "{told}");
    assert_eq!(results(), before);
}

#[test]
fn experiments_that_make_no_sense_are_refused_by_line() {
    let folder = small();
    let path = folder.path();
    let with = |from: &str, to: &str| {
        assert!(SMALL.contains(from));
        fs::write(path.join("x.toml"), SMALL.replace(from, to)).unwrap();
        refused(path, &["run", "x.toml"])
    };
    let error = with("shuffled\"\n\n", "shufled\"\n\n");
    assert!(error.contains("x.toml:18: unknown strategy `shufled` (did you mean"), "{error}");
    assert!(error.contains("`shuffled`? `lengthwise explain` lists all)"), "{error}");
    assert!(with("sequences:4", "sequences:0").contains("x.toml:"));
    let packed = with("strategy = \"shuffled\"", "strategy = \"packed\"");
    assert!(packed.contains("the run \"random\" packs several sequences into a row"), "{packed}");
    assert!(with("units = 12", "unit = 12").contains("unknown field `unit`"));
    assert!(with("units = 12", "units = 0").contains("without layers or units"));
    assert!(with("epochs = 3", "epochs = 0").contains("expected epochs from 1, got 0"));
    assert!(with("epochs = 3", "epochs = 3\nseeds = []").contains("there are no seeds"));
    assert!(with("semi sorted/ü", "random").contains("two runs are called \"random\""));
    assert!(
        with("kind = \"handwriting\"", "kind = \"music\"").contains("there is no kind `music`")
    );
    assert!(with("strategy = \"shuffled\"\n", "").contains("the run \"random\" has no strategy"));
    let error = refused(path, &["run", "nothing.toml"]);
    assert!(error.contains("nothing.toml") && error.contains("paper1-table2"), "{error}");
    let error = refused(path, &["run", "small.toml", "--only", "sorted"]);
    assert!(error.contains("no run is called \"sorted\"") && error.contains("\"random\""));
    let error = refused(path, &["report", "small.toml"]);
    assert!(error.contains("small.toml"), "{error}");
    let error = refused(path, &["show", "nothing"]);
    assert!(error.contains("lengthwise-lab show"), "{error}");
}

#[test]
fn experiments_that_are_built_in_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let list = run(folder.path(), &["show"]);
    let list = text(&list.stdout);
    for line in list.lines() {
        let name = line.split_whitespace().next().unwrap();
        let shown = run(folder.path(), &["show", name]);
        fs::write(folder.path().join("own.toml"), &shown.stdout).unwrap();
        let own = run(folder.path(), &["check", "own.toml"]);
        assert_eq!(own.stdout, run(folder.path(), &["check", name]).stdout);
        if text(&shown.stdout).contains("\n[task]") {
            assert!(own.status.success(), "{name}: {}", text(&own.stderr));
        } else {
            assert!(text(&own.stderr).contains("--data"), "{name}: {}", text(&own.stderr));
        }
    }
    // Every file is built in.
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut names: Vec<String> = fs::read_dir(files)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut listed: Vec<&str> =
        list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    listed.sort_unstable();
    assert_eq!(names, listed);
}

#[test]
fn the_experiment_of_the_guide_can_be_run() {
    let guide = include_str!("../../docs/laboratory.md");
    let (_, rest) = guide.split_once("```toml\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("guide.toml"), file).unwrap();
    let checked = run(folder.path(), &["check", "guide.toml"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert!(
        text(&checked.stdout)
            .contains("blurred:blur=0.02 dynamic:4 exact spread update sequences:16")
    );
}

#[test]
fn only_sequences_with_labels_are_cut() {
    let folder = small();
    let path = folder.path();
    for (kind, what) in [
        ("handwriting", "a transcript of a whole sequence"),
        ("documents", "a class of a whole sequence"),
        ("voice", "vectors of a whole sequence"),
    ] {
        let cut = SMALL
            .replace("\"handwriting\"", &format!("{kind:?}"))
            .replace("arrange", "chunk = 8\narrange");
        fs::write(path.join("cut.toml"), cut).unwrap();
        for command in ["check", "run"] {
            let error = refused(path, &[command, "cut.toml"]);
            assert!(error.contains("semi sorted/ü: `chunk` is 8"), "{error}");
            assert!(error.contains(what) && !error.contains("epoch"), "{error}");
        }
    }
}

#[test]
fn the_same_seed_twice_is_no_second_seed() {
    let folder = small();
    let path = folder.path();
    let error = refused(path, &["run", "small.toml", "--seeds", "3,1,3"]);
    assert!(error.contains("the seed 3 is given twice"), "{error}");
    fs::write(path.join("x.toml"), SMALL.replace("epochs = 3", "epochs = 3\nseeds = [1, 1]"))
        .unwrap();
    assert!(refused(path, &["check", "x.toml"]).contains("x.toml: the seed 1 is given twice"));
    // The first seed of many programs.
    fs::write(path.join("x.toml"), SMALL.replace("epochs = 3", "epochs = 1\nseeds = [0]")).unwrap();
    let output = run(path, &["run", "x.toml", "-q"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn settings_of_the_data_are_refused_by_line() {
    let folder = small();
    let path = folder.path();
    fs::write(path.join("x.toml"), SMALL.replace("training = 48", "trainings = 48")).unwrap();
    let error = refused(path, &["check", "x.toml"]);
    assert!(error.contains("x.toml:5: data: unknown field `trainings`"), "{error}");
    let data = SMALL.replace("[model]", "[data]\nlabelz = 1\n\n[model]");
    fs::write(path.join("x.toml"), data).unwrap();
    fs::write(path.join("words.tsv"), "a\tb\n").unwrap();
    let error = refused(path, &["check", "x.toml", "--data", "words.tsv"]);
    assert!(error.contains("x.toml:10: data: unknown field `labelz`"), "{error}");
    let error = refused(path, &["check", "x.toml", "--data", "nowhere"]);
    assert!(error.contains("error: nowhere: no such file"), "{error}");
}

#[test]
fn what_cannot_be_trained_is_refused_with_a_hint_that_helps() {
    let folder = small();
    let path = folder.path();
    let with = |from: &str, to: &str| {
        assert!(SMALL.contains(from));
        fs::write(path.join("x.toml"), SMALL.replace(from, to)).unwrap();
        refused(path, &["check", "x.toml"])
    };
    let error = with("sequences:4", "padded:5");
    assert!(error.contains("random: sequence") && error.contains("raise the `budget`"), "{error}");
    assert!(!error.contains("--over-long"), "{error}");
    assert!(with("units = 12", "units = 9000000000").contains("x.toml: a model of"));
    assert!(with("units = 12", "layers = 4000000000").contains("x.toml: a model of"));
    assert!(with("units = 12", "units = 50000").contains("parameters"));
    assert!(with("\"random\"", "\" \"").contains("a run has an empty name"));
    let error = refused(path, &["run", "small.toml", "--layers", "4000000000"]);
    assert!(error.contains("a model of 4000000000 layers"), "{error}");
    let error = refused(path, &["run", "small.toml", "--threads", "100000"]);
    assert!(error.contains("--threads"), "{error}");
}

#[test]
fn some_runs_go_on_from_where_they_were_among_all() {
    let folder = small();
    let path = folder.path();
    let long = SMALL.replace("\"semi sorted/ü\"", &format!("{:?}", "ü".repeat(300)));
    fs::write(path.join("small.toml"), long).unwrap();
    let quiet = ["run", "small.toml", "--device", "cpu", "--epochs", "1", "--only"];
    let only = |name: &str| run(path, &[&quiet[..], &[name]].concat());
    let all = run(path, &quiet[..6]);
    assert!(all.status.success(), "{}", text(&all.stderr));
    for name in ["random", &"ü".repeat(300)] {
        let output = only(name);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("epoch 1/1"), "{}", text(&output.stderr));
    }
}

#[test]
fn fewer_epochs_than_are_kept_are_shown_as_they_were() {
    let folder = small();
    let path = folder.path();
    let results = |epochs: &str, out: &str| {
        assert!(
            run(path, &["run", "small.toml", "-q", "--epochs", epochs, "-o", out]).status.success()
        );
        let text = fs::read_to_string(path.join(out).join("results.jsonl")).unwrap();
        let training = Training::from_jsonl(&text).unwrap();
        let losses = training.runs.iter().map(|run| run.epochs.iter().map(|epoch| epoch.loss));
        losses.map(Iterator::collect::<Vec<f64>>).collect::<Vec<_>>()
    };
    assert_eq!(results("1", "one").iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    results("2", "two");
    assert_eq!(results("1", "two"), results("1", "one"));
}

#[test]
fn a_run_can_have_epochs_of_its_own() {
    let folder = small();
    let path = folder.path();
    let uneven = format!("{SMALL}epochs = 5\n");
    fs::write(path.join("small.toml"), &uneven).unwrap();
    // The learning rate falls over the epochs of each run.
    let learning = "[learning]\nschedule = \"linear\"\n\n[batches]";
    fs::write(path.join("falling.toml"), uneven.replace("[batches]", learning)).unwrap();
    let results = |arguments: &[&str]| {
        let output = run(path, &[&["run"], arguments, &["--device", "cpu"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let out = arguments[arguments.len() - 1];
        let found = fs::read_to_string(path.join(out).join("results.jsonl")).unwrap();
        let found = Training::from_jsonl(&found).unwrap();
        assert_eq!(found.about[3].0, "learning");
        let losses = found.runs.iter().map(|run| run.epochs.iter().map(|epoch| epoch.loss));
        (found.about[3].1.clone(), losses.map(Iterator::collect).collect::<Vec<Vec<f64>>>(), output)
    };
    let (about, uneven, output) = results(&["small.toml", "-o", "uneven"]);
    assert!(about.ends_with(", 3 to 5 epochs"), "{about}");
    assert_eq!(uneven.iter().map(Vec::len).collect::<Vec<_>>(), [3, 5]);
    let told = text(&output.stderr);
    assert!(told.contains("random, seed 1: epoch 3/3 in "), "{told}");
    assert!(told.contains("semi sorted/ü, seed 1: epoch 5/5 in "), "{told}");
    // The command line speaks for all runs.
    let (about, same, _) = results(&["small.toml", "--epochs", "5", "-o", "same"]);
    assert!(about.ends_with(", 5 epochs"), "{about}");
    assert_eq!(same.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
    assert_eq!((&uneven[0][..], &uneven[1]), (&same[0][..3], &same[1]));
    let (_, uneven, _) = results(&["falling.toml", "-o", "falling"]);
    let (_, short, _) = results(&["falling.toml", "--epochs", "3", "-o", "three"]);
    let (_, long, _) = results(&["falling.toml", "--epochs", "5", "-o", "five"]);
    assert_eq!((&uneven[0], &uneven[1]), (&short[0], &long[1]));
    assert_ne!(short[0][..], long[0][..3]);
    // Its parts become one.
    for (name, out) in [("random", "a"), ("semi sorted/ü", "b")] {
        results(&["small.toml", "--only", name, "-o", out]);
    }
    let joined = run(path, &["report", "a", "b", "--results-output", "joined.jsonl"]);
    assert!(joined.status.success(), "{}", text(&joined.stderr));
    // What is read is not written over, nor is what was just written.
    let kept = fs::read(path.join("joined.jsonl")).unwrap();
    for outputs in [
        &["-o", "joined.jsonl"][..],
        &["-o", "./joined.jsonl"],
        &["--results-output", "joined.jsonl"],
        &["-o", "new", "--results-output", "./new"],
    ] {
        let error = refused(path, &[&["report", "joined.jsonl"], outputs].concat());
        assert!(error.contains("this file is read, or is written already"), "{error}");
    }
    let error = refused(path, &["report", "a", "-o", "a/results.jsonl"]);
    assert!(error.contains("a/results.jsonl: this file is read"), "{error}");
    assert_eq!(fs::read(path.join("joined.jsonl")).unwrap(), kept);
    assert!(!path.join("new").exists());
    // Settings that the head does not list count as well.
    let clipped = SMALL.replace("[batches]", "[learning]\nclip = 0.5\n\n[batches]");
    fs::write(path.join("clipped.toml"), clipped).unwrap();
    results(&["clipped.toml", "--only", "random", "--seeds", "2", "-o", "clipped"]);
    let error = refused(path, &["report", "a", "clipped"]);
    assert!(error.contains("clipped: run \"random\" was trained on other data, with"), "{error}");
    // Parts of another model are no parts of it.
    results(&["small.toml", "--only", "random", "--seeds", "2", "--units", "13", "-o", "other"]);
    let error = refused(path, &["report", "a", "other"]);
    assert!(error.contains("other: expected the model of the first results, \"1 LSTM"), "{error}");
    fs::write(path.join("x.toml"), format!("{SMALL}epochs = 0\n")).unwrap();
    assert!(refused(path, &["run", "x.toml"]).contains("from 1"));
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = small();
    let path = folder.path();
    let checkpoints = path.join("runs/small/checkpoints");
    fs::create_dir_all(&checkpoints).unwrap();
    let lock = fs::File::create(checkpoints.join(".lock")).unwrap();
    lock.lock().unwrap();
    for more in [&[][..], &["--fresh"]] {
        let error = refused(path, &[&["run", "small.toml", "--epochs", "1"], more].concat());
        assert!(error.contains("another run is at work in this folder"), "{error}");
    }
    drop(lock);
    assert!(run(path, &["run", "small.toml", "-q", "--epochs", "1"]).status.success());
}

#[test]
fn to_begin_anew_leaves_the_files_of_others() {
    let folder = small();
    let path = folder.path();
    let checkpoints = path.join("runs/small/checkpoints");
    assert!(run(path, &["run", "small.toml", "-q", "--epochs", "1"]).status.success());
    fs::write(checkpoints.join("mine.safetensors"), "precious").unwrap();
    fs::write(checkpoints.join(".lengthwise-1-abc"), "cut short").unwrap();
    let output = run(path, &["run", "small.toml", "--epochs", "1", "--fresh"]);
    assert!(text(&output.stderr).contains("epoch 1/1"), "{}", text(&output.stderr));
    assert_eq!(fs::read(checkpoints.join("mine.safetensors")).unwrap(), b"precious");
    assert!(!checkpoints.join(".lengthwise-1-abc").exists());
    // What cannot be trained deletes nothing.
    fs::write(path.join("small.toml"), SMALL.replace("sequences:4", "padded:5")).unwrap();
    refused(path, &["run", "small.toml", "--fresh"]);
    assert!(path.join("runs/small/results.jsonl").exists());
}

/// The kept trainings.
fn checkpoints(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder.join("runs/small/checkpoints")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
    paths.sort();
    paths
}

#[test]
fn damaged_checkpoints_are_refused_until_training_anew() {
    let folder = small();
    let path = folder.path();
    let arguments = ["run", "small.toml", "--device", "cpu"];
    assert!(run(path, &arguments).status.success());
    let file = checkpoints(path)[1].clone();
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    let last = flipped.len() - 3;
    flipped[last] ^= 0x10;
    let name = file.file_name().unwrap().to_str().unwrap();
    for (data, why) in [
        (Vec::new(), "the file is empty"),
        (whole[..whole.len() / 2].to_vec(), "damaged"),
        (flipped, "expected the checksum"),
    ] {
        fs::write(&file, &data).unwrap();
        for more in [&[][..], &["--workers", "2"], &["--epochs", "4"]] {
            let error = refused(path, &[&arguments[..], more].concat());
            assert!(error.contains(name) && error.contains(why), "{error}");
            assert!(error.contains("--fresh"), "{error}");
            assert_eq!(fs::read(&file).unwrap(), data, "it must be left as it is");
        }
    }
    assert!(run(path, &[&arguments[..], &["--fresh"]].concat()).status.success());
    assert!(run(path, &arguments).status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_cannot_be_written_leave_those_before() {
    let folder = small();
    let path = folder.path();
    let arguments = ["run", "small.toml", "--device", "cpu", "--epochs"];
    assert!(run(path, &[&arguments[..], &["1"]].concat()).status.success());
    let kept = checkpoints(path).iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>();
    // Files of at most a few kilobytes.
    let output = Command::new("sh")
        .current_dir(path)
        .args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_lengthwise-lab"))
        .args([&arguments[..], &["2"]].concat())
        .output()
        .unwrap();
    let log = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{log}");
    assert!(log.contains("error: runs/small/") && log.contains(": file too large"), "{log}");
    assert!(log.contains("raise the limit on the size of files"), "{log}");
    assert!(log.contains("run the same command again"), "{log}");
    let left = checkpoints(path).iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>();
    assert!(left == kept);
    assert!(run(path, &[&arguments[..], &["2"]].concat()).status.success());
}

#[test]
fn runs_can_have_all_their_settings_themselves() {
    let folder = small();
    let path = folder.path();
    let own = SMALL
        .replace("[batches]\nbudget = \"sequences:4\"\n", "")
        .replace("strategy =", "budget = \"sequences:4\"\nstrategy =");
    assert!(!own.contains("[batches]"));
    fs::write(path.join("own.toml"), &own).unwrap();
    let loss = |file: &str, out: &str| {
        let arguments = ["run", file, "-q", "--device", "cpu", "--epochs", "1"];
        assert!(run(path, &arguments).status.success());
        let text = fs::read_to_string(path.join(out).join("results.jsonl")).unwrap();
        Training::from_jsonl(&text).unwrap().runs[0].epochs[0].loss
    };
    let (own_loss, shared) = (loss("own.toml", "runs/own"), loss("small.toml", "runs/small"));
    assert_eq!(own_loss.to_bits(), shared.to_bits());
    fs::write(path.join("none.toml"), own.replacen("budget = \"sequences:4\"\n", "", 1)).unwrap();
    let error = refused(path, &["run", "none.toml"]);
    assert!(error.contains("the run \"random\" has no budget"), "{error}");
}

#[test]
fn a_folder_of_texts_is_read_with_its_own_split() {
    let folder = small();
    let path = folder.path();
    let texts = path.join("treebank");
    fs::create_dir(&texts).unwrap();
    let sentences = |count: usize| -> String {
        let of = |at: usize| "the\tDET\ndog\tNOUN\nbarks\tVERB\n".repeat(1 + at % 4) + "\n";
        (0..count).map(of).collect()
    };
    fs::write(texts.join("train.tsv"), sentences(12)).unwrap();
    fs::write(texts.join("dev.tsv"), sentences(5)).unwrap();
    fs::write(texts.join("test.tsv"), "not to be read").unwrap();
    let output = run(path, &["check", "tags", "--data", "treebank"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let expected = "treebank (treebank): 12 sequences for training, 5 for validation";
    assert!(said.contains(expected), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_batch_that_memory_cannot_hold_is_refused_by_run() {
    let folder = small();
    let path = folder.path();
    let large = SMALL.replace("units = 12", "units = 20000").replace("sequences:4", "sequences:48");
    fs::write(path.join("large.toml"), large).unwrap();
    // So that it is not there on any machine.
    let output = Command::new("sh")
        .current_dir(path)
        .args(["-c", "ulimit -v 4000000; exec \"$0\" run large.toml --device cpu --threads 1"])
        .arg(env!("CARGO_BIN_EXE_lengthwise-lab"))
        .output()
        .unwrap();
    let log = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{log}");
    assert!(log.contains("random: a batch of ") || log.contains("parameters"), "{log}");
}
