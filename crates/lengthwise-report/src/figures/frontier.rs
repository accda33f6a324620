//! Padding against company: every family a curve, every row a dot.

use crate::compare::Row;
use crate::figures::shared::{Styles, WIDE};
use crate::study::{CurvePoint, Study};
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::{effective_mates, escaped, percent};

/// Whether a point has a place: somebody has mates, and somebody met again.
fn shown(mates: f64) -> bool {
    mates.is_finite() && mates > 0.0
}

/// The effective mates of a row, if it has a dot.
pub(crate) fn dot_of(row: &Row) -> Option<f64> {
    row.mean.effective_mates.filter(|mates| shown(*mates))
}

/// `None` if there is no padding, or nobody has mates.
pub(crate) fn frontier(study: &Study, styles: &Styles) -> Option<String> {
    let sequences = study.frontier.sequences as f64;
    let all = study.comparison.input.sequences as f64;
    // Of the sequences that a curve was measured on, and of all: the share is comparable.
    let curves = study.frontier.curves.iter().flat_map(|curve| &curve.points);
    let curves = curves.map(|point| (point.effective_mates / sequences, point.padding_rate));
    let of_row = |row: &Row| Some((row.mean.effective_mates? / all, row.mean.padding_rate));
    let rows = study.comparison.rows.iter().filter_map(of_row);
    let (mut least, mut most) = (1.0_f64, 0.0_f64);
    let (mut padded, mut padded_least) = (0.0_f64, 1.0_f64);
    for (mates, padding) in curves.chain(rows).filter(|(mates, _)| shown(*mates)) {
        (least, most) = (least.min(mates), most.max(mates));
        padded = padded.max(padding);
        if padding > 0.0 {
            padded_least = padded_least.min(padding);
        }
    }
    if padded <= 0.0 {
        return None;
    }
    let mut chart = Chart::new(
        "Padding against company",
        (WIDE.0, 440.0),
        (
            Scale::logarithmic(100.0 * least * 0.9, 100.0 * most.max(least) * 1.1),
            "effective mates, in % of all sequences",
        ),
        (
            Scale::logarithmic(100.0 * padded_least.max(1e-5) * 0.8, 100.0 * padded * 1.2),
            "padding, in % of all cells",
        ),
    );
    for curve in &study.frontier.curves {
        let points = curve.points.iter().filter(|point| shown(point.effective_mates));
        let points: Vec<_> = points.map(|point| placed(point, sequences)).collect();
        chart.line(styles.family(&curve.family), &curve.family, &points);
    }
    for (number, row) in study.comparison.rows.iter().enumerate() {
        let Some(mates) = dot_of(row) else { continue };
        let (padding, style) = (row.mean.padding_rate, styles.row(number));
        let text = said(&row.strategy, padding, mates);
        let (x, y) = (chart.x.place(100.0 * mates / all), chart.y.place(100.0 * padding));
        chart.add(format_args!(
            r#"<g class="series own {}" data-series="{}">{}</g>"#,
            style.classes(),
            escaped(&row.strategy),
            style.large_dot(x, y, &text)
        ));
    }
    Some(chart.finish())
}

/// A point of a curve: mates and padding in percent, and what is said of it.
fn placed(point: &CurvePoint, sequences: f64) -> (f64, f64, String) {
    let CurvePoint { strategy, padding_rate, effective_mates, .. } = point;
    let share = effective_mates / sequences;
    let text = said(strategy, *padding_rate, *effective_mates);
    (100.0 * share, 100.0 * padding_rate, format!("{text} ({})", percent(share)))
}

fn said(strategy: &str, padding: f64, mates: f64) -> String {
    format!("{strategy}: {} padding, {}", percent(padding), effective_mates(mates))
}
