//! `lengthwise explain`

use std::fmt::Write as _;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Limits, Shapes, Steps, Strategy, Tail,
};
use serde::Serialize;

use crate::{args::Explain, failure::Failure, printer};

/// A manual page.
#[derive(Serialize)]
struct Page {
    name: String,
    /// The string form with default parameters.
    usage: String,
    text: String,
}

/// All manual pages: the strategies, then the other settings.
fn pages() -> Vec<Page> {
    let presets: Vec<&str> = CostModel::PRESETS.iter().map(|preset| preset.name).collect();
    let settings = [
        ("budget", Budget::NAMES.join(", "), Budget::explain().to_owned()),
        ("cost", presets.join(", "), CostModel::explain()),
        ("shapes", Shapes::NAMES.join(", "), Shapes::explain().to_owned()),
        ("arrange", Arrange::NAMES.join(", "), Arrange::explain().to_owned()),
        ("steps", Steps::NAMES.join(", "), Steps::explain().to_owned()),
        ("tune", "how a strategy is chosen".to_owned(), Limits::explain().to_owned()),
    ];
    Strategy::all()
        .iter()
        .map(|strategy| Page {
            name: strategy.name().to_owned(),
            usage: strategy.to_string(),
            text: readable(strategy.explain()),
        })
        .chain(settings.into_iter().map(|(name, usage, page)| Page {
            name: name.to_owned(),
            usage,
            text: readable(&page),
        }))
        .collect()
}

pub(crate) fn run(args: &Explain) -> Result<(), Failure> {
    match &args.name {
        Some(name) => show(name, args.json),
        None if args.json => printer::print(&json(&pages())),
        None => printer::print(&list()),
    }
}

fn show(name: &str, as_json: bool) -> Result<(), Failure> {
    let page = find(name)?;
    printer::print(&if as_json { json(&page) } else { page.text })
}

/// The page of a strategy, of a kind of setting, or of one of its names.
fn find(given: &str) -> Result<Page, Error> {
    let name = given.split(':').next().unwrap_or(given);
    let pages = pages();
    let kind = [
        // `cost` has a page of its own.
        ("budget", &Budget::NAMES[..]),
        ("shapes", &Shapes::NAMES[..]),
        // `shuffled` is a strategy first.
        ("arrange", &Arrange::NAMES[..]),
        ("steps", &Steps::NAMES[..]),
        ("steps", &Tail::NAMES[..]),
        ("steps", &["ranks", "tail", "cursor", "resume", "idle", "world-size", "verify"][..]),
    ]
    .into_iter()
    .find(|(_, names)| names.contains(&name))
    .map_or(name, |(kind, _)| kind);
    let at = pages
        .iter()
        .position(|page| page.name == name)
        .or_else(|| pages.iter().position(|page| page.name == kind));
    match at.and_then(|at| pages.into_iter().nth(at)) {
        Some(page) => Ok(page),
        None => Err(given.parse::<Strategy>().err().unwrap_or(Error::NoSequences)),
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A page without what only a documentation generator needs: the hidden lines of its example.
fn readable(page: &str) -> String {
    let shown = page.lines().filter(|line| !line.starts_with("# Ok::<"));
    let mut text: String = shown.flat_map(|line| [line, "\n"]).collect();
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn list() -> String {
    let mut text = String::from("Strategies\n");
    for strategy in Strategy::all() {
        _ = writeln!(text, "  {:28}{}", strategy.to_string(), strategy.summary());
    }
    text.push_str("\nOther settings\n");
    for page in pages().iter().skip(Strategy::NAMES.len()) {
        _ = writeln!(text, "  {:28}{}", page.name, page.usage);
    }
    text.push_str("\nExamples\n");
    for example in Example::ALL {
        _ = writeln!(text, "  {:28}{}", example.name(), example.describe());
    }
    text.push_str("\n`lengthwise explain NAME` explains a strategy or a setting.\n");
    text
}
