//! CONTRIBUTING says how to add a strategy and a setting: what it names is there, and every strategy and
//! setting was added in that way.

use std::{fs, path::Path};

use lengthwise::Strategy;

use crate::common::Folder;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A section of CONTRIBUTING, from its heading to the next.
fn section(title: &str) -> String {
    let text = read("CONTRIBUTING.md");
    let after = text.split(&format!("## {title}\n")).nth(1).expect("a section of this title");
    after.split("\n## ").next().unwrap().to_owned()
}

/// Every path in backticks that a section names exists, from the root or in the core.
#[test]
fn the_files_that_are_named_exist() {
    let mut named = 0;
    for title in ["How to add a strategy", "How to add a setting of a plan"] {
        for path in section(title).split('`').skip(1).step_by(2) {
            if !path.contains('/') || path.contains("NAME") || path.contains([' ', '\n']) {
                continue;
            }
            named += 1;
            let places = ["", "crates/lengthwise/", "crates/lengthwise-cli/src/"];
            let found = places.iter().any(|place| root().join(place).join(path).exists());
            assert!(found, "CONTRIBUTING names `{path}` under \"{title}\", and it is not there");
        }
    }
    assert!(named > 8, "{named}");
}

/// One file, one page, one line in the list, and a row of the README.
#[test]
fn every_strategy_has_what_the_steps_ask_for() {
    let list = read("crates/lengthwise/src/strategy/mod.rs");
    let (readme, stability) = (read("README.md"), read("crates/lengthwise/tests/stability.rs"));
    for strategy in Strategy::all() {
        let (name, file) = (strategy.name(), strategy.name().replace('-', "_"));
        let code = read(&format!("crates/lengthwise/src/strategy/{file}.rs"));
        let page = read(&format!("crates/lengthwise/src/strategy/{file}.md"));
        assert!(code.contains(&format!("\n#[doc = include_str!(\"{file}.md\")]")), "{name}");
        assert!(code.contains("impl Group for "), "{name}");
        assert!(page.contains("```") && page.contains("\n## "), "{name}");
        assert!(list.contains(&format!("mod {file};")), "{name}");
        let line = list.lines().find(|line| line.starts_with(&format!("    {file} ")));
        assert!(line.is_some_and(|line| line.contains(&format!(" \"{name}\""))), "{name}");
        assert!(readme.contains(&format!("`{name}")), "{name} is not in the README");
        // Two lengths have a list of their own.
        assert!(stability.contains(&format!("        {name}")) || name == "paired", "{name}");
    }
}

/// Every setting of the list can be set in Rust, on the command line and in Python.
#[test]
fn every_setting_has_a_method_a_flag_and_a_keyword() {
    let list = read("crates/lengthwise/src/plan/settings.rs");
    let list = list.split("\nsettings! {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let given = list.split("given {").skip(1).filter_map(|group| group.split("found {").next());
    let lines = given.flat_map(str::lines).filter_map(|line| line.strip_prefix("        "));
    let names = lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    let names: Vec<&str> =
        names.filter(|name| name.chars().all(|c| c == '_' || c.is_alphanumeric())).collect();
    assert!(names.len() >= 12 && names.contains(&"budget"), "{names:?}");
    let planner = read("crates/lengthwise/src/planner.rs");
    let (python, told) = (read("python/src/planner.rs"), read("python/src/plan.rs"));
    let flags = ["planning", "shared"]
        .map(|file| read(&format!("crates/lengthwise-cli/src/args/{file}.rs")));
    for name in names {
        // How many batches there are is asked for by `constant_steps`.
        let typed = if name == "batches" { "constant_steps" } else { name };
        assert!(
            name == "strategy" || name == "budget" || planner.contains(&format!("pub fn {name}(")),
            "{name}"
        );
        assert!(
            flags.iter().any(|text| text.contains(&format!("pub(crate) {typed}: "))),
            "{typed}"
        );
        assert!(python.contains(&format!("///     `{typed}`: ")), "{typed}");
        assert!(name == "shard" || told.contains(&format!("set_item(\"{name}\", ")), "{name}");
    }
}

#[test]
fn the_commands_of_the_readme_work() {
    let lengths: String =
        (0..6000).flat_map(|i| [(50 + i * 7 % 900).to_string(), "\n".into()]).collect();
    let folder = Folder::new().with("lengths.csv", format!("frames\n{lengths}"));
    let readme = read("README.md");
    let section = &readme[readme.find("## On your lengths").unwrap()..];
    let section = &section[..section.find("\n## ").unwrap()];
    let commands = section.lines().filter_map(|line| line.strip_prefix("lengthwise "));
    let mut run = 0;
    for command in commands.map(|line| line.split('#').next().unwrap().trim()) {
        let output = folder.run(command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        run += 1;
    }
    assert_eq!(run, 3);
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
}
