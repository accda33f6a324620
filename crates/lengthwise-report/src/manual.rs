//! The manual: a page for every strategy and every kind of setting.

use std::fmt::Write as _;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Shapes, Steps, Strategy, Tail, measure::Mixing,
    shard::Shard, stream::Streamer, tune::Limits,
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
    let page = |name: &str, usage: String, text: &str| Page {
        name: name.to_owned(),
        usage,
        text: readable(text),
    };
    let mut pages: Vec<Page> = Strategy::all()
        .iter()
        .map(|strategy| page(strategy.name(), strategy.to_string(), strategy.explain()))
        .collect();
    pages.extend([
        page("budget", Budget::NAMES.join(", "), Budget::explain()),
        page("cost", presets.join(", "), &CostModel::explain()),
        page("shapes", Shapes::NAMES.join(", "), Shapes::explain()),
        page("arrange", Arrange::NAMES.join(", "), Arrange::explain()),
        page("steps", Steps::NAMES.join(", "), Steps::explain()),
        page("stream", "batches of data as it comes".to_owned(), Streamer::explain()),
        page("shards", "parts of a corpus that are planned apart".to_owned(), Shard::explain()),
        page("mixing", "how freely batch-mates change".to_owned(), Mixing::explain()),
        page("tune", "how a strategy is chosen".to_owned(), Limits::explain()),
    ]);
    pages
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
        ("mixing", &["mates", "effective-mates", "repeat-rate"][..]),
        ("tune", &["tuning"][..]),
    ]
    .into_iter()
    .find(|(_, names)| names.contains(&name))
    .map_or(name, |(kind, _)| kind);
    let named = |name: &str| pages.iter().find(|page| page.name == name).cloned();
    let unknown = || given.parse::<Strategy>().err().unwrap_or(Error::NoSequences);
    named(name).or_else(|| named(kind)).ok_or_else(unknown)
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
