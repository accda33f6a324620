//! How long an epoch took (paper 3, Fig. 4): a bar for each row.

use crate::report::row::Row;
use lengthwise_report::parts::{
    svg::{Bar, SeriesStyle, bars},
    text::{counted, time},
};

/// `None` if no epoch took any time.
pub(in crate::report) fn seconds(rows: &[Row<'_>]) -> Option<String> {
    let bar = |(number, row): (usize, &Row<'_>)| {
        let seconds = row.seconds()?;
        let all: Vec<f64> =
            row.runs.iter().flat_map(|run| &run.epochs).map(|e| e.seconds).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        Some(Bar {
            name: row.name.to_owned(),
            style: SeriesStyle(number),
            value: seconds,
            text: format!("{} s", time(seconds)),
            tip: format!(
                "{}: {}\u{a0}s, the median of {}; {} to {}\u{a0}s",
                row.name,
                time(seconds),
                counted(all.len() as u64, "epoch"),
                time(least),
                time(most)
            ),
        })
    };
    bars(
        "Time of training in an epoch",
        &rows.iter().enumerate().filter_map(bar).collect::<Vec<_>>(),
    )
}
