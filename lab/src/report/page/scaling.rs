//! What more workers would take.

use std::fmt::Write as _;

use super::cell::cell;
use crate::report::{
    figures::{Curve, scaling_idle, scaling_seconds},
    records::Training,
    row::Row,
    table::Cell,
    workers::{is_share, is_time},
};
use lengthwise_report::parts::{
    html::{Width, button, figure, lines_legend, lines_legend_and, nothing, section},
    svg::{SeriesStyle, escaped, line_key},
    text::{compact, time},
};

const HEADINGS: [(&str, &str); 4] = [
    ("workers", "how many there are"),
    ("steps", "steps that each worker takes in an epoch"),
    ("seconds per epoch", "time of an epoch, without the exchange"),
    ("waiting, %", "time that workers wait for slower ones, of all their time"),
];

/// Nothing where nothing was computed.
pub(super) fn scaling_section(page: &mut String, training: &Training, rows: &[Row<'_>]) {
    let curves = curves(training, rows);
    if curves.is_empty() {
        return;
    }
    let series = || curves.iter().map(|curve| (curve.style, curve.name));
    let idle = scaling_idle(&curves).map_or_else(
        || nothing("no share of waiting is a number"),
        |svg| figure("scaling-waiting", Width::Wide, &svg, &lines_legend(series())),
    );
    let seconds = scaling_seconds(&curves).map_or_else(
        || nothing("no epoch takes any time"),
        |svg| {
            let legend = lines_legend_and(
                series(),
                &line_key("ideal"),
                "ideal: twice as fast with twice as many",
            );
            figure("scaling-seconds", Width::Wide, &svg, &legend)
        },
    );
    section(
        page,
        "scaling",
        "More workers",
        "How long an epoch would take with more workers, and how much of it they would wait. This is \
         computed from the plan and the times of measured steps, and was not trained; the exchange is \
         not counted.<span class=\"act\"> Choose a heading of the table to sort.</span>",
        &format!("{idle}{seconds}{}", table(&curves)),
    );
}

/// A curve for each name, in the order they come. Where a row has the name, they look alike; others come
/// after the rows.
fn curves<'a>(training: &'a Training, rows: &[Row<'_>]) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    let mut next = rows.len();
    // Of no workers there is nothing to say.
    for one in training.scaling.iter().filter(|one| one.workers > 0) {
        if let Some(curve) = curves.iter_mut().find(|curve| curve.name == one.name) {
            curve.points.push(one);
            continue;
        }
        let own = rows.iter().position(|row| row.name == one.name);
        let style = SeriesStyle(own.unwrap_or(next));
        next += usize::from(own.is_none());
        curves.push(Curve { name: &one.name, style, points: vec![one] });
    }
    for curve in &mut curves {
        curve.points.sort_by_key(|one| one.workers);
    }
    curves
}

fn table(curves: &[Curve<'_>]) -> String {
    let mut text =
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table of more \
                    workers\"><table class=\"small long-names\">\n<thead><tr><th scope=\"col\" \
                    data-sort=\"text\">mode</th>"
            .to_owned();
    for (heading, meaning) in HEADINGS {
        _ = write!(
            text,
            "<th scope=\"col\" data-sort=\"number\" title=\"{meaning}\">{heading}</th>"
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for curve in curves {
        let name = escaped(curve.name);
        for one in &curve.points {
            _ = write!(
                text,
                "<tr class=\"series {}\" data-series=\"{name}\"><th scope=\"row\" title=\"{name}\">{}</th>",
                curve.style.classes(),
                button(&curve.style.key(), curve.name)
            );
            let seconds = Some(one.seconds).filter(|seconds| is_time(*seconds));
            let idle = Some(one.idle).filter(|idle| is_share(*idle)).map(|idle| 100.0 * idle);
            for of in [
                Cell::new(one.workers.into(), one.workers.to_string()),
                Cell::new(one.steps as f64, compact(one.steps as f64)),
                seconds.map_or_else(Cell::default, |seconds| Cell::new(seconds, time(seconds))),
                idle.map_or_else(Cell::default, |idle| Cell::new(idle, format!("{idle:.1}"))),
            ] {
                text += &cell(&of);
            }
            text.push_str("</tr>\n");
        }
    }
    text + "</tbody></table></div>\n"
}
