//! What one strategy does: the order of an epoch, and a few sequences in batches.

use std::fmt::Write as _;

use crate::figures::shared::length_label;
use crate::study::{Picture, SampleBatch, Study};
use crate::svg::chart;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::svg::style::SeriesStyle;
use crate::text::{compact, counted, percent};

const PANEL: (f64, f64) = (270.0, 130.0);
const GAP: f64 = 16.0;
const TITLE: f64 = 22.0;
/// Room for the axes.
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 20.0;
/// Where the bars stand.
const BASE: f64 = TITLE + PANEL.1;

/// The length at each place of the epoch (paper 1, Fig. 1).
pub(crate) fn order(study: &Study, picture: &Picture, style: SeriesStyle) -> String {
    let sequences = study.comparison.input.sequences as f64;
    let longest = f64::from(study.comparison.input.max);
    let mut chart = Chart::new(
        &format!("The length at each place of the epoch under {}", picture.strategy),
        (430.0, 240.0),
        (Scale::linear(0.0, sequences).whole(), "place in the epoch, as built"),
        (
            Scale::linear(0.0, longest * 1.03).whole(),
            &length_label("length", &study.comparison.input),
        ),
    );
    // Few places have dots that can be seen.
    let side = (200.0 / picture.order.len().max(1) as f64).clamp(1.8, 6.0);
    let mut points = String::new();
    for (place, &length) in picture.order.iter().enumerate() {
        let x = chart.x.place(place as f64 * sequences / picture.order.len() as f64);
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

/// Several epochs side by side: bars of lengths in the colour of their batch, on what they are padded to
/// (note 4's figure; paper 2, Figs. 1 and 3).
pub(crate) fn batches(picture: &Picture) -> String {
    let longest = picture.epochs.iter().flatten().map(|batch| batch.batch_length).max();
    let longest = longest.unwrap_or(1);
    let scale = PANEL.1 / f64::from(longest);
    let epochs = picture.epochs.len() as f64;
    let size = (LEFT + epochs * (PANEL.0 + GAP) - GAP, BASE + BOTTOM);
    let mut body = format!(
        r#"<path class="axis" d="M{LEFT} {TITLE}V{0}"/><text class="tick" x="{1}" y="{2}" text-anchor="end">{6}</text><text class="tick" x="{1}" y="{0}" text-anchor="end">0</text><text class="label" transform="translate(12 {3}) rotate(-90)" text-anchor="middle">length</text><text class="label" x="{4:.0}" y="{5}" text-anchor="middle">sequences, batch by batch</text>"#,
        BASE,
        LEFT - 6.0,
        TITLE + 10.0,
        TITLE + PANEL.1 / 2.0,
        f64::midpoint(LEFT, size.0),
        size.1 - 4.0,
        compact(longest.into())
    );
    for (epoch, batches) in picture.epochs.iter().enumerate() {
        let left = LEFT + 1.0 + epoch as f64 * (PANEL.0 + GAP);
        let sequences: usize = batches.iter().map(|batch| batch.sequences.len()).sum();
        let step = PANEL.0 / sequences.max(1) as f64;
        let mut marks = String::new();
        let mut place = 0.0;
        for (number, batch) in batches.iter().enumerate() {
            let x = left + place * step;
            let tip = tip(number, batch);
            _ = write!(
                marks,
                r#"<rect class="pad" x="{x:.1}" y="{:.1}" width="{:.1}" height="{:.1}" data-tip="{tip}"/>"#,
                BASE - f64::from(batch.batch_length) * scale,
                batch.sequences.len() as f64 * step - 0.8,
                f64::from(batch.batch_length) * scale
            );
            let bars = if batch.packed {
                stacked(batch, x, step, scale)
            } else {
                side_by_side(batch, (left, place), step, scale)
            };
            _ = write!(marks, r#"<path class="c{}" d="{bars}" data-tip="{tip}"/>"#, number % 8);
            place += batch.sequences.len() as f64;
        }
        let cells = batches.iter().map(cells).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        _ = write!(
            body,
            r#"<text class="label" x="{left}" y="14">epoch {epoch}</text><text class="tick" x="{:.1}" y="14" text-anchor="end">{} padding</text>{marks}"#,
            left + PANEL.0,
            padding(cells)
        );
    }
    chart::picture(&format!("Sequences in batches under {}", picture.strategy), size, &body)
}

/// How many cells a batch has, and how many of them hold data.
fn cells(batch: &SampleBatch) -> (u64, u64) {
    let rows = if batch.packed { 1 } else { batch.sequences.len() as u64 };
    let data = batch.sequences.iter().map(|&(_, length)| u64::from(length)).sum();
    (u64::from(batch.batch_length) * rows, data)
}

fn padding((cells, data): (u64, u64)) -> String {
    percent(1.0 - data as f64 / cells.max(1) as f64)
}

fn tip(number: usize, batch: &SampleBatch) -> String {
    format!(
        "batch {}: {}{} padded to {}, {} padding",
        number + 1,
        counted(batch.sequences.len() as u64, "sequence"),
        if batch.packed { " in one row" } else { "" },
        batch.batch_length,
        padding(cells(batch))
    )
}

/// The sequences of one row, one on another.
fn stacked(batch: &SampleBatch, x: f64, step: f64, scale: f64) -> String {
    let (mut bars, mut foot) = (String::new(), BASE);
    let width = batch.sequences.len() as f64 * step - 0.8;
    for &(_, length) in &batch.sequences {
        let height = f64::from(length) * scale;
        let drawn = (height - 0.5).max(0.3);
        _ = write!(bars, "M{x:.1} {foot:.1}h{width:.1}v-{drawn:.1}h-{width:.1}z");
        foot -= height;
    }
    bars
}

/// A bar for each sequence.
fn side_by_side(batch: &SampleBatch, (left, place): (f64, f64), step: f64, scale: f64) -> String {
    // Narrow: what is wide between bars looks like padding.
    let gap = (0.2 * step).min(1.2);
    let mut bars = String::new();
    for (at, &(_, length)) in batch.sequences.iter().enumerate() {
        let (x, height) = (left + (place + at as f64) * step, f64::from(length) * scale);
        _ = write!(bars, "M{x:.1} {BASE}h{:.1}v-{height:.1}h-{0:.1}z", step - gap);
    }
    bars
}
