//! The manual: a page for every strategy and every kind of setting.

use std::fmt::Write as _;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Limits, Shapes, Shard, Steps, Strategy, Streamer,
    Tail,
};
use serde::Serialize;

/// A manual page.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// What is explained.
    pub name: String,
    /// The string form with default parameters.
    pub usage: String,
    /// The page, in Markdown.
    pub text: String,
}

/// All manual pages: the strategies, then the other settings.
pub fn pages() -> Vec<Page> {
    let presets: Vec<&str> = CostModel::PRESETS.iter().map(|preset| preset.name).collect();
    let settings = [
        ("budget", Budget::NAMES.join(", "), Budget::explain().to_owned()),
        ("cost", presets.join(", "), CostModel::explain()),
        ("shapes", Shapes::NAMES.join(", "), Shapes::explain().to_owned()),
        ("arrange", Arrange::NAMES.join(", "), Arrange::explain().to_owned()),
        ("steps", Steps::NAMES.join(", "), Steps::explain().to_owned()),
        ("stream", "batches of data as it comes".to_owned(), Streamer::explain().to_owned()),
        (
            "shards",
            "parts of a corpus that are planned apart".to_owned(),
            Shard::explain().to_owned(),
        ),
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

/// The page of a strategy, of a kind of setting, or of one of its names.
pub fn page(given: &str) -> Result<Page, Error> {
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
        ("shards", &["shard", "statistics", "needs", "of"][..]),
        // As they are called in help and documentation.
        ("budget", &["budgets"][..]),
        ("cost", &["costs", "cost-model", "cost-models", "cost model", "cost models"][..]),
        ("shapes", &["shape", "ladders"][..]),
        ("arrange", &["arrangement", "arrangements"][..]),
        ("steps", &["step", "cursors"][..]),
        ("stream", &["streams", "streaming"][..]),
        ("tune", &["tuning"][..]),
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

/// A page without what only a documentation generator needs: the hidden lines of its example.
fn readable(page: &str) -> String {
    let shown = page.lines().filter(|line| !line.starts_with("# Ok::<"));
    let mut text: String = shown.flat_map(|line| [line, "\n"]).collect();
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A list of everything that can be explained.
pub fn list_of_pages() -> String {
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
    text
}
