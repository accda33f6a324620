//! A page with all its numbers written anew.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::query::{Query, Results};

/// What a comment says: names of files, or what a table shows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Comment {
    files: BTreeMap<String, String>,
    columns: Vec<Query>,
    rows: Vec<Query>,
}

/// The page with the numbers of the results; or what is wrong with it, and where.
pub(crate) fn rendered(page: &str) -> Result<String, String> {
    rendered_with(page, Results::default())
}

fn rendered_with(page: &str, mut results: Results) -> Result<String, String> {
    let lines: Vec<&str> = page.lines().collect();
    let (mut text, mut at) = (String::new(), 0);
    while at < lines.len() {
        let number = at + 1;
        let wrong = |why: String| format!("line {number}: {why}");
        if lines[at] != "<!-- results" {
            text += lines[at];
            text.push('\n');
            at += 1;
            continue;
        }
        let end = lines[at..].iter().position(|line| *line == "-->");
        let end =
            at + end.ok_or_else(|| wrong("expected `-->` on a line of its own".to_owned()))?;
        let comment: Comment =
            toml::from_str(&lines[at + 1..end].join("\n")).map_err(|why| wrong(why.to_string()))?;
        for (name, file) in &comment.files {
            results.add(name, file).map_err(wrong)?;
        }
        text.extend(lines[at..=end].iter().map(|line| format!("{line}\n")));
        at = end + 1;
        if !comment.columns.is_empty() || !comment.rows.is_empty() {
            while lines.get(at).is_some_and(|line| line.is_empty()) {
                text.push('\n');
                at += 1;
            }
            let table = lines[at..].iter().take_while(|line| line.starts_with('|')).count();
            text += &table_of(&lines[at..at + table], &comment, &results).map_err(wrong)?;
            at += table;
        }
    }
    inline(&text, &results)
}

/// A table whose cells are those of the results, where the comment says which.
fn table_of(lines: &[&str], comment: &Comment, results: &Results) -> Result<String, String> {
    let Some(([heading, rule], body)) = lines.split_first_chunk() else {
        return Err("expected a table after the comment".to_owned());
    };
    if body.len() != comment.rows.len() {
        return Err(format!(
            "expected {} rows below the heading, got {}",
            comment.rows.len(),
            body.len()
        ));
    }
    let mut text = format!("{heading}\n{rule}\n");
    for (line, row) in body.iter().zip(&comment.rows) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        if cells.len() != comment.columns.len() {
            return Err(format!(
                "expected {} columns, got {} in {line}",
                comment.columns.len(),
                cells.len()
            ));
        }
        text.push('|');
        for (cell, column) in cells.iter().zip(&comment.columns) {
            if column.is_empty() || row.is_empty() {
                text += cell;
            } else {
                let answer = results.answer(&row.and(column))?;
                let mark = if answer.chance { " *" } else { "" };
                let space = if answer.text.is_empty() { "" } else { " " };
                text.extend([space, &answer.text, mark, " "]);
            }
            text.push('|');
        }
        text.push('\n');
    }
    Ok(text)
}

/// Numbers within sentences.
fn inline(page: &str, results: &Results) -> Result<String, String> {
    const BEGIN: &str = "<!-- result ";
    let (mut text, mut rest) = (String::new(), page);
    while let Some(at) = rest.find(BEGIN) {
        let line = text.matches('\n').count() + rest[..at].matches('\n').count() + 1;
        let wrong = |why: &str| format!("line {line}: {why}");
        let before = rest[..at].trim_end_matches(' ');
        if before.is_empty() || before.ends_with('\n') {
            return Err(wrong(
                "a line that begins with a comment is no Markdown: move it behind a word",
            ));
        }
        let (before, after) = rest.split_at(at);
        let (query, after) =
            after[BEGIN.len()..].split_once(" -->").ok_or_else(|| wrong("expected `-->`"))?;
        let (old, after) =
            after.split_once("<!-- end -->").ok_or_else(|| wrong("expected `<!-- end -->`"))?;
        if old.contains("<!--") {
            return Err(wrong("expected `<!-- end -->` before the next comment"));
        }
        let asked: Asked = toml::from_str(&format!("query = {{ {query} }}"))
            .map_err(|why| wrong(&why.to_string()))?;
        let answer = results.answer(&asked.query).map_err(|why| wrong(&why))?;
        // A line may be broken within it.
        let new = if old.replace('\n', " ") == answer.text { old } else { &answer.text };
        text.extend([before, BEGIN, query, " -->", new, "<!-- end -->"]);
        rest = after;
    }
    Ok(text + rest)
}

#[derive(Deserialize)]
struct Asked {
    query: Query,
}

#[cfg(test)]
mod tests {
    use lengthwise_lab::report::{Scaling, Training};

    use super::*;

    /// Two runs of three seeds: the second takes three quarters of the time, and has errors that differ by chance. In
    /// `longer`, it has a second epoch with twice the loss.
    fn results() -> Results {
        let (mut heads, mut lines) = (Vec::new(), String::new());
        for (seed, one, other, share) in
            [(1, 0.10, 0.12, 0.74), (2, 0.12, 0.11, 0.75), (3, 0.11, 0.13, 0.76)]
        {
            let seconds = 4.0 + 0.1 * f64::from(seed);
            for (name, seconds, error) in [("one", seconds, one), ("other", share * seconds, other)]
            {
                let run = heads.len();
                heads.push(serde_json::json!({ "name": name, "settings": "", "seed": seed }));
                let epoch = serde_json::json!({
                    "run": run, "epoch": 1, "seconds": seconds, "steps": 10, "sequences": 100, "frames": 750,
                    "cells": 1000, "shapes": 3, "peak_bytes": 0, "loss": error,
                    "validation": { "loss": 2.0 * error, "error": error, "more": [["a", error], ["b", 3.0 * error]] },
                });
                lines.extend([epoch.to_string(), "\n".to_owned()]);
            }
        }
        let head = serde_json::json!({
            "version": 1, "title": "", "about": [], "error": "error rate", "runs": heads, "notes": [],
        });
        let mut results = Results::default();
        let mut made = Training::from_jsonl(&format!("{head}\n{lines}")).unwrap();
        made.scaling = [("sync", 0.25), ("other, average", 0.125)]
            .map(|(name, idle)| Scaling {
                name: name.into(),
                workers: 64,
                steps: 10,
                seconds: 0.5,
                idle,
            })
            .to_vec();
        let mut longer = made.clone();
        for run in longer.runs.iter_mut().filter(|run| run.name == "other") {
            let mut next = run.epochs[0].clone();
            next.epoch = 2;
            next.validation.as_mut().unwrap().loss *= 2.0;
            run.epochs.push(next);
        }
        results.put("made", made);
        results.put("longer", longer);
        results
    }

    const PAGE: &str = r#"# A page
<!-- results
columns = [{}, {}, { show = "padding", times = 100, as = "0.0 %" }, { show = "error", times = 100, as = "0.0 ± 0.0" }, { show = "error", than = "one", times = 100, as = "+0.0" }, { show = "seconds_per_epoch", than = "one", as = "0.00" }]
rows = [{}, { file = "made", run = "one" }, { file = "made", run = "other" }]
-->

| | paper | padding | error | gap | time |
|---|--:|--:|--:|--:|--:|
| in | % | % | % | | |
| one | 7 | 25.0 % | 11.0 ± 2.5 | 0.0 | 1.00 |
| other | 8 | 25.0 % | 12.0 ± 2.5 | +1.0 * | 0.75 |

It takes <!-- result file = "made", run = "other", show = "seconds_per_epoch", as = "0.00 s" -->3.15
s<!-- end --> and no more.
"#;

    #[test]
    fn a_page_that_is_right_stays_as_it_is() {
        assert_eq!(rendered_with(PAGE, results()).unwrap(), PAGE);
    }

    #[test]
    fn wrong_numbers_are_corrected() {
        for (right, wrong) in
            [("12.0 ± 2.5", "12.1 ± 2.5"), ("+1.0 *", "+1.0"), ("0.75", "x"), ("3.15\ns", "3 s")]
        {
            let page = PAGE.replace(right, wrong);
            assert_ne!(page, PAGE);
            let expected = PAGE.replace(right, &right.replace('\n', " "));
            assert_eq!(rendered_with(&page, results()).unwrap(), expected, "{wrong}");
        }
        // What is ours alone is ours to change.
        let page = PAGE.replace("| 7 |", "| 9 |");
        assert_eq!(rendered_with(&page, results()).unwrap(), page);
    }

    /// What a page says in a sentence.
    fn asked(query: &str) -> Result<String, String> {
        asked_of("made", query)
    }

    fn asked_of(file: &str, query: &str) -> Result<String, String> {
        let text = format!("At <!-- result file = {file:?}, {query} -->?<!-- end -->\n");
        let found = inline(&text, &results())?;
        Ok(found.split("-->").nth(1).unwrap().split("<!--").next().unwrap().to_owned())
    }

    #[test]
    fn losses_at_equal_time() {
        let ask = |query: &str| asked(&format!("show = \"loss\", {query}"));
        assert_eq!(ask(r#"run = "other", at = 1, as = "0.00""#), Ok("0.24".into()));
        assert_eq!(ask(r#"run = "other", than = "one", at = 1, as = "+0.00""#), Ok("+0.02".into()));
        let none = "line 1: made: no losses are compared at epoch 2";
        assert_eq!(ask(r#"run = "one", at = 2, as = "0.00""#), Err(none.into()));
    }

    #[test]
    fn the_time_of_an_epoch() {
        let ask = |query: &str| asked(&format!("run = \"other\", as = \"0.00 s\", {query}"));
        assert_eq!(ask(r#"show = "seconds", epoch = 1"#), Ok("3.15 s".into()));
        assert_eq!(ask(r#"show = "seconds", epoch = 2"#), Ok(String::new()));
        let parts = r#"run = "oth", suffix = "er", show = "seconds", epoch = 1, as = "0.00 s""#;
        assert_eq!(asked(parts), Ok("3.15 s".into()));
        let ratio = r#"run = "other", than = "one", show = "seconds", as = "0.00""#;
        assert_eq!(asked(ratio), Ok("0.75".into()));
        assert_eq!(asked_of("longer", ratio), Ok("1.50".into()));
    }

    #[test]
    fn runs_after_some_of_their_epochs() {
        let ask = |query: &str| {
            asked_of(
                "longer",
                &format!("run = \"other\", show = \"loss\", as = \"+0.00\", {query}"),
            )
        };
        assert_eq!(ask(r#"than = "one", epoch = 1"#), Ok("+0.02".into()));
        assert_eq!(ask(r#"than = "one", epoch = 2, than_epoch = 1"#), Ok("+0.26".into()));
        let none = "line 1: longer: one has no epoch 2";
        assert_eq!(ask(r#"than = "one", epoch = 2"#), Err(none.into()));
        assert_eq!(ask("epoch = 1"), Ok("+0.24".into()));
        assert_eq!(ask("epoch = 2"), Ok("+0.48".into()));
    }

    #[test]
    fn the_mean_of_runs_and_what_could_be_seen() {
        let of = r#"runs = ["one", "other"], than = "one", show = "loss", as = "+0.00""#;
        assert_eq!(asked(of), Ok("+0.01".into()));
        let none = asked(r#"runs = ["one", "two"], than = "one", show = "loss", as = "0""#);
        assert_eq!(none, Err("line 1: expected a run of made, got \"one, two\"".into()));
        let smallest =
            r#"run = "other", than = "one", show = "loss", smallest = true, as = "0.00""#;
        // (4.303 + 1.061) · 0.02, by the quantiles of Student's t with two degrees of freedom.
        assert_eq!(asked(smallest), Ok("0.11".into()));
    }

    #[test]
    fn the_mean_of_measures() {
        let ask = |query: &str| {
            asked(&format!("run = \"other\", shows = [\"a\", \"b\"], as = \"+0.00\", {query}"))
        };
        assert_eq!(ask("times = 1"), Ok("+0.24".into()));
        assert_eq!(ask(r#"than = "one""#), Ok("+0.02".into()));
        let none = asked(r#"run = "one", shows = ["a", "c"], as = "0""#);
        assert_eq!(none, Err("line 1: made: one has not all of a, c".into()));
    }

    #[test]
    fn what_more_workers_would_take() {
        let ask = |query: &str| asked(&format!("{query}, times = 100, as = \"0.0 %\""));
        let idle = |run: &str, mode: &str, workers: u32| {
            ask(&format!("run = {run:?}, mode = {mode:?}, workers = {workers}, show = \"idle\""))
        };
        // Of a run, or of all.
        assert_eq!(idle("other", "average", 64), Ok("12.5 %".into()));
        assert_eq!(idle("one", "sync", 64), Ok("25.0 %".into()));
        let steps = r#"run = "one", mode = "sync", workers = 64, show = "steps", as = "0""#;
        assert_eq!(asked(steps), Ok("10".into()));
        let none = |text: &str| Err(format!("line 1: made: {text}"));
        assert_eq!(idle("one", "average", 64), none("one has no scaling to 64 workers, average"));
        assert_eq!(idle("one", "sync", 65), none("one has no scaling to 65 workers, sync"));
        let wrong = ask(r#"run = "one", mode = "sync", workers = 64, show = "loss""#).unwrap_err();
        assert!(wrong.contains("expected `show` of idle, seconds or steps"), "{wrong}");
        let half = ask(r#"run = "one", workers = 64, show = "idle""#).unwrap_err();
        assert!(half.contains("expected `mode` and `workers` together"), "{half}");
    }

    #[test]
    fn what_cannot_be_answered_is_named() {
        for (right, wrong, why) in [
            ("\"other\" }]", "\"nobody\" }]", "line 2: expected a run of made, got \"nobody\""),
            ("rows = [{}, ", "rows = [", "line 2: expected 2 rows below the heading, got 3"),
            ("columns = [{}, ", "columns = [", "line 2: expected 5 columns, got 6"),
            ("show = \"padding\", ", "", "line 2: expected `file`, `run`, `show` and `as`, got"),
            ("\"padding\"", "\"loss of hair\"", "has no \"loss of hair\""),
            (
                "than = \"one\", as",
                "than = \"two\", as",
                "one is not compared with two on seconds_per_epoch",
            ),
            ("run = \"one\" }", "run = \"one\", at = 3 }", "expected `show = \"loss\"` with `at`"),
            ("It takes <!--", "It takes\n<!--", "line 14: a line that begins with a comment"),
            ("<!-- end -->", "", "line 13: expected `<!-- end -->`"),
            ("rows =", "files = { x = \"none.jsonl\" }\nrows =", "line 2: none.jsonl: "),
        ] {
            let page = PAGE.replace(right, wrong);
            assert_ne!(page, PAGE, "{right}");
            let error = rendered_with(&page, results()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
