//! The table of all strategies, which sorts when a heading is clicked.

use std::fmt::Write as _;

use super::figure::button;
use crate::{Comparison, Figures, Row, figures::Looks, svg::escaped, text::grouped};

struct Column {
    heading: &'static str,
    /// What it means, for those who point at it.
    meaning: &'static str,
    value: fn(&Figures) -> Option<f64>,
    /// How many decimals.
    decimals: usize,
    with_sd: bool,
}

const COLUMNS: [Column; 13] = [
    Column {
        heading: "batches",
        meaning: "batches in an epoch",
        value: |f| Some(f.batches),
        decimals: 1,
        with_sd: false,
    },
    Column {
        heading: "padding, %",
        meaning: "empty cells of all cells",
        value: |f| Some(100.0 * f.padding_rate),
        decimals: 2,
        with_sd: true,
    },
    Column {
        heading: "first, %",
        meaning: "empty cells of the first of two lengths",
        value: |f| f.first_padding_rate.map(|rate| 100.0 * rate),
        decimals: 2,
        with_sd: true,
    },
    Column {
        heading: "second, %",
        meaning: "empty cells of the second of two lengths",
        value: |f| f.second_padding_rate.map(|rate| 100.0 * rate),
        decimals: 2,
        with_sd: true,
    },
    Column {
        heading: "batch length",
        meaning: "mean batch length, weighted by batch size (paper 2’s ABL)",
        value: |f| Some(f.mean_batch_length),
        decimals: 1,
        with_sd: true,
    },
    Column {
        heading: "steps",
        meaning: "sum of the batch lengths: what a recurrent network waits for",
        value: |f| Some(f.steps),
        decimals: 0,
        with_sd: false,
    },
    Column {
        heading: "shapes",
        meaning: "different pairs of batch size and batch length",
        value: |f| Some(f.shapes),
        decimals: 1,
        with_sd: false,
    },
    Column {
        heading: "effective mates",
        meaning: "from how many others the company of a sequence is in effect drawn; an estimate from \
                  few epochs, which can be a little above the number of sequences",
        value: |f| f.effective_mates,
        decimals: 0,
        with_sd: true,
    },
    Column {
        heading: "lag-1",
        meaning: "correlation of the lengths of successive batches; with several ranks, of the mean \
                  lengths of successive steps",
        value: |f| Some(f.lag1_correlation),
        decimals: 2,
        with_sd: false,
    },
    Column {
        heading: "rank steps",
        meaning: "steps that each rank takes in an epoch",
        value: |f| Some(f.optimizer_steps),
        decimals: 1,
        with_sd: false,
    },
    Column {
        heading: "idle, %",
        meaning: "time that ranks wait for the slowest of each step",
        value: |f| Some(100.0 * f.idle_share),
        decimals: 1,
        with_sd: true,
    },
    Column {
        heading: "idle ≥, %",
        meaning: "the least that any dealing of these batches to steps could have",
        value: |f| Some(100.0 * f.idle_bound),
        decimals: 1,
        with_sd: false,
    },
    Column {
        heading: "epoch, s",
        meaning: "time of an epoch by the cost model",
        value: |f| f.predicted_seconds,
        decimals: 2,
        with_sd: true,
    },
];

pub(super) fn table(comparison: &Comparison, looks: &Looks) -> String {
    let settings = &comparison.settings;
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| match column.heading {
            "rank steps" | "idle, %" | "idle ≥, %" => settings.world_size > 1,
            "epoch, s" => settings.cost_model.is_some(),
            "first, %" | "second, %" => {
                comparison.rows.iter().any(|row| row.mean.second_padding_rate.is_some())
            }
            _ => true,
        })
        .collect();
    let mut table = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of \
                     strategies\"><table>\n<thead><tr><th scope=\"col\" data-sort=\"text\">\
                     strategy</th>"
        .to_owned();
    for column in &columns {
        _ = write!(
            table,
            "<th scope=\"col\" data-sort=\"number\" title=\"{}\">{}</th>",
            column.meaning,
            // Broken between words only.
            column.heading.replace(", ", ",\u{a0}").replace('-', "\u{2011}")
        );
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for (number, row) in comparison.rows.iter().enumerate() {
        let look = looks.row(number);
        _ = write!(
            table,
            "<tr class=\"series {}\" data-series=\"{}\"><th scope=\"row\">{}</th>",
            look.classes(),
            escaped(&row.strategy),
            button(&look.key(), &row.strategy)
        );
        for column in &columns {
            table.push_str(&cell(column, row, settings.epochs > 1));
        }
        table.push_str("</tr>\n");
    }
    table + "</tbody></table></div>\n"
}

fn cell(column: &Column, row: &Row, several_epochs: bool) -> String {
    let Some(value) = (column.value)(&row.mean) else {
        return "<td data-value=\"\">–</td>".to_owned();
    };
    if value.is_infinite() {
        return "<td data-value=\"1e300\">∞</td>".to_owned();
    }
    let shown = number(value, column.decimals);
    let sd = match (column.value)(&row.sd) {
        Some(sd) if column.with_sd && several_epochs => {
            format!("<span class=\"sd\"> ± {}</span>", number(sd, column.decimals))
        }
        _ => String::new(),
    };
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
