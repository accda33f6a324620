//! How long an epoch takes by the cost model: a bar for each strategy.

use std::fmt::Write as _;

use super::Looks;
use crate::{Study, svg};

const WIDTH: f64 = 1000.0;
const NAMES: f64 = 200.0;
const ROW: f64 = 24.0;

/// `None` without a cost model.
pub(crate) fn seconds(study: &Study, looks: &Looks) -> Option<String> {
    let rows = &study.comparison.rows;
    let times: Vec<(usize, f64)> = rows
        .iter()
        .enumerate()
        .filter_map(|(number, row)| Some((number, row.mean.predicted_seconds?)))
        .collect();
    let most = times.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    if times.is_empty() || most <= 0.0 {
        return None;
    }
    let mut body = String::new();
    for (place, &(number, seconds)) in times.iter().enumerate() {
        let (y, row) = (place as f64 * ROW, &rows[number]);
        let width = (WIDTH - NAMES - 90.0) * seconds / most;
        let name = svg::escaped(&row.strategy);
        _ = write!(
            body,
            r#"<g class="series {}" data-series="{name}"><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{name}</text><rect class="fillbar" x="{NAMES}" y="{:.1}" width="{width:.1}" height="{:.1}" data-tip="{name}: {} s ± {} over the epochs"/><text class="tick" x="{:.1}" y="{:.1}">{} s</text></g>"#,
            looks.row(number).classes(),
            NAMES - 8.0,
            y + 16.0,
            y + 3.0,
            ROW - 6.0,
            time(seconds),
            time(row.sd.predicted_seconds.unwrap_or_default()),
            NAMES + width + 6.0,
            y + 16.0,
            time(seconds)
        );
    }
    let size = (WIDTH, times.len() as f64 * ROW + 4.0);
    Some(svg::picture("How long an epoch takes by the cost model", size, &body))
}

/// Seconds with about three digits.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{seconds:.3}"),
        1.0..10.0 => format!("{seconds:.2}"),
        10.0..100.0 => format!("{seconds:.1}"),
        _ => format!("{seconds:.0}"),
    }
}
