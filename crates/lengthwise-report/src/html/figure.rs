//! Figures on the page, and the legends below them.

use crate::figures::curves::dot_of;
use crate::figures::shared::{Styles, kind};
use crate::study::Study;
use crate::svg::style::{SeriesStyle, rule_key};
use crate::text::{counted, escaped};

/// How a figure is shown where there is little room: smaller, or as wide as it can be read, to be
/// scrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Smaller.
    Small,
    /// As wide as it can be read.
    Wide,
}

/// A figure with the name that its download gets; the legend goes along.
pub fn figure(name: &str, width: Width, svg: &str, legend: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    let class = if width == Width::Wide { " class=\"wide\"" } else { "" };
    format!(
        "<figure{class} data-name=\"{name}\"><div class=\"scroll\">{svg}</div>{legend}</figure>"
    )
}

/// A figure of several pictures, which stand below each other where the window is narrow.
pub(super) fn panels(name: &str, title: &str, class: &str, pictures: &str, legend: &str) -> String {
    format!(
        "<figure data-name=\"{name}\" data-title=\"{title}\"><div class=\"panels {class}\">\
         {pictures}</div>{legend}</figure>"
    )
}

/// What stands in the place of a figure that would be empty.
pub fn nothing(why: &str) -> String {
    format!("<p class=\"nothing\">Nothing to show: {why}.</p>")
}

/// The name of a strategy with what its series looks like, to be followed through all figures.
pub fn button(key: &str, name: &str) -> String {
    format!("<button type=\"button\" aria-pressed=\"false\">{key}{}</button>", escaped(name))
}

fn entry(style: SeriesStyle, key: &str, name: &str) -> String {
    format!(
        "<li class=\"series {}\" data-series=\"{}\">{}</li>",
        style.classes(),
        escaped(name),
        button(key, name)
    )
}

fn legend(entries: impl Iterator<Item = String>) -> String {
    format!("<ul class=\"legend\">{}</ul>", entries.collect::<String>())
}

/// The rows whose waiting is drawn.
pub(super) fn idle_legend(study: &Study, styles: &Styles) -> String {
    let drawn = study.idle.iter().map(|idle| idle.strategy.as_str());
    lines_legend(drawn.map(|label| (styles.named(label, study), label)))
}

/// A legend of lines with their dots.
pub fn lines_legend<'a>(series: impl Iterator<Item = (SeriesStyle, &'a str)>) -> String {
    legend(series.map(|(style, name)| entry(style, &style.key(), name)))
}

/// A legend of lines with their dots, and of one thing more that is no series.
pub fn lines_legend_and<'a>(
    series: impl Iterator<Item = (SeriesStyle, &'a str)>,
    key: &str,
    what: &str,
) -> String {
    let more = format!("<li class=\"plain\">{key}{what}</li>");
    legend(series.map(|(style, name)| entry(style, &style.key(), name)).chain([more]))
}

/// A legend of what is drawn alike for all series.
pub fn plain_legend<const N: usize>(entries: [(String, &str); N]) -> String {
    let entries = entries.map(|(key, what)| format!("<li>{key}{what}</li>")).concat();
    format!("<ul class=\"legend plain\">{entries}</ul>")
}

/// A legend of larger dots.
pub fn dots_legend<'a>(series: impl Iterator<Item = (SeriesStyle, &'a str)>) -> String {
    legend(series.map(|(style, name)| entry(style, &style.dot_key(), name)))
}

/// The families, and those strategies of the table that do not look like their family.
pub(super) fn frontier_legend(study: &Study, styles: &Styles) -> String {
    let curves = study.frontier.curves.iter().map(|curve| {
        let style = styles.family(&curve.family);
        entry(style, &style.key(), &curve.family)
    });
    let is_family = |name: &str| study.frontier.curves.iter().any(|curve| curve.family == name);
    let rows = study.comparison.rows.iter().enumerate().filter_map(|(number, row)| {
        let (style, kind) = (styles.row(number), kind(row.label()));
        dot_of(row)?;
        let own = !(is_family(kind) && styles.family(kind) == style);
        own.then(|| entry(style, &style.dot_key(), row.label()))
    });
    legend(curves.chain(rows))
}

pub(super) fn lengths_legend(study: &Study) -> String {
    let count = study.lengths.ladder.len() as u64;
    let what = if study.lengths.recommended {
        format!("{} of the recommended plan", counted(count, "batch length"))
    } else {
        format!("ladder of {}", counted(count, "rung"))
    };
    plain_legend([(rule_key("rung"), &what)])
}
