//! Bars from a common line, with names on their left and values on their right: padding, and the time of an
//! epoch.

use std::fmt::Write as _;

use crate::compare::Row;
use crate::figures::shared::{HALF, Styles};
use crate::study::Study;
use crate::svg::chart::picture;
use crate::svg::style::SeriesStyle;
use crate::text::{escaped, mixing, percent};

const WIDTH: f64 = 1000.0;
/// What names take of the width: at least, and at most.
const NAMES: (f64, f64) = (0.2, 0.4);
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

/// Bars across the page. `None` if no bar has a length.
pub fn bars(title: &str, all: &[Bar]) -> Option<String> {
    bars_across(WIDTH, title, all)
}

/// Bars in a figure of this width.
fn bars_across(across: f64, title: &str, all: &[Bar]) -> Option<String> {
    let most = all.iter().map(|bar| bar.value).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let longest = all.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let names = (CHARACTER * longest as f64 + 16.0).clamp(NAMES.0 * across, NAMES.1 * across);
    let mut body = String::new();
    for (place, bar) in all.iter().enumerate() {
        let y = place as f64 * ROW;
        let width = (across - names - VALUES) * bar.value / most;
        _ = write!(
            body,
            r#"<g class="series {}" data-series="{}"><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="fillbar" x="{names}" y="{:.1}" width="{width:.1}" height="{:.1}" data-tip="{}"/><text class="tick" x="{:.1}" y="{:.1}">{}</text></g>"#,
            bar.style.classes(),
            escaped(&bar.name),
            names - 8.0,
            y + 16.0,
            escaped(&cut(&bar.name, NAMES.1 * across)),
            y + 3.0,
            ROW - 6.0,
            escaped(&bar.tip),
            names + width + 6.0,
            y + 16.0,
            escaped(&bar.text)
        );
    }
    Some(picture(title, (across, all.len() as f64 * ROW + 4.0), &body))
}

/// A name that fits into this width; what points at it says all of it.
fn cut(name: &str, width: f64) -> String {
    let most = ((width - 16.0) / CHARACTER) as usize;
    let fits = name.chars().count() <= most;
    if fits { name.to_owned() } else { name.chars().take(most - 1).chain(['…']).collect() }
}

/// How long an epoch takes: in seconds by the cost model, or compared with random batches. `None` if neither
/// is known.
pub(crate) fn epoch_time(study: &Study, styles: &Styles) -> Option<String> {
    let measured = study.comparison.settings.cost_model.is_some();
    let bar = |(number, row): (usize, &Row)| {
        let name = row.label().to_owned();
        let (value, text, tip) = if measured {
            let seconds = row.mean.predicted_seconds?;
            let sd = time(row.sd.predicted_seconds.unwrap_or_default());
            let tip = format!("{name}: {} s ± {sd} over the epochs", time(seconds));
            (seconds, format!("{} s", time(seconds)), tip)
        } else {
            let ratio = row.mean.time_ratio?;
            (ratio, format!("{ratio:.2}"), format!("{name}: {ratio:.2} of random batches’ time"))
        };
        Some(Bar { name, style: styles.row(number), value, text, tip })
    };
    let title = if measured {
        "Seconds of an epoch, by the cost model"
    } else {
        "Time of an epoch; 1 is random batches"
    };
    bars_across(HALF.0, title, &rows(study).filter_map(bar).collect::<Vec<_>>())
}

/// What is recommended first, then the table's order.
pub(crate) fn rows(study: &Study) -> impl Iterator<Item = (usize, &Row)> {
    let rows = || study.comparison.rows.iter().enumerate();
    rows().filter(|(_, row)| row.recommended).chain(rows().filter(|(_, row)| !row.recommended))
}

/// Padding where all mix alike, or of the table's rows if that is not known.
pub(crate) fn padding(study: &Study, styles: &Styles) -> Option<String> {
    let of_row = |(number, row): (usize, &Row)| {
        let (name, value) = (row.label().to_owned(), row.mean.padding_rate);
        let mixed = row.mean.mixing.zip(row.mean.mixing_error);
        let mixed = mixed.map_or_else(String::new, |(share, error)| {
            format!(", {} mixing", mixing(share, error))
        });
        let tip = format!("{name}: {} padding{mixed}", percent(value));
        Bar { name, style: styles.row(number), value, text: percent(value), tip }
    };
    let Some(equal) = &study.frontier.at_equal_mixing else {
        let all: Vec<Bar> = rows(study).map(of_row).collect();
        return bars_across(HALF.0, "Padding, in % of all cells", &all);
    };
    let family = |own: &crate::study::FamilyPadding| Bar {
        name: own.family.clone(),
        style: styles.family(&own.family),
        value: own.padding_rate,
        text: percent(own.padding_rate),
        tip: format!(
            "{}, set so that it mixes {}: {} padding",
            own.family,
            percent(equal.mixing),
            percent(own.padding_rate)
        ),
    };
    let chosen = rows(study).filter(|(_, row)| row.label() == equal.strategy).take(1).map(of_row);
    let kind = equal.strategy.split(':').next().unwrap_or_default();
    let families = equal.families.iter().filter(|own| own.family != kind).map(family);
    let random = rows(study).filter(|(_, row)| row.label() == "shuffled").map(|row| {
        let bar = of_row(row);
        Bar { text: format!("{}*", bar.text), ..bar }
    });
    let all: Vec<Bar> = chosen.chain(families).chain(random).collect();
    bars_across(HALF.0, "Padding at equal mixing, in % of all cells", &all)
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
