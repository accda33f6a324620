//! Batches of lengths as they come.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::common::Folder;

fn lengths(count: u64) -> String {
    (0..count).map(|i| (1 + i * i % 97).to_string() + "\n").collect()
}

const SETTINGS: &str = "--budget padded:400 --window 64 --seed 3";

fn stdout(folder: &Folder, arguments: &str) -> String {
    let output = folder.run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_sequence_is_in_one_line() {
    let folder = Folder::new().with("lengths.txt", lengths(1000));
    let text = stdout(&folder, &format!("stream lengths.txt {SETTINGS}"));
    let mut seen = Vec::new();
    for line in text.lines() {
        let batch: Value = serde_json::from_str(line).unwrap();
        let sequences: Vec<u64> =
            batch["sequences"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
        let cells = sequences.len() as u64 * batch["batch_length"].as_u64().unwrap();
        assert!(cells <= 400);
        let positions: u64 = sequences.iter().map(|i| 1 + i * i % 97).sum();
        assert_eq!(batch["positions"], positions);
        seen.extend(sequences);
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..1000));
}

/// Stopped and gone on, with other ranks in between, nothing is lost and nothing comes twice.
#[test]
fn states_go_on() {
    let folder = Folder::new().with("lengths.txt", lengths(1000));
    let whole = stdout(&folder, &format!("stream lengths.txt {SETTINGS}"));
    let part = format!("stream lengths.txt {SETTINGS} --state here.json");
    let mut parts = stdout(&folder, &format!("{part} --take 5"));
    parts += &stdout(&folder, &format!("{part} --take 9"));
    // What comes from the position that the state names is enough.
    let state: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("here.json")).unwrap()).unwrap();
    let from = state["from"].as_u64().unwrap() as usize;
    let rest: String =
        lengths(1000).lines().skip(from).map(|line| line.to_owned() + "\n").collect();
    fs::write(folder.path("rest.txt"), rest).unwrap();
    let on = format!("stream rest.txt {SETTINGS} --state here.json --from-position");
    parts += &stdout(&folder, &format!("{on} --take 3"));
    parts += &stdout(&folder, &part);
    assert_eq!(parts, whole);
    assert_eq!(stdout(&folder, &part), "");
}

/// All ranks at once are what the ranks are one by one.
#[test]
fn ranks_have_lines_of_their_own() {
    let folder = Folder::new().with("lengths.txt", lengths(1000));
    let all = stdout(&folder, &format!("stream lengths.txt {SETTINGS} --world-size 3"));
    for rank in 0..3 {
        let own =
            stdout(&folder, &format!("stream lengths.txt {SETTINGS} --world-size 3 --rank {rank}"));
        let of_all: Vec<&str> = all.lines().skip(rank).step_by(3).collect();
        assert_eq!(own.lines().collect::<Vec<_>>(), of_all);
        assert!(own.contains(&format!("\"rank\":{rank},")));
    }
}

/// The command with a pipe on both sides.
fn piped(folder: &Folder, more: &str) -> Child {
    folder
        .command(&format!("stream {SETTINGS} {more}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The command on a file, with a pipe behind it.
fn of_file(folder: &Folder) -> Child {
    folder
        .command(&format!("stream lengths.txt {SETTINGS} --state here.json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Batches are written as soon as they are made, and a request to end while nothing comes keeps what
/// was written.
#[cfg(unix)]
#[test]
fn ctrl_c_loses_nothing() {
    let folder = Folder::new().with("lengths.txt", lengths(1000));
    let whole = stdout(&folder, &format!("stream lengths.txt {SETTINGS}"));
    let mut child = piped(&folder, "--state here.json");
    let mut input = child.stdin.take().unwrap();
    let some: String = lengths(1000).lines().take(300).map(|line| line.to_owned() + "\n").collect();
    input.write_all(some.as_bytes()).unwrap();
    input.flush().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut parts = String::new();
    for _ in 0..5 {
        output.read_line(&mut parts).unwrap();
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    for line in output.lines() {
        parts += &(line.unwrap() + "\n");
    }
    // A step that was being written may come again.
    let again = stdout(&folder, &format!("stream lengths.txt {SETTINGS} --state here.json"));
    let first = again.lines().next().unwrap();
    let kept = match parts.lines().position(|line| line == first) {
        Some(line) => parts.lines().take(line).map(|line| line.to_owned() + "\n").collect(),
        None => parts,
    };
    assert_eq!(kept + &again, whole);
}

/// At most the step that is being written comes again, however long it takes to end.
#[cfg(unix)]
#[test]
fn ctrl_c_while_writing_repeats_one_step() {
    let mut folder = Folder::new().with("lengths.txt", lengths(200_000));
    // Looking for unfinished files takes a while here.
    for file in 0..4000 {
        folder = folder.with(&format!("{file}.txt"), "");
    }
    let mut child = of_file(&folder);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let written = 1 + output.lines().map(Result::unwrap).count() as u64;
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let state = std::fs::read_to_string(folder.path("here.json")).unwrap();
    let (_, steps) = state.split_once("\"steps\":").unwrap();
    let steps: u64 = steps.split(',').next().unwrap().parse().unwrap();
    assert!(steps <= written && written <= steps + 1, "{written} written, {steps} in the state");
}

/// Whoever reads the batches may have had enough: that is no error, and what was not read comes again.
#[test]
fn a_reader_may_go() {
    let folder = Folder::new().with("lengths.txt", lengths(100_000));
    let mut child = of_file(&folder);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let again =
        stdout(&folder, &format!("stream lengths.txt {SETTINGS} --state here.json --take 1"));
    let whole = stdout(&folder, &format!("stream lengths.txt {SETTINGS} --take 1"));
    assert_eq!(again, whole);
}

/// As `cut` leaves it: the name of the column comes first.
#[test]
fn a_header_is_passed_over() {
    let folder = Folder::new()
        .with("lengths.txt", lengths(200))
        .with("cut.txt", "\n frames\n".to_owned() + &lengths(200))
        .with("zero.txt", "0\n5\n")
        .with("two.txt", "frames\nseven\n5\n");
    let whole = stdout(&folder, &format!("stream lengths.txt {SETTINGS}"));
    let cut = folder.run(&format!("stream cut.txt {SETTINGS} --state here.json --take 4"));
    let said = String::from_utf8(cut.stderr).unwrap();
    assert_eq!(said.matches("cut.txt:2: `frames` is no number, and passed over\n").count(), 1);
    let rest = stdout(&folder, &format!("stream cut.txt {SETTINGS} --state here.json"));
    assert_eq!(String::from_utf8(cut.stdout).unwrap() + &rest, whole);
    for (file, what) in [("zero.txt", "zero.txt:1: `0`"), ("two.txt", "two.txt:2: `seven`")] {
        let output = folder.run(&format!("stream {file} --budget 4"));
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(what), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn packed_files_are_unpacked() {
    let folder = Folder::new().with("plain.txt", lengths(300)).with("lengths.txt", lengths(300));
    let whole = stdout(&folder, &format!("stream plain.txt {SETTINGS}"));
    let packed = Command::new("gzip").arg(folder.path("lengths.txt")).status().unwrap();
    assert!(packed.success());
    assert_eq!(stdout(&folder, &format!("stream lengths.txt.gz {SETTINGS}")), whole);
    let bytes = fs::read(folder.path("lengths.txt.gz")).unwrap();
    let mut child = piped(&folder, "");
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard input: is packed\n\nhint: unpack it first"), "{said}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new().with("bad.txt", "5\n\n7\nseven\n").with("lengths.txt", "5\n500\n");
    let folder = folder.with("wide.txt", format!("7\n{:999}12\n5\n", ""));
    for (arguments, what) in [
        ("stream bad.txt --budget 4", "bad.txt:4: `seven` is no length"),
        ("stream wide.txt --budget 4", "wide.txt:2: the line is too long"),
        ("stream none.txt --budget 4", "none.txt: there is no such file"),
        (
            "stream lengths.txt --budget padded:100",
            "sequence 1 of length 500 alone costs 500 cells",
        ),
        ("stream lengths.txt --budget dynamic:4", "the budget of a stream cannot be `dynamic:4`"),
        ("stream lengths.txt --budget 4 --window 0", "the window cannot be `0`"),
        ("stream lengths.txt --budget 4 --state bad.txt", "bad.txt: is cut off or not a state"),
        ("stream lengths.txt --budget 4 --column frames", "streams take one length a line"),
        ("stream lengths.txt --budget 4 --second tokens", "streams take one length a line"),
        (
            "stream lengths.txt --budget 4 --state none/here.json",
            "none/here.json: there is no such folder",
        ),
        ("stream lengths.txt --budget 4 --pivot newest", "unknown pivot `newest`"),
        ("stream lengths.txt --budget 4 --world-size 2 --rank 2", "there is no rank 2 among 2"),
    ] {
        let output = folder.run(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert_eq!(output.stdout, b"", "{arguments}");
        assert!(text.starts_with(&format!("error: {what}")), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
    }
}
