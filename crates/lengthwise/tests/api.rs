//! The public interface as a list: what is added, removed or changed shows in `public-api.txt`.
//! `UPDATE_EXPECT=1 cargo test` rewrites it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect_file;

/// More names than this at the root are too many to find one.
const MOST: usize = 40;

/// All Rust files in a folder.
fn list(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, paths);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            paths.push(path);
        }
    }
}

/// The names after `pub use …::`, in the order in which they are written.
fn used(text: &str) -> Vec<String> {
    let uses = text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = uses.flat_map(|names| names.split(['{', '}', ',', ' ', '\n']));
    let names = names.map(|name| name.rsplit("::").next().unwrap_or_default().trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// A declaration from the place where it begins, on one line, without what it does.
fn declaration(text: &str) -> String {
    let end = text.find(" {").into_iter().chain(text.find(';')).min().unwrap_or(text.len());
    let declaration = text[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    declaration.replace("( ", "(").replace(", )", ")").replace("pub ", "")
}

/// The public items of a file: its types and functions, and the methods of its types.
fn items(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut items, mut of, mut at) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n') {
        let rest = &text[at..];
        at += line.len();
        if line.starts_with("impl") {
            declaration(rest).trim_start_matches("impl").trim().clone_into(&mut of);
        } else if line.starts_with('}') {
            of.clear();
        } else if line.starts_with("pub ") && !line.starts_with("pub use") {
            items.push(declaration(rest));
        } else if line.starts_with("    pub ") && !of.is_empty() && !line.contains("pub(") {
            items.push(format!("{of}: {}", declaration(rest)));
        }
    }
    items.retain(|item| !item.contains("mod "));
    items
}

#[test]
fn the_public_interface_is_as_listed() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(source.join("lib.rs")).unwrap();
    let mut names = used(&root);
    let modules = root.lines().filter_map(|line| line.strip_prefix("pub mod "));
    names.extend(modules.map(|name| name.trim_end_matches(';').to_owned()));
    names.sort();
    assert!(names.len() <= MOST, "{} names at the root: {names:?}", names.len());
    let mut paths = Vec::new();
    list(&source, &mut paths);
    let all = paths.iter().flat_map(|path| items(&fs::read_to_string(path).unwrap()));
    let mut all: Vec<String> = all.collect();
    all.sort();
    let list = format!("# At the root\n{}\n\n# Items\n{}\n", names.join("\n"), all.join("\n"));
    expect_file!["../public-api.txt"].assert_eq(&list);
}
