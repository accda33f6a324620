//! A training as one page that needs nothing else, in the style of the report.

mod cell;
mod comparisons;
mod scaling;
mod workers;

use std::fmt::Write as _;

use cell::cell;

use super::{
    figures::{Against, Curves, dot_of, seconds, trade_off},
    records::Training,
    row::Row,
    table::{Column, TrainingTable},
    workers::{Count, any_together},
};
use lengthwise_report::parts::{
    html::{
        TABLE_HINT, Width, button, document, dots_legend, figure, lines_legend, nothing, section,
    },
    svg::{SeriesStyle, escaped},
    text::counted,
};

/// Why there is no curve though there was validation.
const NO_CURVE: &str = "no strategy has finite numbers of all its seeds after two epochs or more; what \
                        there is, is in the table";
/// Why no two strategies can be compared.
const NO_PAIR: &str = "no two strategies have errors to compare; what there is, is in the table";

impl Training {
    /// The training as one HTML file: the verdict, the table, and figures. Its records are in it, as
    /// the lines of [`to_jsonl`](Self::to_jsonl).
    pub fn page(&self) -> String {
        let rows = self.rows();
        let table = self.table();
        let mut main = String::new();
        self.head(&mut main, &rows);
        table_section(&mut main, &table);
        comparisons::comparisons_section(&mut main, table.differences.as_ref(), &rows);
        self.loss_section(&mut main, &rows);
        comparisons::equal_time_section(&mut main, &rows);
        seconds_section(&mut main, &rows);
        workers::workers_section(&mut main, &rows);
        scaling::scaling_section(&mut main, self, &rows);
        self.error_section(&mut main, &rows);
        self.trade_off_section(&mut main, &rows);
        settings_section(&mut main, &rows);
        _ = write!(
            main,
            "<footer>\n<p>Provenance by lengthwise {}. The records are in this file, as JSON lines in the \
             element <code>training</code>.</p>\n</footer>\n",
            env!("CARGO_PKG_VERSION")
        );
        document(&self.title, &main, ("training", "application/jsonl", &self.to_jsonl()))
    }

    fn head(&self, page: &mut String, rows: &[Row<'_>]) {
        _ = write!(
            page,
            "<header>\n<p class=\"brand\">lengthwise training</p>\n<h1>{}</h1>\n\
             <p class=\"verdict\">{}</p>\n<dl>\n",
            escaped(&self.title),
            self.verdict().iter().map(|one| escaped(one)).collect::<Vec<_>>().join("<br>\n")
        );
        let own = [("trained".to_owned(), self.extent(rows))];
        for (what, value) in self.about.iter().chain(&own) {
            let (what, value) = (escaped(what), escaped(value));
            _ = writeln!(page, "<div><dt>{what}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n</header>\n");
    }

    /// How much was trained.
    fn extent(&self, rows: &[Row<'_>]) -> String {
        let epochs = rows.iter().map(Row::last_epoch).max().unwrap_or(0);
        let seeds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
        let even = rows.iter().all(|row| row.runs.len() == seeds);
        let epochs = counted(epochs.into(), "epoch");
        // Where they differ, they are in the table.
        let workers = match rows.first().and_then(Row::workers) {
            Some(all @ Count { least, most })
                if most > 1
                    && least == most
                    && rows.iter().all(|row| row.workers() == Some(all)) =>
            {
                format!(", {}", counted(most as u64, "worker"))
            }
            _ => String::new(),
        };
        let steps: Vec<u64> =
            rows.iter().filter_map(|row| Some(row.steps()?.round() as u64)).collect();
        let steps = match &steps[..] {
            [first, rest @ ..] if rest.iter().all(|other| other == first) => {
                format!(" of {}", counted(*first, "optimizer step"))
            }
            _ => String::new(),
        };
        if even {
            let names = match rows.len() {
                1 => "1\u{a0}strategy".to_owned(),
                several => format!("{several}\u{a0}strategies"),
            };
            format!("{names}, {}, {epochs}{steps}{workers}", counted(seeds as u64, "seed"))
        } else {
            format!("{}, {epochs}{steps}{workers}", counted(self.runs.len() as u64, "run"))
        }
    }

    fn loss_section(&self, page: &mut String, rows: &[Row<'_>]) {
        let curves = Curves::of_loss(rows);
        section(
            page,
            "loss",
            "Validation loss",
            &format!(
                "After each epoch, and against the time of training alone (paper 3, Fig. 3{}).{}{}",
                if any_together(rows) { "; with several workers, Fig. 5" } else { "" },
                band(curves.as_ref()),
                missing(rows, curves.as_ref())
            ),
            &curve_figures("loss", curves.as_ref(), &self.why_none(NO_CURVE)),
        );
    }

    fn error_section(&self, page: &mut String, rows: &[Row<'_>]) {
        let curves = Curves::of_error(self, rows);
        let target = match (Self::target(rows), rows) {
            (Some(_), [first, _, ..]) => format!(
                " How soon others have no more errors than {} in the end is in the table.",
                escaped(first.name)
            ),
            _ => String::new(),
        };
        section(
            page,
            "error",
            &format!("Errors: {}", escaped(&self.error)),
            &format!(
                "After each epoch, and against the time of training alone (paper 2, Fig. 4).{}{target}{}",
                band(curves.as_ref()),
                missing(rows, curves.as_ref())
            ),
            &curve_figures("error", curves.as_ref(), &self.why_none(NO_CURVE)),
        );
    }

    fn trade_off_section(&self, page: &mut String, rows: &[Row<'_>]) {
        let dots = rows.iter().enumerate().filter(|(_, row)| dot_of(row).is_some());
        let legend = dots_legend(dots.map(|(number, row)| (SeriesStyle(number), row.name)));
        let lost: Vec<String> = rows
            .iter()
            .filter(|row| row.diverged().next().is_some())
            .map(|row| escaped(row.name))
            .collect();
        let lost = if lost.is_empty() {
            String::new()
        } else {
            format!(" Without a dot, since runs diverged: {}.", lost.join(", "))
        };
        section(
            page,
            "trade-off",
            "Padding against error",
            &format!(
                "What saves padding may cost accuracy. The mean over seeds in the end, and from the \
                 least to the most as a line. Down and to the left is better.{lost}"
            ),
            &trade_off(self, rows).map_or_else(
                || nothing(&self.why_none(NO_PAIR)),
                |svg| figure("trade-off", Width::Wide, &svg, &legend),
            ),
        );
    }

    /// Why there is nothing to draw of validation.
    fn why_none(&self, what: &str) -> String {
        let epochs = self.runs.iter().flat_map(|run| &run.epochs);
        if epochs.clone().next().is_none() {
            "no epoch is over yet".to_owned()
        } else if epochs.clone().all(|epoch| epoch.validation.is_none()) {
            "no epoch was validated".to_owned()
        } else {
            what.to_owned()
        }
    }
}

/// What the bands are, if there are any.
fn band(curves: Option<&Curves<'_>>) -> &'static str {
    match curves {
        Some(curves) if curves.has_bands() => {
            " Lines are means over seeds; bands go from the least to the most of the seeds."
        }
        _ => "",
    }
}

/// Which rows have no line, or one that ends early.
fn missing(rows: &[Row<'_>], curves: Option<&Curves<'_>>) -> String {
    let Some(curves) = curves else { return String::new() };
    let drawn: Vec<&str> = curves.series().map(|(_, name)| name).collect();
    let mut text = String::new();
    let names = |which: &dyn Fn(&&Row<'_>) -> bool| -> Vec<String> {
        rows.iter().filter(which).map(|row| escaped(row.name)).collect()
    };
    let absent = names(&|row| !drawn.contains(&row.name));
    if !absent.is_empty() {
        _ = write!(text, " Without a line, since there are no numbers: {}.", absent.join(", "));
    }
    let ended = names(&|row| drawn.contains(&row.name) && row.diverged().next().is_some());
    if !ended.is_empty() {
        _ = write!(text, " A line ends where a run diverged: {}.", ended.join(", "));
    }
    text
}

fn curve_figures(name: &str, curves: Option<&Curves<'_>>, why_none: &str) -> String {
    let Some(curves) = curves else { return nothing(why_none) };
    [(Against::Epochs, "epochs"), (Against::Seconds, "seconds")]
        .map(|(against, what)| {
            let legend = lines_legend(curves.series());
            figure(&format!("{name}-{what}"), Width::Wide, &curves.draw(against), &legend)
        })
        .concat()
}

fn seconds_section(page: &mut String, rows: &[Row<'_>]) {
    let each = if any_together(rows) {
        " Of several workers: with a core or a device for each."
    } else {
        ""
    };
    section(
        page,
        "seconds",
        "Time of an epoch",
        &format!(
            "Of training alone, without validation: the median over epochs and seeds (paper 3, Fig. \
             4).{each}"
        ),
        &seconds(rows).map_or_else(
            || nothing("no epoch took any time"),
            |svg| figure("seconds", Width::Wide, &svg, ""),
        ),
    );
}

fn settings_section(page: &mut String, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    let mut list = "<dl class=\"settings\">\n".to_owned();
    for row in rows {
        let mut settings: Vec<&str> = row.runs.iter().map(|run| run.settings.as_str()).collect();
        settings.dedup();
        _ = write!(list, "<div><dt>{}</dt>", escaped(row.name));
        for settings in settings {
            _ = write!(list, "<dd><code>{}</code></dd>", escaped(settings));
        }
        list.push_str("</div>\n");
    }
    list.push_str("</dl>");
    section(page, "settings", "Settings", "What the planner was given for each strategy.", &list);
}

fn table_section(page: &mut String, table: &TrainingTable) {
    let several = table.columns.iter().flat_map(|column| &column.cells);
    let several = several.into_iter().any(|cell| cell.spread.is_some());
    let means = if several {
        " Results are means over seeds, ± half of the 95 % confidence interval by Student’s t."
    } else {
        ""
    };
    let mut content =
        if table.names.is_empty() { nothing("there are no runs") } else { table_of(table) };
    if !table.remarks.is_empty() {
        let remarks = table.remarks.iter().map(|text| format!("<li>{}</li>", escaped(text)));
        _ = write!(content, "<ul class=\"remarks\">{}</ul>", remarks.collect::<String>());
    }
    section(
        page,
        "strategies",
        "Strategies",
        &format!("Time, rates and padding are of training alone.{means}{TABLE_HINT}"),
        &content,
    );
}

/// More columns than this are set closer together.
const WIDE: usize = 11;

fn table_of(table: &TrainingTable) -> String {
    // What is the same for all is said in the head of the page.
    let columns: Vec<&Column> = table.columns.iter().filter(|column| !column.is_idle()).collect();
    let dense = if columns.len() > WIDE { "dense " } else { "" };
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of \
         strategies\"><table class=\"{dense}long-names\">\n<thead><tr><th scope=\"col\" \
         data-sort=\"text\">strategy</th>"
    );
    for Column { heading, meaning, .. } in &columns {
        _ = write!(
            text,
            "<th scope=\"col\" data-sort=\"number\" title=\"{}\">{}</th>",
            escaped(meaning),
            // Broken between words only.
            escaped(heading).replace('-', "\u{2011}")
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for (number, name) in table.names.iter().enumerate() {
        let style = SeriesStyle(number);
        _ = write!(
            text,
            "<tr class=\"series {}\" data-series=\"{}\"><th scope=\"row\" title=\"{1}\">{}</th>",
            style.classes(),
            escaped(name),
            button(&style.key(), name)
        );
        text.extend(columns.iter().map(|column| cell(&column.cells[number])));
        text.push_str("</tr>\n");
    }
    text + "</tbody></table></div>\n"
}
