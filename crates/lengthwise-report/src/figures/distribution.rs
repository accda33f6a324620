//! How many sequences have which length, with the batch lengths that suit them (after Khomenko et al. 2016,
//! Fig. 2).

use crate::figures::shared::{HALF, length_label};
use crate::study::Study;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::counted;

pub(crate) fn distribution(study: &Study) -> String {
    let lengths = &study.lengths;
    let most = lengths.bins.iter().map(|bin| bin.count).max().unwrap_or(1);
    // A length has its number in the middle of its place.
    let (begin, end) = (|from: u32| f64::from(from) - 0.5, |to: u32| f64::from(to) + 0.5);
    let shortest = lengths.bins.first().map_or(0.0, |bin| begin(bin.from));
    let high = lengths.bins.last().map_or(1.0, |bin| end(bin.to));
    let mut label = length_label("length", &study.comparison.input);
    let scale = if lengths.logarithmic {
        label += ", logarithmic";
        Scale::logarithmic(shortest, high)
    } else {
        // From zero, unless that would leave most of the page empty.
        Scale::linear(if shortest < 0.5 * high { 0.0 } else { shortest }, high)
    };
    let mut chart = Chart::new(
        "How many sequences have which length",
        HALF,
        (scale.whole(), &label),
        (Scale::linear(0.0, most as f64 * 1.08).whole(), "sequences"),
    );
    let base = chart.y.place(0.0);
    for bin in &lengths.bins {
        let (left, right) = (chart.x.place(begin(bin.from)), chart.x.place(end(bin.to)));
        let top = chart.y.place(bin.count as f64);
        chart.add(format_args!(
            r#"<rect class="bar" x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" data-tip="length {}: {}"/>"#,
            (right - left - 0.6).max(0.5),
            (base - top).max(0.0),
            bin.range(),
            counted(bin.count, "sequence")
        ));
    }
    let top = chart.y.place(f64::INFINITY);
    let longest = study.comparison.input.max;
    for &rung in lengths.ladder.iter().filter(|&&rung| rung <= longest) {
        let x = chart.x.place(f64::from(rung));
        chart.add(format_args!(
            r#"<path class="rung" d="M{x:.1} {top:.1}V{base:.1}"/><circle class="rung dot" cx="{x:.1}" cy="{top:.1}" r="3.2" data-tip="batch length {rung}"/>"#
        ));
    }
    chart.finish()
}
