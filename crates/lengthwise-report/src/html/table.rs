//! The table of all strategies, which sorts when a heading is clicked.

use std::fmt::Write as _;

use crate::compare::{Figures, Row};
use crate::figures::bars::rows;
use crate::figures::shared::Styles;
use crate::html::figure::button;
use crate::study::Study;
use crate::text::{escaped, grouped, percent_within};

#[derive(Clone, Copy)]
struct Column {
    heading: &'static str,
    /// How many decimals.
    decimals: usize,
    with_sd: bool,
    /// Where the heading says %, a share.
    value: fn(&Figures) -> Option<f64>,
    /// What it is, for those who point at it.
    meaning: &'static str,
}

const fn column(
    heading: &'static str,
    decimals: usize,
    with_sd: bool,
    value: fn(&Figures) -> Option<f64>,
) -> Column {
    Column { heading, decimals, with_sd, value, meaning: "" }
}

impl Column {
    const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }
}

const COLUMNS: [Column; 12] = [
    column("padding, %", 2, true, |f| Some(f.padding_rate)).meaning("empty cells of all cells"),
    column("first, %", 2, true, |f| f.first_padding_rate)
        .meaning("empty cells of the first of two lengths"),
    column("second, %", 2, true, |f| f.second_padding_rate)
        .meaning("empty cells of the second of two lengths"),
    column("epoch, s", 2, true, |f| f.predicted_seconds)
        .meaning("time of an epoch by the cost model"),
    column("shapes", 1, false, |f| Some(f.shapes))
        .meaning("different pairs of batch size and batch length"),
    column("mixing, %", 0, true, |f| f.mixing).meaning(
        "how freely batch-mates change between epochs, as a share of random shuffling, over pairs of \
         batch-mates, with its standard error",
    ),
    column("step mix", 2, true, |f| Some(f.step_mix)).meaning(
        "how much the lengths of optimizer steps vary, compared with random steps of as many sequences: \
         1 is as random, 0 is all alike, above 1 steps are biased",
    ),
    column("optimizer steps", 1, false, |f| Some(f.optimizer_steps))
        .meaning("updates in an epoch, per rank"),
    column("idle, %", 1, true, |f| Some(f.idle_share))
        .meaning("time that ranks wait for the slowest rank of each step"),
    column("batches", 1, false, |f| Some(f.batches)).meaning("batches in an epoch"),
    column("batch length", 1, true, |f| Some(f.mean_batch_length))
        .meaning("mean batch length, weighted by batch size (ABL in Ge et al. 2021)"),
    column("sequential steps", 0, false, |f| Some(f.steps))
        .meaning("sum of the batch lengths: what a recurrent network waits for"),
];

pub(super) fn table(study: &Study, styles: &Styles) -> String {
    let comparison = &study.comparison;
    let columns = COLUMNS.iter().filter(|column| comparison.has_column(column.heading));
    let mut table = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of \
                     strategies\"><table>\n<thead><tr><th scope=\"col\" data-sort=\"text\">\
                     strategy</th>"
        .to_owned();
    for column in columns.clone() {
        _ = write!(
            table,
            "<th scope=\"col\" data-sort=\"number\" title=\"{}\">{}</th>",
            column.meaning,
            // Broken between words only.
            column.heading.replace(", ", ",\u{a0}").replace('-', "\u{2011}")
        );
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for (number, row) in rows(study) {
        let style = styles.row(number);
        _ = write!(
            table,
            "<tr class=\"series {}{}\" data-series=\"{}\"><th scope=\"row\">{}</th>",
            style.classes(),
            if row.recommended { " best" } else { "" },
            escaped(row.label()),
            button(&style.key(), row.label())
        );
        table.extend(
            columns.clone().map(|column| cell(column, row, comparison.settings.epochs > 1)),
        );
        table.push_str("</tr>\n");
    }
    table + "</tbody></table></div>\n"
}

fn cell(column: &Column, row: &Row, several_epochs: bool) -> String {
    let percent = if column.heading.ends_with('%') { 100.0 } else { 1.0 };
    let value_of = |figures| (column.value)(figures).map(|value| percent * value);
    let Some(value) = value_of(&row.mean) else {
        return "<td data-value=\"\">–</td>".to_owned();
    };
    if let (true, Some(error)) = (column.heading.starts_with("mixing"), row.mean.mixing_error) {
        let [shown, error] = [value / 100.0, error].map(|share| percent_within(share, error));
        return format!(
            "<td data-value=\"{value}\">{shown}<span class=\"sd\"> ± {error}</span></td>"
        );
    }
    let shown = number(value, column.decimals);
    let sd = value_of(&row.sd).filter(|_| column.with_sd && several_epochs);
    let sd = sd.map_or_else(String::new, |sd| {
        format!("<span class=\"sd\"> ± {}</span>", number(sd, column.decimals))
    });
    format!("<td data-value=\"{value}\">{shown}{sd}</td>")
}

/// A number with commas where it is large, and no decimals where it is whole.
fn number(value: f64, decimals: usize) -> String {
    if value.abs() >= 10_000.0 {
        return grouped(value.round() as u64);
    }
    let text = format!("{value:.decimals$}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    // A rounded -0.00 is zero.
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    if zero { text.trim_start_matches('-').to_owned() } else { text.to_owned() }
}
