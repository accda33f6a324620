//! Memory that runs out is an error like any other. A shell sets the limit, and Linux keeps to it.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::common::Folder;

/// What the command says, and its exit code, where it may have so many kilobytes of memory.
fn limited(
    folder: &Folder,
    kilobytes: u32,
    before: &str,
    arguments: &str,
) -> (Option<i32>, String) {
    let lengthwise = env!("CARGO_BIN_EXE_lengthwise");
    let script = format!("ulimit -v {kilobytes} && {before} {lengthwise} {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.folder()).stdin(Stdio::null());
    let output = command.env_remove("RUST_BACKTRACE").output().unwrap();
    assert_eq!(output.stdout, b"", "{arguments}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn more_lengths_than_there_is_memory_for() {
    let (code, said) = limited(&Folder::new(), 300_000, "yes 5 |", "inspect -");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("error: standard input: "), "{said}");
    assert!(said.contains(" MB of memory, which is not available\n\nhint: raise"), "{said}");
}

#[test]
fn more_promised_than_there_is_memory_for() {
    // Forty million lengths that say they are four billion.
    let about = "{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((about.len() as u16).to_le_bytes());
    file.extend(about.as_bytes());
    file.resize(file.len() + 40_000_000, 7);
    let folder = Folder::new().with("many.npy", file);
    let (code, said) = limited(&folder, 200_000, "", "inspect many.npy");
    assert_eq!(code, Some(2), "{said}");
    let text =
        "error: many.npy: 4000000000 lengths need 16.0 GB of memory, which is not available\n";
    assert!(said.starts_with(text), "{said}");
}

#[test]
fn more_work_than_there_is_memory_for() {
    let folder = Folder::new().with("many.txt", "7\n".repeat(4_000_000));
    let (code, said) = limited(&folder, 300_000, "", "compare many.txt");
    assert_eq!(code, Some(2), "{said}");
    let text = "error: out of memory: 4000000 sequences take about 320 MB, which cannot be had\n";
    assert!(said.starts_with(text), "{said}");
    let (code, said) = limited(&folder, 300_000, "", "compare many.txt --chunk 1");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("28000000 pieces of sequences take about 2.2 GB"), "{said}");
}

/// Batches of one sequence take more than is asked for. No signal ends the command then either.
#[test]
fn memory_that_runs_out_all_the_same() {
    let folder = Folder::new().with("many.txt", "7\n".repeat(4_000_000));
    let (code, said) = limited(
        &folder,
        250_000,
        "",
        "plan many.txt --budget sequences:1 --strategy shuffled -o plan.npz",
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("memory allocation of "), "{said}");
}
