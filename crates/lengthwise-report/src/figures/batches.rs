//! Consecutive batches of a plan, and the order of an epoch.

use std::fmt::Write as _;

use crate::figures::shared::length_label;
use crate::study::{Order, Picture, SampleBatch, Study};
use crate::svg::chart;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::svg::style::SeriesStyle;
use crate::text::{compact, counted, escaped, grouped, percent};

/// A panel: what batches are drawn on, and the lines above and below them.
const PANEL: (f64, f64) = (240.0, 92.0);
const TITLE: f64 = 36.0;
const BASE: f64 = TITLE + PANEL.1;
/// Between batches.
const GAP: f64 = 2.0;

/// The length at each place of the epoch (Doetsch et al. 2017, Fig. 1).
pub(crate) fn order(study: &Study, order: &Order, style: SeriesStyle) -> String {
    let sequences = study.comparison.input.sequences as f64;
    let longest = f64::from(study.comparison.input.max);
    let mut chart = Chart::new(
        &format!("The length at each place of the epoch under {}", order.strategy),
        (430.0, 240.0),
        (Scale::linear(0.0, sequences).whole(), "place in the epoch, as built"),
        (
            Scale::linear(0.0, longest * 1.03).whole(),
            &length_label("length", &study.comparison.input),
        ),
    );
    // Few places have dots that can be seen.
    let side = (200.0 / order.order.len().max(1) as f64).clamp(1.8, 6.0);
    let mut points = String::new();
    for (place, &length) in order.order.iter().enumerate() {
        let x = chart.x.place(place as f64 * sequences / order.order.len() as f64);
        let y = chart.y.place(f64::from(length));
        _ = write!(
            points,
            "M{:.1} {:.1}h{side:.1}v{side:.1}h-{side:.1}z",
            x - side / 2.0,
            y - side / 2.0
        );
    }
    chart.add(format_args!(r#"<path class="points {}" d="{points}"/>"#, style.classes()));
    chart.finish()
}

/// Batches side by side. A batch is as wide as it has sequences and as high as it is padded; what is filled
/// is data. Packed rows are as wide as each other, and their sequences stand on each other.
pub(crate) fn batches(picture: &Picture, style: SeriesStyle) -> String {
    let longest = picture.batches.iter().map(|batch| batch.batch_length).max().unwrap_or(1);
    let scale = PANEL.1 / f64::from(longest.max(1));
    let wide = |batch: &SampleBatch| if batch.packed { 1.0 } else { batch.sequences as f64 };
    let all: f64 = picture.batches.iter().map(wide).sum();
    let gaps = GAP * picture.batches.len().saturating_sub(1) as f64;
    let step = (PANEL.0 - gaps) / all.max(1.0);
    let (classes, name) = (style.classes(), escaped(&picture.strategy));
    let shown = percent(picture.shown_padding());
    let mut body = format!(
        r#"<g class="series {classes}" data-series="{name}">{}/><text class="label" x="18" y="12">{name}</text><text class="tick" x="0" y="29">{} padding, here {shown}</text>"#,
        style.mark(7.0, 8.0),
        percent(picture.padding_rate),
    );
    let mut x = 0.0;
    for (at, batch) in picture.batches.iter().enumerate() {
        let (width, height) = (wide(batch) * step, f64::from(batch.batch_length) * scale);
        let tip = tip(picture.first + at, batch);
        let data = if batch.packed {
            stacked(batch, x, width, scale)
        } else {
            side_by_side(batch, x, width, scale)
        };
        _ = write!(
            body,
            r#"<rect class="pad" x="{x:.1}" y="{:.1}" width="{width:.1}" height="{height:.1}" data-tip="{tip}"/><path class="points" d="{data}" data-tip="{tip}"/>"#,
            BASE - height,
        );
        x += width + GAP;
    }
    let longest = compact(longest.into());
    _ = write!(
        body,
        r#"<path class="axis" d="M0 {BASE}H{}"/></g><text class="tick" x="{}" y="{}" text-anchor="end">batch length up to {longest}</text>"#,
        PANEL.0,
        PANEL.0,
        BASE + 14.0,
    );
    let title = format!("Batches of {}", picture.strategy);
    chart::picture(&title, (PANEL.0, BASE + 18.0), &body)
}

fn tip(place: usize, batch: &SampleBatch) -> String {
    format!(
        "batch {}: {}{} padded to {}, {} padding",
        grouped(place as u64 + 1),
        counted(batch.sequences as u64, "sequence"),
        if batch.packed { " in one row" } else { "" },
        batch.batch_length,
        percent(1.0 - batch.data as f64 / batch.cells.max(1) as f64)
    )
}

/// The sequences of one row, one on another.
fn stacked(batch: &SampleBatch, x: f64, width: f64, scale: f64) -> String {
    let (mut bars, mut foot) = (String::new(), BASE);
    // Of very many, those that are drawn stand for all.
    let drawn: u64 = batch.lengths.iter().map(|&length| u64::from(length)).sum();
    let scale = scale * batch.data as f64 / drawn.max(1) as f64;
    for &length in &batch.lengths {
        let height = f64::from(length) * scale;
        let drawn = (height - 0.7).max(0.3 * height);
        _ = write!(bars, "M{x:.1} {foot:.1}h{width:.1}v-{drawn:.1}h-{width:.1}z");
        foot -= height;
    }
    bars
}

/// Stairs, a step for each sequence.
fn side_by_side(batch: &SampleBatch, x: f64, width: f64, scale: f64) -> String {
    let step = width / batch.lengths.len().max(1) as f64;
    let mut path = format!("M{x:.1} {BASE}");
    for (at, &length) in batch.lengths.iter().enumerate() {
        let y = BASE - f64::from(length) * scale;
        _ = write!(path, "V{y:.1}H{:.1}", x + (at + 1) as f64 * step);
    }
    _ = write!(path, "V{BASE}z");
    path
}
