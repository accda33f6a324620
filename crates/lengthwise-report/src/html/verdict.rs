//! The answer: what random batches cost, what is recommended instead, and the lines to paste.

use std::fmt::Write as _;

use crate::compare::{Comparison, Figures, Row};
use crate::text::{escaped, grouped, mixing, percent};

/// The answer as a part of the page.
pub(super) fn answer(comparison: &Comparison) -> String {
    let mut html =
        format!("<section id=\"answer\">\n<p class=\"verdict\">{}</p>\n", verdict(comparison));
    html += &changes(comparison);
    if let Some(recommended) = &comparison.recommended {
        if let Some(command) = &recommended.command {
            html += &paste("command", "On the command line", command);
        }
        let python = format!("import lengthwise as lw\n\nplan = {}", recommended.python);
        html += &paste("python", "In Python", &python);
        html += "<ul class=\"remarks\">\n";
        for remark in &recommended.remarks {
            _ = writeln!(html, "<li>{}</li>", escaped(&sentence(remark)));
        }
        html += "</ul>\n";
    }
    html + "</section>\n"
}

/// Lines to paste, in which no option is broken behind its dashes. The button that copies them is made by the
/// script.
fn paste(id: &str, label: &str, lines: &str) -> String {
    let word = |word: &str| match word.strip_prefix('-') {
        Some(_) => format!("<span>{}</span>", escaped(word)),
        None => escaped(word),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    format!(
        "<div class=\"paste\" id=\"{id}\"><p>{label}</p><pre tabindex=\"0\"><code>{}</code></pre></div>\n",
        lines.lines().map(line).collect::<Vec<_>>().join("\n")
    )
}

/// A remark with a capital letter at its beginning and a full stop at its end.
fn sentence(remark: &str) -> String {
    let mut letters = remark.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    if text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

/// What random batching costs, and what is recommended instead.
fn verdict(comparison: &Comparison) -> String {
    let rows = &comparison.rows;
    let Some(best) = best(comparison) else { return "Nothing was compared.".to_owned() };
    let input = &comparison.input;
    if input.sequences == 1 {
        return "There is only one sequence: it has no batch-mates, and there is nothing to compare."
            .to_owned();
    }
    if input.min == input.max && rows.iter().all(|row| row.mean.padding_rate == 0.0) {
        return format!(
            "All sequences have length {}: there is no padding, and random batches are as good as any.",
            input.max
        );
    }
    let spent = random(comparison).map_or_else(String::new, |random| {
        format!(
            "Random batches spend <b>{}</b> of their cells on padding. ",
            percent(random.mean.padding_rate)
        )
    });
    let Some(recommended) = &comparison.recommended else {
        let (name, least) = (escaped(best.label()), percent(best.mean.padding_rate));
        return format!("{spent}Least padding: <code>{name}</code>, <b>{least}</b>.");
    };
    let accumulated = match recommended.micro_batches {
        1 => String::new(),
        count => format!(", {count} micro-batches per update"),
    };
    format!(
        "{spent}Recommended: <code>{}</code>, shapes <code>{}</code>{accumulated}: {}.",
        escaped(&recommended.strategy),
        escaped(&recommended.shapes),
        escaped(recommended.reason.trim_end_matches('.'))
    )
}

/// Random batches and what is recommended, side by side; nothing unless both are compared.
fn changes(comparison: &Comparison) -> String {
    let recommended = comparison.rows.iter().find(|row| row.recommended);
    let Some((before, after)) = random(comparison).zip(recommended) else { return String::new() };
    let (before, after) = (&before.mean, &after.mean);
    let whole = |value: f64| grouped(value.round() as u64);
    let ratio = |value: f64| format!("{value:.2}");
    let seconds = before.predicted_seconds.zip(after.predicted_seconds);
    let time = match (seconds, after.time_ratio) {
        (Some((before, after)), _) => {
            let time = crate::figures::bars::time;
            Some(("epoch time", format!("{} s", time(before)), format!("{} s", time(after))))
        }
        (None, Some(after)) => Some(("epoch time", "1".to_owned(), ratio(after))),
        (None, None) => None,
    };
    let mixed = |share: Option<f64>, error: Option<f64>| {
        let text = mixing(share?, error.unwrap_or_default());
        // The error is in the table.
        Some(text.split(' ').next().unwrap_or_default().to_owned() + "\u{a0}%")
    };
    let mixed = mixed(before.mixing, before.mixing_error)
        .zip(mixed(after.mixing, after.mixing_error))
        .map(|(before, after)| ("mixing", before, after));
    let padding = |figures: &Figures| percent(figures.padding_rate);
    let steps = |figures: &Figures| whole(figures.optimizer_steps);
    let shapes = |figures: &Figures| whole(figures.shapes);
    let mut html =
        "<dl class=\"changes\" aria-label=\"random batches, then what is recommended\">\n"
            .to_owned();
    let all = [
        Some(("padding", padding(before), padding(after))),
        time,
        Some(("shapes per epoch", shapes(before), shapes(after))),
        mixed,
        Some(("optimizer steps", steps(before), steps(after))),
    ];
    for (name, before, after) in all.into_iter().flatten() {
        _ = writeln!(
            html,
            "<div><dt>{name}</dt><dd><span>{before}</span> → <b>{after}</b></dd></div>"
        );
    }
    html + "</dl>\n<p class=\"note\">random batches → recommended; the table has the others.</p>\n"
}

fn random(comparison: &Comparison) -> Option<&Row> {
    // On a ladder, random order makes batches of one length each, which shuffled batches are not.
    let random = |row: &&Row| row.strategy == "shuffled" && !row.recommended;
    comparison
        .rows
        .iter()
        .find(random)
        .filter(|_| !comparison.settings.shapes.starts_with("ladder"))
}

/// The least padding of all rows.
fn best(comparison: &Comparison) -> Option<&Row> {
    let least = |a: &&Row, b: &&Row| a.mean.padding_rate.total_cmp(&b.mean.padding_rate);
    comparison.rows.iter().min_by(least)
}
