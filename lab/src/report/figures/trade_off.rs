//! Padding against error: a dot for each row, with the range of its seeds.

use super::curves::shortened;
use crate::report::{records::Training, row::Row, student::mean};
use lengthwise_report::parts::{
    svg::{Chart, Scale, SeriesStyle, WIDE, escaped},
    text::{one_line, percent},
};

/// No share of errors above this is drawn higher.
const HIGHEST: f64 = 1e6;

/// The padding of a row, and the error of each of its seeds, if it has a dot.
pub(in crate::report) fn dot_of(row: &Row<'_>) -> Option<(f64, Vec<f64>)> {
    let errors = row.outcome(|v| Some(v.error)).values().to_vec();
    let known = !errors.is_empty() && errors.iter().all(|error| error.is_finite());
    known.then_some((row.padding()?, errors))
}

/// `None` if there are no two dots to compare.
pub(in crate::report) fn trade_off(training: &Training, rows: &[Row<'_>]) -> Option<String> {
    let dots: Vec<(usize, f64, Vec<f64>)> = rows
        .iter()
        .enumerate()
        .filter_map(|(number, row)| dot_of(row).map(|(padding, errors)| (number, padding, errors)))
        .collect();
    let errors = dots.iter().flat_map(|(_, _, errors)| errors);
    let least = errors.clone().copied().fold(f64::INFINITY, f64::min);
    let most = errors.copied().fold(f64::NEG_INFINITY, f64::max);
    if dots.len() < 2 {
        return None;
    }
    // Errors of any size: an axis goes no farther than this.
    let (least, most) = (least.min(HIGHEST), most.min(HIGHEST));
    let padded = dots.iter().map(|(_, padding, _)| *padding).fold(0.0, f64::max);
    let gap = if most > least { 0.12 * (most - least) } else { 0.1 * most.max(0.01) };
    let what = shortened(&one_line(&training.error));
    let mut chart = Chart::new(
        "Padding against error",
        WIDE,
        (Scale::linear(0.0, 100.0 * padded.max(0.001) * 1.05), "padding, in % of all cells"),
        (
            Scale::linear((100.0 * (least - gap)).max(0.0), 100.0 * (most + gap)),
            &format!("{what} in the end, %"),
        ),
    );
    for (number, padding, errors) in &dots {
        let (style, row) = (SeriesStyle(*number), &rows[*number]);
        let error = mean(errors)?;
        let x = chart.x.place(100.0 * padding);
        let low = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let high = errors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if low < high {
            format!(", {} to {} over the seeds", percent(low), percent(high))
        } else {
            String::new()
        };
        let tip = format!(
            "{}: {} padding, {what} {}{range}",
            row.name,
            percent(*padding),
            percent(error)
        );
        chart.add(format_args!(
            r#"<g class="series own {}" data-series="{}"><path class="whisker" d="M{x:.1} {:.1}V{:.1}"/>{}</g>"#,
            style.classes(),
            escaped(row.name),
            chart.y.place(100.0 * low),
            chart.y.place(100.0 * high),
            style.large_dot(x, chart.y.place(100.0 * error), &tip)
        ));
    }
    Some(chart.finish())
}
