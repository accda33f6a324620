//! What the parameter of each family does to padding and batch length (paper 2, Fig. 2).

use crate::{
    figures::shared::{Styles, length_label},
    study::{CurvePoint, FamilyCurve, Study},
    svg::{chart::Chart, scale::Scale},
    text::percent,
};

/// A chart of padding and one of batch length for every family.
pub(crate) fn tuning(study: &Study, styles: &Styles) -> Vec<(String, [String; 2])> {
    let curves = study.frontier.curves.iter().filter(|curve| curve.points.len() > 1);
    curves
        .map(|curve| {
            let padding = one(
                curve,
                styles,
                "mean padding of a batch (ZPR), %",
                |point| 100.0 * point.mean_batch_padding_rate,
                |point| percent(point.mean_batch_padding_rate),
            );
            let length = one(
                curve,
                styles,
                &length_label("mean batch length (ABL)", &study.comparison.input),
                |point| point.mean_batch_length,
                |point| format!("{:.1}", point.mean_batch_length),
            );
            (curve.family.clone(), [padding, length])
        })
        .collect()
}

fn one(
    curve: &FamilyCurve,
    styles: &Styles,
    label: &str,
    value: impl Fn(&CurvePoint) -> f64,
    text: impl Fn(&CurvePoint) -> String,
) -> String {
    // A parameter of zero has no logarithm: it is left out, and the next one is near it.
    let points: Vec<&CurvePoint> = curve.points.iter().filter(|point| point.value > 0.0).collect();
    let parameters = points.iter().map(|point| point.value);
    let least = parameters.clone().fold(f64::INFINITY, f64::min);
    let most = parameters.fold(0.0, f64::max);
    let highest = points.iter().map(|point| value(point)).fold(0.0, f64::max);
    let lowest = points.iter().map(|point| value(point)).fold(f64::INFINITY, f64::min);
    let low = if lowest > 0.5 * highest { lowest * 0.98 } else { 0.0 };
    let mut chart = Chart::new(
        &format!("{}: {label}, by {}", curve.family, curve.parameter),
        (430.0, 290.0),
        (Scale::logarithmic(least, most), &curve.parameter),
        (Scale::linear(low, highest * 1.03), label),
    );
    let placed: Vec<(f64, f64, String)> = points
        .iter()
        .map(|point| {
            let tip = format!("{}: {}", point.strategy, text(point));
            (point.value, value(point), tip)
        })
        .collect();
    chart.line(styles.family(&curve.family), &curve.family, &placed);
    chart.finish()
}
