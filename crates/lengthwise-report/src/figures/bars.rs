//! Bars from a common line, with names on their left and values on their right: how long an epoch takes.

use std::fmt::Write as _;

use crate::compare::Row;
use crate::figures::shared::Styles;
use crate::study::Study;
use crate::svg::chart::picture;
use crate::svg::style::SeriesStyle;
use crate::text::escaped;

const WIDTH: f64 = 1000.0;
/// Room for names: at least, and at most.
const NAMES: (f64, f64) = (200.0, 400.0);
const VALUES: f64 = 90.0;
const ROW: f64 = 24.0;
/// About what a character takes.
const CHARACTER: f64 = 7.0;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name of its series.
    pub name: String,
    /// How its series looks.
    pub style: SeriesStyle,
    /// How long it is.
    pub value: f64,
    /// The value as it is written beside the bar.
    pub text: String,
    /// What is said when it is pointed at.
    pub tip: String,
}

/// `None` if no bar has a length.
pub fn bars(title: &str, all: &[Bar]) -> Option<String> {
    let most = all.iter().map(|bar| bar.value).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let longest = all.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let names = (CHARACTER * longest as f64 + 16.0).clamp(NAMES.0, NAMES.1);
    let mut body = String::new();
    for (place, bar) in all.iter().enumerate() {
        let y = place as f64 * ROW;
        let width = (WIDTH - names - VALUES) * bar.value / most;
        _ = write!(
            body,
            r#"<g class="series {}" data-series="{}"><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="fillbar" x="{names}" y="{:.1}" width="{width:.1}" height="{:.1}" data-tip="{}"/><text class="tick" x="{:.1}" y="{:.1}">{}</text></g>"#,
            bar.style.classes(),
            escaped(&bar.name),
            names - 8.0,
            y + 16.0,
            escaped(&cut(&bar.name)),
            y + 3.0,
            ROW - 6.0,
            escaped(&bar.tip),
            names + width + 6.0,
            y + 16.0,
            escaped(&bar.text)
        );
    }
    Some(picture(title, (WIDTH, all.len() as f64 * ROW + 4.0), &body))
}

/// A name that fits; what points at it says all of it.
fn cut(name: &str) -> String {
    let most = ((NAMES.1 - 16.0) / CHARACTER) as usize;
    let fits = name.chars().count() <= most;
    if fits { name.to_owned() } else { name.chars().take(most - 1).chain(['…']).collect() }
}

/// How long an epoch takes by the cost model; `None` without one.
pub(crate) fn seconds(study: &Study, styles: &Styles) -> Option<String> {
    let rows = study.comparison.rows.iter().enumerate();
    let bar = |(number, row): (usize, &Row)| {
        let seconds = row.mean.predicted_seconds?;
        let sd = time(row.sd.predicted_seconds.unwrap_or_default());
        Some(Bar {
            name: row.label().to_owned(),
            style: styles.row(number),
            value: seconds,
            text: format!("{} s", time(seconds)),
            tip: format!("{}: {} s ± {sd} over the epochs", row.label(), time(seconds)),
        })
    };
    bars("How long an epoch takes by the cost model", &rows.filter_map(bar).collect::<Vec<_>>())
}

/// Seconds with about three digits.
pub fn time(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{seconds:.3}"),
        1.0..10.0 => format!("{seconds:.2}"),
        10.0..100.0 => format!("{seconds:.1}"),
        _ => format!("{seconds:.0}"),
    }
}
