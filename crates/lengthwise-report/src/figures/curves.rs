//! Curves: of families of strategies, and of waiting against the number of ranks.

use crate::compare::Row;
use crate::figures::shared::{Styles, WIDE, length_label};
use crate::study::{CurvePoint, FamilyCurve, Study};
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::{counted, effective_mates, escaped, percent};

/// Whether a point has a place: somebody has mates, and somebody met again.
fn shown(mates: f64) -> bool {
    mates.is_finite() && mates > 0.0
}

/// The effective mates of a row, if it has a dot.
pub(crate) fn dot_of(row: &Row) -> Option<f64> {
    row.mean.effective_mates.filter(|mates| shown(*mates))
}

/// Padding against company: every family a curve, every row a dot. `None` if there is no padding, or
/// nobody has mates.
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
        let text = said(row.label(), padding, mates);
        let (x, y) = (chart.x.place(100.0 * mates / all), chart.y.place(100.0 * padding));
        chart.add(format_args!(
            r#"<g class="series own {}" data-series="{}">{}</g>"#,
            style.classes(),
            escaped(row.label()),
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

/// What the parameter of each family does (paper 2, Fig. 2): a chart of padding and one of batch length.
pub(crate) fn tuning(study: &Study, styles: &Styles) -> Vec<(String, [String; 2])> {
    let length = length_label("mean batch length (ABL)", &study.comparison.input);
    let measures: [(&str, Measure); 2] = [
        ("mean padding of a batch (ZPR), %", |point| {
            (100.0 * point.mean_batch_padding_rate, percent(point.mean_batch_padding_rate))
        }),
        (&length, |point| (point.mean_batch_length, format!("{:.1}", point.mean_batch_length))),
    ];
    let charts = |curve: &FamilyCurve| measures.map(|(label, of)| one(curve, styles, label, of));
    let curves = study.frontier.curves.iter().filter(|curve| curve.points.len() > 1);
    curves.map(|curve| (curve.family.clone(), charts(curve))).collect()
}

/// A value, and how it is said.
type Measure = fn(&CurvePoint) -> (f64, String);

fn one(curve: &FamilyCurve, styles: &Styles, label: &str, measure: Measure) -> String {
    // A parameter of zero has no logarithm: it is left out, and the next one is near it.
    let points = curve.points.iter().filter(|point| point.value > 0.0).map(|point| {
        let (value, text) = measure(point);
        (point.value, value, format!("{}: {text}", point.strategy))
    });
    let points: Vec<(f64, f64, String)> = points.collect();
    let ends = |of: fn(&(f64, f64, String)) -> f64| {
        let values = points.iter().map(of);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
    };
    let ((least, most), (lowest, highest)) = (ends(|point| point.0), ends(|point| point.1));
    let low = if lowest > 0.5 * highest { lowest * 0.98 } else { 0.0 };
    let mut chart = Chart::new(
        &format!("{}: {label}, by {}", curve.family, curve.parameter),
        (430.0, 290.0),
        (Scale::logarithmic(least, most), &curve.parameter),
        (Scale::linear(low, highest * 1.03), label),
    );
    chart.line(styles.family(&curve.family), &curve.family, &points);
    chart.finish()
}

/// Waiting against the number of ranks. `None` if there are not batches enough for two ranks.
pub(crate) fn idle(study: &Study, styles: &Styles) -> Option<String> {
    let points = study.idle.iter().flat_map(|idle| &idle.points);
    let ranks = points.clone().map(|point| point.world_size).max().unwrap_or(1);
    let most = points.map(|point| point.idle_share).fold(0.01, f64::max);
    if ranks < 2 {
        return None;
    }
    let mut chart = Chart::new(
        "Waiting against the number of ranks",
        WIDE,
        (Scale::doublings(1.0, f64::from(ranks)), "ranks"),
        (Scale::linear(0.0, 100.0 * most * 1.05), "idle, in % of the ranks’ time"),
    );
    for (number, idle) in study.idle.iter().enumerate() {
        let points = idle.points.iter().map(|point| {
            let text = format!(
                "{} on {}: {} idle, at least {}",
                idle.strategy,
                counted(point.world_size.into(), "rank"),
                percent(point.idle_share),
                percent(point.idle_bound)
            );
            (f64::from(point.world_size), 100.0 * point.idle_share, text)
        });
        chart.line(styles.row(number), &idle.strategy, &points.collect::<Vec<_>>());
    }
    Some(chart.finish())
}
