//! What the number of rungs buys.

use crate::figures::shared::HALF;
use crate::study::Study;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::svg::style::SeriesStyle;
use crate::text::{counted, percent};

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
            Scale::doublings(f64::from(first.rungs) * 0.9, f64::from(last.rungs) * 1.15),
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
    for (point, (x, y, text)) in points.iter().zip(&drawn) {
        let (x, y) = (chart.x.place(*x), chart.y.place(*y));
        // The curve falls: to the right above a point there is room, but not at the end of the axis.
        let (aside, anchor) = if point.rungs == last.rungs { (8.0, "end") } else { (4.0, "start") };
        let (mut class, mut dot) = ("tick", String::new());
        if study.rungs.recommended == Some(point.rungs) {
            (class, dot) = ("label", style.large_dot(x, y, text));
            dot = format!(
                r#"<g class="series own {}" data-series="recommended">{dot}</g>"#,
                style.classes()
            );
        }
        chart.add(format_args!(
            r#"{dot}<text class="{class}" x="{:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
            x + aside,
            y - 9.0,
            percent(point.padding_rate)
        ));
    }
    Some(chart.finish())
}
