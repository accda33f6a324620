//! Pages cite kept results: every number of ours in `docs/papers` and `docs/evidence.md`, and those of other pages that are
//! marked, are computed from `experiments/results`, or from files beside it, here. `UPDATE_EXPECT=1 cargo test --test pages`
//! writes the pages anew.
//!
//! A comment names the files, and another one before a table says what its columns and rows show:
//!
//! ```text
//! <!-- results
//! files = { cpu = "2026-11-18-cpu/note4.jsonl" }
//! -->
//!
//! <!-- results
//! columns = [{}, { run = "random" }, { run = "smart" }]
//! rows = [{ file = "cpu", show = "padding", times = 100, as = "0.0 %" }]
//! -->
//!
//! Padding falls to <!-- result file = "cpu", run = "smart", show = "padding", times = 100, as = "0.0 %" -->17.8
//! %<!-- end -->.
//! ```
//!
//! A cell has what its column and its row say together; `{}` leaves it as it is written.
//!
//! - `show` is a key of the summary (`lengthwise-lab report FILE --json`). `suffix` is the end of a run's name.
//! - `than` compares with another run, seed by seed; with `smallest = true`, the smallest difference that could have
//!   been seen is shown. `runs` are several runs, whose mean is compared; `shows` are several measures, whose
//!   mean is shown or compared.
//! - `at` is an epoch of the first run, whose losses at equal time are shown.
//! - `epoch` is the epoch whose `seconds` are shown; without it, `seconds` are those of all epochs. Of other measures,
//!   it is the epoch after which a run is shown or compared, and `than_epoch` that of the other run.
//! - With `mode = "sync"` (or another) and `workers = 1024`, `show = "idle"`, `"seconds"` or `"steps"` is what was
//!   computed for so many workers (`scaling`).
//!
//! Numbers of a paper, and settings, stand between `<!-- paper -->` or `<!-- setting -->` and `<!-- end -->`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod page;
mod prose;
mod query;

use std::{
    fs,
    path::{Path, PathBuf},
};

use page::rendered;
use prose::unmarked;

fn pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(docs.join("papers")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() >= 4, "{pages:?}");
    pages.push(docs.join("evidence.md"));
    pages
}

/// Pages that are about more than results, and quote some.
fn quoting() -> impl Iterator<Item = PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let names = ["benchmarks", "concepts/optimizer-steps", "concepts/shapes", "guides/two-lengths"];
    names.into_iter().map(move |name| docs.join(name).with_extension("md"))
}

#[test]
fn pages_say_what_the_results_say() {
    for path in pages().into_iter().chain(quoting()) {
        let text = fs::read_to_string(&path).unwrap();
        let rendered = rendered(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        expect_test::expect_file![path].assert_eq(&rendered);
    }
}

/// What the README claims about learning is a table of the page on evidence, as it is there.
#[test]
fn the_readme_has_a_table_of_the_evidence() {
    let page = pages().pop().unwrap();
    let readme = fs::read_to_string(page.with_file_name("../README.md")).unwrap();
    let page = fs::read_to_string(page).unwrap();
    let lines = page.lines().skip_while(|line| !line.starts_with('|'));
    let table: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    assert!(
        table.len() > 5 && readme.contains(&table.join("\n")),
        "expected in README.md: {table:#?}"
    );
}

#[test]
fn every_number_has_a_source() {
    for path in pages() {
        let unmarked = unmarked(&fs::read_to_string(&path).unwrap());
        assert!(unmarked.is_empty(), "{}: numbers without a source: {unmarked:#?}", path.display());
    }
}
