//! Curves: of families of strategies, and of idle time against the number of ranks.

use crate::compare::Row;
use crate::figures::shared::{HALF, Styles, WIDE, length_label};
use crate::study::{CurvePoint, FamilyCurve, Study};
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::{counted, escaped, mixing, percent};

/// The mixing of a row and its error, if it has a dot.
pub(crate) fn dot_of(row: &Row) -> Option<(f64, f64)> {
    row.mean.mixing.zip(row.mean.mixing_error).filter(|(mixing, _)| *mixing > 0.0)
}

/// Padding against mixing: every family a curve, every row a dot. `None` if there is no padding, or
/// no sequence has batch-mates.
pub(crate) fn frontier(study: &Study, styles: &Styles) -> Option<String> {
    let curves = study.frontier.curves.iter().flat_map(|curve| &curve.points);
    let curves = curves.map(|point| (point.mixing, point.padding_rate));
    let rows = study.comparison.rows.iter();
    let rows = rows.filter_map(|row| Some((dot_of(row)?.0, row.mean.padding_rate)));
    let (mut least, mut most) = (1.0_f64, 0.0_f64);
    let (mut padded, mut padded_least) = (0.0_f64, 1.0_f64);
    for (mixing, padding) in curves.chain(rows).filter(|(mixing, _)| *mixing > 0.0) {
        (least, most) = (least.min(mixing), most.max(mixing));
        padded = padded.max(padding);
        if padding > 0.0 {
            padded_least = padded_least.min(padding);
        }
    }
    if padded <= 0.0 {
        return None;
    }
    let mut chart = Chart::new(
        "Padding against mixing",
        (WIDE.0, 440.0),
        (
            Scale::logarithmic(100.0 * least * 0.9, 100.0 * most.max(least) * 1.1),
            "mixing, in % of random shuffling",
        ),
        (
            Scale::logarithmic(100.0 * padded_least.max(1e-5) * 0.8, 100.0 * padded * 1.2),
            "padding, in % of all cells",
        ),
    );
    for curve in &study.frontier.curves {
        let points = curve.points.iter().filter(|point| point.mixing > 0.0);
        let points: Vec<_> = points.map(placed).collect();
        chart.line(styles.family(&curve.family), &curve.family, &points);
    }
    for (number, row) in study.comparison.rows.iter().enumerate() {
        let Some((mixing, error)) = dot_of(row) else { continue };
        let (padding, style) = (row.mean.padding_rate, styles.row(number));
        let text = said(row.label(), padding, (mixing, error));
        let (x, y) = (chart.x.place(100.0 * mixing), chart.y.place(100.0 * padding));
        chart.add(format_args!(
            r#"<g class="series own {}" data-series="{}">{}</g>"#,
            style.classes(),
            escaped(row.label()),
            style.large_dot(x, y, &text)
        ));
    }
    Some(chart.finish())
}

/// A point of a curve: mixing and padding in percent, and what is said of it.
fn placed(point: &CurvePoint) -> (f64, f64, String) {
    let &CurvePoint { ref strategy, padding_rate, mixing, mixing_error, .. } = point;
    let text = said(strategy, padding_rate, (mixing, mixing_error));
    (100.0 * mixing, 100.0 * padding_rate, text)
}

fn said(strategy: &str, padding: f64, (share, error): (f64, f64)) -> String {
    format!("{strategy}: {} padding, {} mixing", percent(padding), mixing(share, error))
}

/// What the parameter of each family does (Ge et al. 2021, Fig. 2): a chart of padding and one of batch length.
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

/// Idle time against the number of ranks. `None` if there are not batches enough for two ranks.
pub(crate) fn idle(study: &Study, styles: &Styles) -> Option<String> {
    let points = study.idle.iter().flat_map(|idle| &idle.points);
    let ranks = points.clone().map(|point| point.world_size).max().unwrap_or(1);
    let most = points.map(|point| point.idle_share).fold(0.01, f64::max);
    if ranks < 2 {
        return None;
    }
    let mut chart = Chart::new(
        "Idle time against the number of ranks",
        HALF,
        (Scale::doublings(1.0, f64::from(ranks)), "ranks"),
        (Scale::linear(0.0, 100.0 * most * 1.05), "idle, in % of the ranks’ time"),
    );
    for idle in &study.idle {
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
        chart.line(
            styles.named(&idle.strategy, study),
            &idle.strategy,
            &points.collect::<Vec<_>>(),
        );
    }
    Some(chart.finish())
}
