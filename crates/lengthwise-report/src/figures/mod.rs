//! The figures of a report: one file each.

mod batches;
mod distribution;
mod frontier;
mod idle;
mod order;
mod seconds;
mod tuning;

pub(crate) use batches::batches;
pub(crate) use distribution::distribution;
pub(crate) use frontier::frontier;
pub(crate) use idle::idle;
pub(crate) use order::order;
pub(crate) use seconds::seconds;
pub(crate) use tuning::tuning;

use crate::{Study, svg::Look};

/// Width and height of a figure across the page.
const WIDE: (f64, f64) = (1000.0, 400.0);

/// How the strategies of the rows look, and families by the strategy of the same name.
pub(crate) struct Looks {
    names: Vec<String>,
    rows: usize,
}

impl Looks {
    pub(crate) fn of(study: &Study) -> Self {
        let mut names: Vec<String> =
            study.comparison.rows.iter().map(|row| kind(&row.strategy).to_owned()).collect();
        let rows = names.len();
        // Families that have no row of their own come after those that have.
        for curve in &study.frontier.curves {
            if !names.contains(&curve.family) {
                names.push(curve.family.clone());
            }
        }
        Self { names, rows }
    }

    /// The look of a row.
    pub(crate) fn row(&self, row: usize) -> Look {
        debug_assert!(row < self.rows, "a row of the table");
        Look(row)
    }

    /// The look of a family: that of the first row of its kind.
    pub(crate) fn family(&self, family: &str) -> Look {
        Look(self.names.iter().position(|name| name == family).unwrap_or(self.names.len()))
    }
}

/// The name of a strategy without its parameters.
pub(crate) fn kind(strategy: &str) -> &str {
    strategy.split(':').next().unwrap_or(strategy)
}

/// A share in percent, with three digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        // The space does not break.
        ..0.995 => format!("{percent:.2}\u{a0}%"),
        ..99.95 => format!("{percent:.1}\u{a0}%"),
        _ => format!("{percent:.0}\u{a0}%"),
    }
}

/// A whole number with a comma at every third digit.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
