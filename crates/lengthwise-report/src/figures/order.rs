//! The length at each place of the epoch (paper 1, Fig. 1).

use std::fmt::Write as _;

use crate::{
    figures::shared::length_label,
    study::{Picture, Study},
    svg::{chart::Chart, scale::Scale, style::SeriesStyle},
};

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
