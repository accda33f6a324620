//! Words that the glossary replaces do not come back into what users read.

use std::path::{Path, PathBuf};

use crate::common::Folder;

/// Where users read: files, and folders with the endings of the files in them.
const PLACES: &[(&str, &str)] = &[
    ("README.md", ""),
    ("CONTRIBUTING.md", ""),
    ("DESIGN.md", ""),
    ("SECURITY.md", ""),
    ("CODE_OF_CONDUCT.md", ""),
    (".github", ".md"),
    (".github/ISSUE_TEMPLATE", ".yml"),
    ("docs", ".md"),
    ("docs/notebooks", ".ipynb"),
    ("lab/README.md", ""),
    ("lab/experiments", ".md"),
    ("lab/src/command", ".rs"),
    ("benches/README.md", ""),
    ("examples/README.md", ""),
    ("crates/lengthwise/README.md", ""),
    ("crates/lengthwise-io/README.md", ""),
    ("crates/lengthwise-report/README.md", ""),
    ("crates/lengthwise-cli/README.md", ""),
    ("crates/lengthwise-cli/src", ".rs"),
    ("crates/lengthwise-report/src/html", ".rs"),
    ("crates/lengthwise/src", ".md"),
    ("crates/lengthwise/src/error", ".rs"),
    ("crates/lengthwise-io/src/error.rs", ""),
    ("python/README.md", ""),
    ("python/lengthwise", ".py"),
    ("python/lengthwise/_lengthwise.pyi", ""),
    ("python/examples", ".py"),
];

/// Commands whose help is checked; without a name, that of the program.
const HELP: &[&str] = &[
    "",
    "inspect",
    "compare",
    "report",
    "plan",
    "stream",
    "tune",
    "frontier",
    "ladder",
    "cost",
    "statistics",
    "verify",
    "completions",
    "man",
    "explain",
];

/// The replaced words, and what to write instead.
const REPLACED: &[(&str, &str)] = &[
    ("company", "batch-mates, or mixing"),
    ("mates", "batch-mates"),
    ("whoever", "you, or the code that does it"),
    ("whom", "a sentence without a person"),
    ("nobody", "no sequence, or no rank"),
    ("somebody", "you"),
    ("everybody", "all sequences"),
    ("deal", "assign"),
    ("deals", "assigns"),
    ("dealt", "assigned"),
    ("dealing", "assignment"),
    ("seat", "assign"),
    ("seated", "assigned"),
    ("fresher", "more mixing"),
    ("freshest", "the most mixing"),
    ("freshness", "mixing"),
];

#[test]
fn replaced_words_stay_away() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for (place, ending) in PLACES {
        let mut files = Vec::new();
        collect(&root.join(place), ending, &mut files);
        assert!(!files.is_empty(), "there is nothing at {place}");
        for file in files {
            let name = file.strip_prefix(&root).unwrap().display().to_string();
            check(&name, &std::fs::read_to_string(&file).unwrap(), &mut found);
        }
    }
    let folder = Folder::new();
    let text = |arguments: &str| String::from_utf8(folder.run(arguments).stdout).unwrap();
    for command in HELP {
        let arguments = format!("{command} --help");
        check(&format!("lengthwise {arguments}"), &text(&arguments), &mut found);
    }
    assert!(found.is_empty(), "replaced words:\n{}", found.join("\n"));
}

/// The files at a path whose names have this ending.
fn collect(path: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            path.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in &entries {
            collect(entry, ending, files);
        }
    } else if path.to_string_lossy().ends_with(ending) {
        files.push(path.to_owned());
    }
}

/// Names the place and the line of every replaced word. Names of fields and flags have hyphens or
/// underscores: `effective_mates` and `--min-mates` stay, `effective mates`
/// explains them, and values in capitals are placeholders.
fn check(place: &str, text: &str, found: &mut Vec<String>) {
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> =
            line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).collect();
        for (at, word) in words.iter().enumerate() {
            let explained = *word == "mates" && at > 0 && words[at - 1] == "effective";
            let placeholder = word.chars().all(char::is_uppercase);
            let lower = word.to_lowercase();
            let replaced = REPLACED.iter().find(|(old, _)| *old == lower);
            if let Some((_, instead)) = replaced.filter(|_| !explained && !placeholder) {
                found.push(format!("{place}:{number}: `{word}`; write {instead}"));
            }
        }
    }
}

/// What is looked for is found, and names are not.
#[test]
fn words_are_found_by_place_and_line() {
    let mut found = Vec::new();
    check(
        "a",
        "one\nFresh company, `--min-mates <MATES>`, batch-mates, effective mates; mates",
        &mut found,
    );
    let expected =
        ["a:2: `company`; write batch-mates, or mixing", "a:2: `mates`; write batch-mates"];
    assert_eq!(found, expected);
}
