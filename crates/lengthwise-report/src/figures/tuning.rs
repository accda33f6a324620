//! What the parameter of each family does to padding and batch length (paper 2, Fig. 2).

use crate::figures::shared::{Styles, length_label};
use crate::study::{CurvePoint, FamilyCurve, Study};
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::percent;

/// A chart of padding and one of batch length for every family.
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
