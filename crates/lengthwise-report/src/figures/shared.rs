//! What several figures share: their size, the styles of series, labels.

use crate::compare::{Input, Row};
use crate::study::Study;
use crate::svg::style::SeriesStyle;

/// Width and height of a figure across the page.
pub const WIDE: (f64, f64) = (1000.0, 400.0);

/// Width and height of a figure that has another one beside it.
pub(crate) const HALF: (f64, f64) = (480.0, 290.0);

/// The styles of the rows, and of families by the strategy of the same name.
pub(crate) struct Styles {
    names: Vec<String>,
    /// The row of what is recommended.
    recommended: Option<usize>,
}

impl Styles {
    pub(crate) fn of(study: &Study) -> Self {
        let rows = &study.comparison.rows;
        let mut names: Vec<String> = rows.iter().map(|row| kind(row.label()).to_owned()).collect();
        // Families that have no row of their own come after those that have.
        for curve in &study.frontier.curves {
            if !names.contains(&curve.family) {
                names.push(curve.family.clone());
            }
        }
        Self { names, recommended: rows.iter().position(|row| row.recommended) }
    }

    /// The style of a row. What is recommended looks the same in every report.
    pub(crate) fn row(&self, row: usize) -> SeriesStyle {
        match self.recommended {
            Some(recommended) if row == recommended => SeriesStyle(0),
            Some(recommended) if row > recommended => SeriesStyle(row),
            _ => SeriesStyle(row + 1),
        }
    }

    /// The style of the row of this label.
    pub(crate) fn named(&self, label: &str, study: &Study) -> SeriesStyle {
        let mut labels = study.comparison.rows.iter().map(Row::label);
        self.row(labels.position(|own| own == label).unwrap_or(self.names.len()))
    }

    /// The style of a family: that of the first row of its kind.
    pub(crate) fn family(&self, family: &str) -> SeriesStyle {
        self.row(self.names.iter().position(|name| name == family).unwrap_or(self.names.len()))
    }
}

/// The name of a strategy without its parameters.
pub(crate) fn kind(strategy: &str) -> &str {
    strategy.split(':').next().unwrap_or(strategy)
}

/// The label of an axis of lengths: with their unit, if it is known.
pub(crate) fn length_label(what: &str, input: &Input) -> String {
    input.unit.as_ref().map_or_else(|| what.to_owned(), |unit| format!("{what}, in {unit}"))
}
