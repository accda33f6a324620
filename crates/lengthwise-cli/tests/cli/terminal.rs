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

/// Nothing is wider than the terminal but single words, and no word is broken.
#[test]
fn text_wraps_at_the_width_of_the_terminal() {
    let folder = Folder::new().with("table.csv", TABLE).with("other.csv", "a,b\n1,2\n");
    for arguments in [
        "explain",
        "explain blurred",
        "explain glossary",
        "tune --example speech",
        "inspect --example speech",
        "compare --example speech --epochs 2 --strategy shuffled --strategy length-buckets",
        "compare other.csv",
        "compare table.csv --budget padded:250",
        "compare --seed -1",
        "plan --example speech --budget padded:12800 --world-size 8 -o plan.json",
        "verify plan.json --example bimodal",
    ] {
        let run = |columns: Option<&str>| {
            let mut command = folder.command(arguments);
            columns.map(|columns| command.env("COLUMNS", columns));
            let Output { stdout, stderr, .. } = command.output().unwrap();
            String::from_utf8([stdout, stderr].concat()).unwrap()
        };
        for width in [40, 60, 80, 200] {
            let text = run(Some(&width.to_string()));
            let wide = text
                .lines()
                .find(|line| line.trim_end().chars().count() > width && line.trim().contains(' '));
            assert_eq!(wide, None, "{arguments}, {width}");
        }
        // Every word is there at another width too; tables have fewer columns.
        if !["tune", "inspect", "compare --example"].iter().any(|it| arguments.starts_with(it)) {
            let words = |text: &str| {
                text.split_whitespace().filter(|&it| it != "\\").collect::<Vec<_>>().join(" ")
            };
            assert_eq!(words(&run(Some("40"))), words(&run(Some("80"))), "{arguments}");
        }
    }
}

/// What is refused without a file name that tells the format.
#[test]
fn streams_are_known_by_how_they_begin() {
    let folder = Folder::new();
    let said = |content: &[u8]| {
        let mut command = folder.command("ladder - --rungs 1");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        text.lines().last().unwrap().to_owned() + "\n"
    };
    expect![[r#"
        padding 74.53 %
        padding 25.00 %
        padding 0.00 %
        hint: save it, and name the file
        hint: save the lengths alone: `numpy.save("lengths.npy", lengths)`, or as a .csv file
        hint: say what the numbers are: `--format utt2num_frames` or `--format utt2dur`
        hint: convert them to frames with `--frame-shift 0.01` or `--rate 100`
        hint: lengths are whole numbers from 1 to 4294967295; write one on each line
        hint: lengths are whole numbers from 1 to 4294967295; for a file of texts, choose what to count, such as `--unit words`
    "#]].assert_eq(
        &[
            said(TABLE.as_bytes()),
            said(b"utt;frames\na;30\nb;60\n"),
            said(b"{\"frames\": 3}\n"),
            said(b"PAR1\x15\0"),
            said(b"PK\x03\x04"),
            said(b"a 12\nb 30\n"),
            said(b"a 1.5\nb 3\n"),
            said(b"12 30\n13 31\n"),
            said(b"words and more words\n"),
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
