//! The length at each place of the epoch (paper 1, Fig. 1).

use std::fmt::Write as _;

use crate::{
    Picture, Study,
    svg::{Chart, Look, Scale},
};

pub(crate) fn order(study: &Study, picture: &Picture, look: Look) -> String {
    let sequences = study.comparison.input.sequences as f64;
    let longest = f64::from(study.comparison.input.max);
    let mut chart = Chart::new(
        &format!("The length at each place of the epoch under {}", picture.strategy),
        (430.0, 240.0),
        (Scale::linear(0.0, sequences), "place in the epoch, as built"),
        (Scale::linear(0.0, longest * 1.03), "length"),
    );
    let mut points = String::new();
    for (place, &length) in picture.order.iter().enumerate() {
        let x = chart.x.place(place as f64 * sequences / picture.order.len() as f64);
        let y = chart.y.place(f64::from(length));
        _ = write!(points, "M{:.1} {:.1}h1.8v1.8h-1.8z", x - 0.9, y - 0.9);
    }
    chart.add(format_args!(r#"<path class="points {}" d="{points}"/>"#, look.classes()));
    chart.finish()
}
