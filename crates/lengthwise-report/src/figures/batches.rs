//! A few sequences in batches, several epochs side by side: bars of their lengths in the colour of
//! their batch, on what they are padded to (note 4's figure; paper 2, Figs. 1 and 3).

use std::fmt::Write as _;

use crate::{
    Picture, svg,
    text::{compact, counted, percent},
};

const PANEL: (f64, f64) = (270.0, 130.0);
const GAP: f64 = 16.0;
const TITLE: f64 = 22.0;
/// Room for the axes.
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 20.0;

pub(crate) fn batches(picture: &Picture) -> String {
    let longest = picture.epochs.iter().flatten().map(|batch| batch.batch_length).max();
    let longest = longest.unwrap_or(1);
    let scale = PANEL.1 / f64::from(longest);
    let epochs = picture.epochs.len() as f64;
    let size = (LEFT + epochs * (PANEL.0 + GAP) - GAP, TITLE + PANEL.1 + BOTTOM);
    let mut body = format!(
        r#"<path class="axis" d="M{LEFT} {TITLE}V{0}"/><text class="tick" x="{1}" y="{2}" text-anchor="end">{6}</text><text class="tick" x="{1}" y="{0}" text-anchor="end">0</text><text class="label" transform="translate(12 {3}) rotate(-90)" text-anchor="middle">length</text><text class="label" x="{4:.0}" y="{5}" text-anchor="middle">sequences, batch by batch</text>"#,
        TITLE + PANEL.1,
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
        // Narrow: what is wide between bars looks like padding.
        let gap = (0.2 * step).min(1.2);
        let (mut cells, mut filled) = (0_u64, 0_u64);
        let mut place = 0.0;
        let base = TITLE + PANEL.1;
        let mut marks = String::new();
        for (number, batch) in batches.iter().enumerate() {
            let size = batch.sequences.len() as f64;
            let height = f64::from(batch.batch_length) * scale;
            let lengths = batch.sequences.iter().map(|&(_, length)| u64::from(length));
            let rows = if batch.packed { 1 } else { batch.sequences.len() as u64 };
            let (own, taken) = (u64::from(batch.batch_length) * rows, lengths.sum::<u64>());
            cells += own;
            filled += taken;
            let tip = format!(
                "batch {}: {}{} padded to {}, {} padding",
                number + 1,
                counted(batch.sequences.len() as u64, "sequence"),
                if batch.packed { " in one row" } else { "" },
                batch.batch_length,
                percent(1.0 - taken as f64 / own as f64)
            );
            _ = write!(
                marks,
                r#"<rect class="pad" x="{:.1}" y="{:.1}" width="{:.1}" height="{height:.1}" data-tip="{tip}"/>"#,
                left + place * step,
                base - height,
                size * step - 0.8
            );
            let mut bars = String::new();
            if batch.packed {
                // One on another.
                let (x, width) = (left + place * step, size * step - 0.8);
                let mut foot = base;
                for &(_, length) in &batch.sequences {
                    let height = f64::from(length) * scale;
                    let drawn = (height - 0.5).max(0.3);
                    _ = write!(bars, "M{x:.1} {foot:.1}h{width:.1}v-{drawn:.1}h-{width:.1}z");
                    foot -= height;
                }
                place += size;
            }
            for &(_, length) in batch.sequences.iter().filter(|_| !batch.packed) {
                let (x, height) = (left + place * step, f64::from(length) * scale);
                _ = write!(bars, "M{x:.1} {base}h{:.1}v-{height:.1}h-{0:.1}z", step - gap);
                place += 1.0;
            }
            _ = write!(marks, r#"<path class="c{}" d="{bars}" data-tip="{tip}"/>"#, number % 8);
        }
        let padding = percent(1.0 - filled as f64 / cells.max(1) as f64);
        _ = write!(
            body,
            r#"<text class="label" x="{left}" y="14">epoch {epoch}</text><text class="tick" x="{:.1}" y="14" text-anchor="end">{padding} padding</text>{marks}"#,
            left + PANEL.0
        );
    }
    svg::picture(&format!("Sequences in batches under {}", picture.strategy), size, &body)
}
