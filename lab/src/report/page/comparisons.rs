//! How rows compare with each other, seed by seed: in the end, and at equal time.

use std::fmt::Write as _;

use crate::report::{
    compare::Untested,
    differences::{CORRECTION, Differences, Shown, shown},
    equal_time::EqualTime,
    row::Row,
    student::mean,
    table::decimals_of_loss,
};
use lengthwise_report::parts::{
    html::{button, section},
    svg::{SeriesStyle, escaped},
    text::{counted, fixed, time},
};

/// What a cell says where every seed has the same difference.
const SAME: &str = "<span class=\"sd\"> differs by the same with every seed: not tested</span>";

/// Nothing if there are no two rows to compare.
pub(super) fn comparisons_section(
    page: &mut String,
    differences: Option<&Differences>,
    rows: &[Row<'_>],
) {
    let Some(differences) = differences else { return };
    let (text, mut content) = if differences.columns.is_empty() {
        ("Runs of the same seed are compared with each other.".to_owned(), String::new())
    } else {
        let text = format!(
            "Every run is compared with {} of the same seed. A number is the mean difference, with its 95 % interval; \
             of time it is a ratio. “Seen from” is the smallest difference that these seeds would find with a \
             probability of 80 %. {CORRECTION}",
            escaped(&differences.first)
        );
        (text, table(differences, rows))
    };
    if !differences.untested.is_empty() {
        let notes = differences.untested.iter().map(|note| format!("<li>{}</li>", escaped(note)));
        _ = write!(content, "<ul class=\"remarks\">{}</ul>", notes.collect::<String>());
    }
    section(page, "comparisons", "Comparisons, seed by seed", &text, &content);
}

fn table(differences: &Differences, rows: &[Row<'_>]) -> String {
    let mut text = head("table of comparisons", "strategy");
    for column in &differences.columns {
        heading(&mut text, &column.heading, &column.meaning);
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for (number, names) in differences.names.iter().enumerate() {
        row_head(&mut text, rows, &names.1, &differences.name(names));
        for column in &differences.columns {
            text += &match &column.cells[number] {
                Some(shown) => cell(&shown.with_interval(), shown.number, shown),
                None => nothing(),
            };
        }
        text.push_str("</tr>\n");
    }
    text + "</tbody></table></div>\n"
}

/// The losses whenever the first row ends an epoch; nothing if no other row has one then.
pub(super) fn equal_time_section(page: &mut String, rows: &[Row<'_>]) {
    let Some((at, first)) = EqualTime::of(rows).zip(rows.first()) else { return };
    let compared = at.compared(rows);
    let mut text = head("table of losses at equal time", "strategy");
    for &epoch in at.epochs() {
        let ends = at.seconds(epoch).map(|seconds| format!(" (after {} s)", time(seconds)));
        let meaning = format!("when {} ends epoch {epoch}{}", first.name, ends.unwrap_or_default());
        heading(&mut text, &counted(epoch.into(), "epoch"), &meaning);
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        row_head(&mut text, rows, row.name, row.name);
        for (&epoch, compared) in at.epochs().iter().zip(&compared) {
            let values =
                at.values(row, epoch).map(|values| values.into_values().collect::<Vec<_>>());
            let Some(loss) = values.and_then(|values| mean(&values)) else {
                text += &nothing();
                continue;
            };
            let value = fixed(loss, decimals_of_loss(loss));
            let cell = match compared.with_first(first.name, row.name).map(|one| one.found) {
                Some(Ok(found)) => {
                    let shown = shown(compared.measure, &found);
                    cell(&format!("{value}<br>{}", shown.with_interval()), loss, &shown)
                }
                why => {
                    let same = if why == Some(Err(Untested::NoSpread)) { SAME } else { "" };
                    format!("<td class=\"words\" data-value=\"{loss}\">{value}{same}</td>")
                }
            };
            text += &cell;
        }
        text.push_str("</tr>\n");
    }
    section(
        page,
        "equal-time",
        "Validation loss at equal time",
        &format!(
            "Whenever {} ends an epoch: the loss of the last epoch that others have ended by then, and its \
                 difference, seed by seed (paper 3, Fig. 5). Empty before a run has ended an epoch, and after it was \
                 done.",
            escaped(first.name)
        ),
        &(text + "</tbody></table></div>\n"),
    );
}

fn head(label: &str, corner: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table class=\"small \
         long-names\">\n<thead><tr><th scope=\"col\" data-sort=\"text\">{corner}</th>"
    )
}

fn heading(text: &mut String, heading: &str, meaning: &str) {
    _ = write!(
        text,
        "<th scope=\"col\" data-sort=\"number\" title=\"{}\">{}</th>",
        escaped(meaning),
        escaped(heading).replace('-', "\u{2011}")
    );
}

/// The head of a row of the table, which looks as the row does elsewhere.
fn row_head(text: &mut String, rows: &[Row<'_>], name: &str, shown: &str) {
    let style = SeriesStyle(rows.iter().position(|row| row.name == name).unwrap_or(0));
    _ = write!(
        text,
        "<tr class=\"series {}\" data-series=\"{}\"><th scope=\"row\" title=\"{}\">{}</th>",
        style.classes(),
        escaped(name),
        escaped(shown),
        button(&style.key(), shown)
    );
}

/// A number, its interval, whether it may be chance, and what could have been seen. Where there is little room,
/// lines are broken.
fn cell(value: &str, number: f64, shown: &Shown) -> String {
    let chance = if shown.beyond_chance { "" } else { "may be chance, " };
    let seen = shown.smallest.as_ref();
    let seen = seen.map(|from| format!("<span class=\"sd\"> seen from {from}</span>"));
    format!(
        "<td class=\"words\" data-value=\"{number}\">{value}<span class=\"sd\"> {chance}{}</span>{}</td>",
        shown.p.replace('<', "&lt;"),
        seen.unwrap_or_default()
    )
}

fn nothing() -> String {
    "<td class=\"words\" data-value=\"\">–</td>".to_owned()
}
