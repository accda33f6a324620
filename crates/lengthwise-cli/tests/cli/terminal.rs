//! What reaches a terminal: names that come from files cannot steer it, and what cannot be printed is
//! an error.

#![cfg(unix)]

use std::{
    fs::OpenOptions,
    io::Write as _,
    process::{Command, Output, Stdio},
};

use expect_test::expect;

use crate::common::Folder;

/// A name that colours what follows, breaks the line and turns the direction of the text.
const NAME: &str = "a\u{1b}[31m\nb\u{202e}c\u{2067}d\u{61c}.csv";
const TABLE: &str = "utt,frames\n\u{202e}anna\u{1b}[2J,4000\nbert,30\ncarl,20\ndora,25\n";

/// All that a command shows; nothing in it controls the terminal.
fn shown(command: &mut Command) -> String {
    let Output { stdout, stderr, .. } = command.output().unwrap();
    let text = String::from_utf8([stdout, stderr].concat()).unwrap();
    let is_unsafe = |c: char| c != '\n' && lengthwise_report::is_unsafe_to_print(c);
    assert!(!text.contains(is_unsafe), "{text:?}");
    text
}

#[test]
fn names_of_files_cannot_steer() {
    let folder = Folder::new().with(NAME, TABLE);
    let run = |command: &str, more: &str| {
        let mut command = folder.command(command);
        shown(command.arg(NAME).args(more.split_whitespace()))
    };
    let first = |text: &str| text.lines().next().unwrap().to_owned();
    expect![[r#"
        a\u{1b}[31m\nb\u{202e}c\u{2067}d\u{61c}.csv, `frames`: 4 sequences, 4075 positions in all, 4 different lengths
        a\u{1b}[31m\nb\u{202e}c\u{2067}d\u{61c}.csv, `frames`: 4 sequences of length 20 to 4000, mean 1018.8
        page.html: a report on a\u{1b}[31m\nb\u{202e}c\u{2067}d\u{61c}.csv, `frames`
        error: a\u{1b}[31m\nb\u{202e}c\u{2067}d\u{61c}.csv: there is no column `x`; the columns are `utt`, `frames`
    "#]]
    .assert_eq(
        &[
            run("inspect", ""),
            run("compare", ""),
            run("report", "-o page.html"),
            run("inspect", "--column x"),
        ]
        .map(|text| first(&text) + "\n")
        .concat(),
    );
    let tuned = run("tune", "");
    let line = tuned.lines().find(|line| line.starts_with("lengthwise plan ")).unwrap();
    assert!(line.contains(r"$'a\u001b[31m\nb\u202ec\u2067d\u061c.csv'"), "{line}");
}

#[test]
fn ids_and_settings_cannot_steer() {
    let folder = Folder::new().with("table.csv", TABLE);
    let text = shown(&mut folder.command("inspect table.csv --ids"));
    assert!(text.contains(r"4000 (\u{202e}anna\u{1b}[2J, 0)"), "{text}");
    let text = shown(&mut folder.command("plan table.csv --ids --budget padded:100"));
    assert!(text.contains(r"sequence 0 (`\u{202e}anna\u{1b}[2J`) of length"), "{text}");
    for (option, value) in [
        ("--budget", "cost:\u{1b}[31mx\u{202e},limit=1"),
        ("--budget", "\u{1b}[31m\u{202e}:1"),
        ("--cost-model", "\u{1b}[31m\u{202e}.json"),
    ] {
        let mut command = folder.command("compare table.csv");
        let text = shown(command.args([option, value]));
        assert!(text.contains("\\u{202e}"), "{text}");
    }
}

/// Standard input has no name that tells its format.
#[test]
fn standard_input_that_is_not_text_has_a_hint() {
    let folder = Folder::new();
    let hint = |content: &[u8]| {
        let mut command = folder.command("inspect -");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().last().unwrap().to_owned() + "\n"
    };
    expect![[r#"
        hint: standard input is read as text; if it is csv, say `--format csv`
        hint: standard input is read as text; if it is jsonl, say `--format jsonl`
        hint: standard input is read as text; if it is npy, say `--format npy`
        hint: this looks like a file that cannot be read from a stream: save it, and name the file
        hint: lengths are whole numbers from 1 to 4294967295; for a file of texts, choose what to count, such as `--unit words`
    "#]]
    .assert_eq(
        &[
            hint(TABLE.as_bytes()),
            hint(b"{\"frames\": 3}\n"),
            hint(b"\x93NUMPY\x01\0"),
            hint(b"PAR1\x15\0"),
            hint(b"words and more words\n"),
        ]
        .concat(),
    );
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let full = || OpenOptions::new().write(true).open("/dev/full");
    if full().is_err() {
        return;
    }
    let folder = Folder::new();
    for arguments in ["--help", "plan --help", "--version", "explain"] {
        let status =
            folder.command(arguments).stdout(full().unwrap()).stderr(Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(2), "{arguments}");
        assert!(folder.run(arguments).status.success());
    }
}
