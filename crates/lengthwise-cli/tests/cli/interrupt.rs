//! Ctrl-C while a file is being written.

#![cfg(unix)]

use std::{fs, process::Command, thread, time::Duration};

use crate::common::Folder;

#[test]
fn ctrl_c_leaves_nothing_behind() {
    stopped_by("-INT", 130);
}

/// A shell expects 128 and the number of the signal.
#[test]
fn neither_does_another_request_to_end() {
    stopped_by("-TERM", 143);
}

fn stopped_by(signal: &str, code: i32) {
    let lengths: String =
        (0_u64..600_000).map(|i| (1 + i * 7919 % 997).to_string() + "\n").collect();
    let folder = Folder::new().with("lengths.txt", lengths).with("plan.json", "the old plan");
    let names = || -> Vec<String> {
        let files = fs::read_dir(folder.folder()).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut child = folder
        .command("plan lengths.txt --budget sequences:4 --quiet -o plan.json")
        .spawn()
        .unwrap();
    // Until the new plan is being written; if that was over in no time, there is nothing to see.
    for _ in 0..6000 {
        if names().len() > 2 || child.try_wait().unwrap().is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let stopped = Command::new("kill").args([signal, &id]).status().unwrap().success();
    let status = child.wait().unwrap();
    let mut left = names();
    left.sort();
    assert_eq!(left, ["lengths.txt", "plan.json"]);
    if stopped && !status.success() {
        assert_eq!(status.code(), Some(code));
        assert_eq!(fs::read_to_string(folder.path("plan.json")).unwrap(), "the old plan");
    }
}

/// A limit on the size of files is a write that fails.
#[test]
fn a_limit_on_files_leaves_nothing_behind() {
    let folder = Folder::new().with("lengths.txt", "7\n".repeat(100_000)).with("plan.npz", "old");
    let lengthwise = env!("CARGO_BIN_EXE_lengthwise");
    let script = format!("ulimit -f 16 && {lengthwise} plan lengths.txt --budget 4 -q -o plan.npz");
    let output =
        Command::new("sh").args(["-c", &script]).current_dir(folder.folder()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: plan.npz: ") && said.contains("\n\nhint: "), "{said}");
    assert_eq!(fs::read_to_string(folder.path("plan.npz")).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.folder()).unwrap().count(), 2);
}

/// A search that takes many plans ends in the midst of one.
#[test]
fn ctrl_c_ends_a_search() {
    let lengths: String =
        (0_u64..1_000_000).map(|i| (1 + i * 7919 % 1997).to_string() + "\n").collect();
    let folder = Folder::new().with("lengths.txt", lengths);
    let mut child = folder
        .command("frontier lengths.txt --budget padded:20000")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "a search takes longer");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
}
