//! Optimizer steps: how many there are, and how much they differ in length.

use std::fmt::Write as _;

use crate::figures::bars::rows;
use crate::figures::shared::{HALF, Styles};
use crate::study::Study;
use crate::svg::chart::picture;
use crate::svg::scale::Scale;
use crate::text::{escaped, fixed, grouped};

const ROW: f64 = 20.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 42.0;
/// What names and counts take of the width.
const NAMES: f64 = 172.0;
const COUNTS: f64 = 62.0;
const LEAST: f64 = 0.01;

/// The step mix of every row as a dot, and how many optimizer steps an epoch has.
pub(crate) fn steps(study: &Study, styles: &Styles) -> String {
    let mixes = study.comparison.rows.iter().map(|row| row.mean.step_mix.max(LEAST));
    let (least, most) = mixes.fold((0.5, 2.0), |(a, b): (f64, f64), mix| (a.min(mix), b.max(mix)));
    let x = Scale::logarithmic(least * 0.8, most * 1.25).onto(NAMES, HALF.0 - COUNTS);
    let (left, right) = (NAMES, HALF.0 - COUNTS);
    let bottom = TOP + ROW * study.comparison.rows.len() as f64;
    let mut body = String::new();
    for (value, label) in x.ticks((right - left) / 60.0) {
        let at = x.place(value);
        _ = write!(
            body,
            r#"<path class="grid" d="M{at:.1} {TOP}V{bottom}"/><text class="tick" x="{at:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            bottom + 15.0
        );
    }
    let random = x.place(1.0);
    _ = write!(
        body,
        r#"<path class="ideal" d="M{random:.1} {TOP}V{bottom}"/><text class="tick" x="{random:.1}" y="14" text-anchor="middle">as random</text><text class="tick" x="{}" y="14" text-anchor="end">steps</text><text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">step mix, logarithmic</text>"#,
        HALF.0,
        f64::midpoint(left, right),
        bottom + 34.0
    );
    for (place, (number, row)) in rows(study).enumerate() {
        let (y, style) = (TOP + ROW * (place as f64 + 0.5), styles.row(number));
        let (mix, steps) = (row.mean.step_mix, row.mean.optimizer_steps.round() as u64);
        let (steps, name) = (grouped(steps), escaped(row.label()));
        let short: String = row.label().chars().take(25).collect();
        let mix_text = fixed(mix, 2);
        let tip = format!("{}: step mix {mix_text}, {steps} optimizer steps", row.label());
        _ = write!(
            body,
            r#"<g class="series {}" data-series="{name}"><path class="grid" d="M{left} {y:.1}H{right}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{}</text>{}<text class="tick" x="{}" y="{:.1}" text-anchor="end">{steps}</text></g>"#,
            style.classes(),
            left - 8.0,
            y + 4.0,
            escaped(&short),
            style.large_dot(x.place(mix.max(LEAST)), y, &tip),
            HALF.0,
            y + 4.0,
        );
    }
    picture("Step mix and number of optimizer steps", (HALF.0, bottom + BOTTOM), &body)
}
