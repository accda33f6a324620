//! What the number of rungs buys.

use crate::figures::shared::HALF;
use crate::study::Study;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::svg::style::SeriesStyle;
use crate::text::{counted, percent};

/// What a label takes.
const LABEL: f64 = 50.0;

/// Padding against the number of rungs. `None` if there are not two ladders to compare.
pub(crate) fn rungs(study: &Study) -> Option<String> {
    let points = &study.rungs.points;
    let (first, last) = (points.first()?, points.last()?);
    let most = points.iter().map(|point| point.padding_rate).fold(0.0, f64::max);
    if points.len() < 2 || most <= 0.0 {
        return None;
    }
    let mut chart = Chart::new(
        "Padding against the number of rungs",
        HALF,
        (
            Scale::doublings(f64::from(first.rungs) * 0.9, f64::from(last.rungs) * 1.8),
            "rungs of the ladder",
        ),
        (Scale::linear(0.0, 100.0 * most * 1.12), "padding, in % of all cells"),
    );
    let drawn = points.iter().map(|point| {
        let (rungs, shapes) = (counted(point.rungs.into(), "rung"), point.shapes);
        let padding = percent(point.padding_rate);
        let text = format!("{rungs}: {padding} padding, {}", counted(shapes, "shape"));
        (f64::from(point.rungs), 100.0 * point.padding_rate, text)
    });
    let drawn: Vec<(f64, f64, String)> = drawn.collect();
    // Every ladder is a plan of one strategy, in the colour of what is recommended.
    let style = SeriesStyle(0);
    chart.line(style, "recommended", &drawn);
    let own = study.rungs.recommended;
    let own_x = own.map(|rungs| chart.x.place(f64::from(rungs)));
    let mut before = f64::NEG_INFINITY;
    for (point, (x, y, text)) in points.iter().zip(&drawn) {
        let (x, y) = (chart.x.place(*x), chart.y.place(*y));
        let is_own = own == Some(point.rungs);
        // A label takes some width to the right of its point; that of what is recommended comes first.
        let clashes = |other: f64| (x - other).abs() < LABEL;
        if !is_own && (clashes(before) || own_x.is_some_and(clashes)) {
            continue;
        }
        before = x;
        let class = if is_own { "label" } else { "tick" };
        if is_own {
            chart.add(format_args!(
                r#"<g class="series own {}" data-series="recommended">{}</g>"#,
                style.classes(),
                style.large_dot(x, y, text)
            ));
        }
        chart.add(format_args!(
            r#"<text class="{class}" x="{:.1}" y="{:.1}">{}</text>"#,
            x + 4.0,
            y - 9.0,
            percent(point.padding_rate)
        ));
    }
    Some(chart.finish())
}
