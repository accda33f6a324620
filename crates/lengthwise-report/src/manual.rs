//! The manual: a page for every strategy and every kind of setting.

mod examples;

use std::fmt::Write as _;

use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, Shapes, Steps, Strategy, Tail, balance::Balance,
    groups::Together, measure::Mixing, shard::Shard, stream::Streamer, tune::Limits,
};
use serde::Serialize;

use crate::markdown::{Screen, rendered};
use crate::text::filled;

/// A manual page.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// What is explained.
    pub name: String,
    /// The string form with default parameters.
    pub usage: String,
    /// What it is, in one line.
    pub summary: String,
    /// The page, in Markdown.
    pub text: String,
}

impl Page {
    /// The page for a terminal.
    pub fn on(&self, screen: Screen) -> String {
        rendered(&self.text, screen)
    }
}

/// All manual pages: the strategies, the other settings, then what else there is to know.
pub fn pages() -> Vec<Page> {
    let presets: Vec<&str> = CostModel::PRESETS.iter().map(|preset| preset.name).collect();
    let page = |name: &str, usage: String, summary: &str, text: &str| Page {
        name: name.to_owned(),
        usage,
        summary: summary.to_owned(),
        text: with_examples(name, text),
    };
    let mut pages: Vec<Page> = Strategy::all()
        .iter()
        .map(|it| page(it.name(), it.to_string(), it.summary(), it.explain()))
        .collect();
    let setting = |name, names: &[&str], summary: &str, text| {
        let names = names.join(", ");
        page(name, names.clone(), &format!("{summary}: {names}"), text)
    };
    let cost = CostModel::explain();
    let topic = |name, summary: &str, text| page(name, summary.to_owned(), summary, text);
    pages.extend([
        setting("budget", &Budget::NAMES, "the limit of every batch", Budget::explain()),
        setting("cost", &presets, "how long a training step takes", &cost),
        setting("shapes", &Shapes::NAMES, "which batch lengths may occur", Shapes::explain()),
        setting("arrange", &Arrange::NAMES, "the order of the batches", Arrange::explain()),
        setting("steps", &Steps::NAMES, "which ranks process which batches", Steps::explain()),
        topic(
            "groups",
            "sequences that stay together, and kinds that do not mix",
            Together::explain(),
        ),
        topic("balance", "divide one step over ranks and micro-batches", Balance::explain()),
        topic("stream", "batches from data that arrives one by one", Streamer::explain()),
        topic("shards", "plan a dataset whose lengths are on several nodes", Shard::explain()),
        topic("mixing", "how freely batch-mates change between epochs", Mixing::explain()),
        topic("tune", "how settings are recommended", Limits::explain()),
        topic("glossary", "the words that lengthwise uses", include_str!("manual/glossary.md")),
    ]);
    pages
}

/// Pages of settings; what follows them is about something else.
const SETTINGS: usize = 5;

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
        ("groups", &["group", "together", "kind", "kinds", "one-kind", "mix", "share"][..]),
        ("shards", &["shard", "statistics", "needs", "of"][..]),
        // As they are called in help and documentation.
        ("budget", &["budgets"][..]),
        ("cost", &["costs", "cost-model", "cost-models", "cost model", "cost models"][..]),
        ("shapes", &["shape", "ladders"][..]),
        ("arrange", &["arrangement", "arrangements", "order"][..]),
        ("steps", &["step", "cursors"][..]),
        ("stream", &["streams", "streaming"][..]),
        ("mixing", &["mates", "effective-mates", "repeat-rate", "batch-mates"][..]),
        ("tune", &["tuning", "recommended"][..]),
        ("glossary", &["words", "terms", "vocabulary"][..]),
    ]
    .into_iter()
    .find(|(_, names)| names.contains(&name))
    .map_or(name, |(kind, _)| kind);
    let named = |name: &str| pages.iter().find(|page| page.name == name).cloned();
    let unknown = || given.parse::<Strategy>().err().unwrap_or(Error::NoSequences);
    named(name).or_else(|| named(kind)).ok_or_else(unknown)
}

/// A page with examples for the command line and for Python. The one for Rust, under the heading
/// `Example`, is for the documentation of the library.
fn with_examples(name: &str, page: &str) -> String {
    let (mut text, mut in_example) = (String::with_capacity(page.len()), false);
    for line in page.lines() {
        if line.starts_with("## ") {
            in_example = line == "## Example";
        }
        if !in_example {
            text.extend([line, "\n"]);
        }
    }
    let examples = examples::of(name).map(|examples::Shown { commands, python }| {
        format!(
            "## Examples\n\nOn the command line:\n\n```sh\n{commands}\n```\n\nIn Python:\n\n```python\n\
             {python}\n```\n"
        )
    });
    let examples = examples.unwrap_or_default();
    // What a page is based on comes last.
    match text.split_once("## Reference\n") {
        Some((before, reference)) => format!("{before}{examples}\n## Reference\n{reference}"),
        None => format!("{}\n\n{examples}", text.trim_end()),
    }
}

/// A list of everything that can be explained, in lines of at most `width` characters.
pub fn list_of_pages(width: usize) -> String {
    let pages = pages();
    let (strategies, others) = pages.split_at(Strategy::NAMES.len());
    let (settings, topics) = others.split_at(SETTINGS);
    let line = |name: &str, summary: &str| {
        const COLUMN: usize = 28;
        if width < 60 {
            format!("  {name}\n") + &filled(summary, width, "      ", "      ")
        } else {
            filled(summary, width, &format!("  {name:COLUMN$}"), &" ".repeat(2 + COLUMN))
        }
    };
    let mut text = String::from("Strategies\n");
    text.extend(strategies.iter().map(|page| line(&page.usage, &page.summary)));
    for (title, pages) in [("Settings", settings), ("More", topics)] {
        _ = writeln!(text, "\n{title}");
        text.extend(pages.iter().map(|page| line(&page.name, &page.summary)));
    }
    text.push_str("\nBuilt-in lengths (--example)\n");
    text.extend(Example::ALL.iter().map(|it| line(it.name(), it.describe())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_examples_and_no_word_of_rust() {
        for page in pages() {
            for needed in ["```sh\n", "lengthwise ", "```python\n", "lengthwise"] {
                assert!(page.text.contains(needed), "{}: {needed}", page.name);
            }
            for wide in [false, true] {
                let shown = page.on(Screen { width: 100, coloured: wide });
                for mark in ["`", "#", "](", "|--", "::", "use lengthwise"] {
                    assert!(!shown.contains(mark), "{}: {mark} in {shown}", page.name);
                }
                // Two stars are marks but in Python.
                let mut words = shown.lines().filter(|line| !line.starts_with("    "));
                assert!(words.all(|line| !line.contains("**")), "{}: {shown}", page.name);
            }
        }
    }

    #[test]
    fn pages_fit_every_screen() {
        for width in [40, 60, 80, 200] {
            let list = list_of_pages(width);
            let shown = pages().into_iter().map(|page| page.on(Screen { width, coloured: true }));
            for text in shown.chain([list]) {
                // A single word is never broken, however long it is.
                let wide = text.lines().find(|line| {
                    crate::text::visible_width(line) > width && line.trim().contains(' ')
                });
                assert_eq!(wide, None, "{width}");
            }
        }
    }
}
