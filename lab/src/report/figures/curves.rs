//! How a measure falls: against epochs, and against the time of training (paper 2, Fig. 4; paper 3,
//! Fig. 3). A line for each row, the mean over its seeds, and from the least to the most as a band.

use crate::report::{
    records::{Training, Validation},
    row::{Point, Row},
};
use lengthwise_report::parts::{
    svg::{Chart, Scale, SeriesStyle, WIDE},
    text::{counted, fixed, one_line, time},
};

/// What a measure is drawn against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Against {
    Epochs,
    Seconds,
}

/// The curves of one measure.
pub(in crate::report) struct Curves<'a> {
    /// What is measured, in one line.
    what: String,
    unit: &'static str,
    decimals: usize,
    /// The rows that have a point, with their places among all.
    lines: Vec<(usize, &'a Row<'a>, Vec<Point>)>,
}

impl<'a> Curves<'a> {
    /// The validation loss.
    pub(in crate::report) fn of_loss(rows: &'a [Row<'a>]) -> Option<Self> {
        Self::new("validation loss".to_owned(), ("", 1.0, 4), rows, |v| v.loss)
    }

    /// The errors, in percent.
    pub(in crate::report) fn of_error(training: &Training, rows: &'a [Row<'a>]) -> Option<Self> {
        Self::new(one_line(&training.error), ("%", 100.0, 2), rows, |v| v.error)
    }

    /// `None` if no row has two points: there is nothing to follow.
    fn new(
        what: String,
        (unit, times, decimals): (&'static str, f64, usize),
        rows: &'a [Row<'a>],
        of: impl Fn(&Validation) -> f64,
    ) -> Option<Self> {
        let lines: Vec<_> = rows
            .iter()
            .enumerate()
            .map(|(number, row)| (number, row, row.curve(|v| times * of(v))))
            .filter(|(_, _, points)| !points.is_empty())
            .collect();
        lines.iter().any(|(_, _, points)| points.len() > 1).then_some(Self {
            what,
            unit,
            decimals,
            lines,
        })
    }

    /// The rows that are drawn.
    pub(in crate::report) fn series(&self) -> impl Iterator<Item = (SeriesStyle, &str)> {
        self.lines.iter().map(|(number, row, _)| (SeriesStyle(*number), row.name))
    }

    /// Whether any row has seeds that differ, and so a band.
    pub(in crate::report) fn has_bands(&self) -> bool {
        self.lines.iter().any(|(_, _, points)| banded(points))
    }

    /// The figure.
    pub(in crate::report) fn draw(&self, against: Against) -> String {
        let x_of = |point: &Point| match against {
            Against::Epochs => f64::from(point.epoch),
            Against::Seconds => point.seconds,
        };
        let (y, logarithmic) = self.y_scale();
        let (x, x_label, title) = match against {
            Against::Epochs => (self.epochs(), "epoch", "against epochs"),
            Against::Seconds => {
                let most = self.points().map(|point| point.seconds).fold(0.0, f64::max);
                let x = Scale::linear(0.0, if most > 0.0 { most * 1.02 } else { 1.0 });
                (x, "seconds of training", "against the time of training")
            }
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(", {}", self.unit) };
        let scale = if logarithmic { ", logarithmic" } else { "" };
        let what = shortened(&self.what);
        let mut chart = Chart::new(
            &format!("{}{} {title}", what[..first(&what)].to_uppercase(), &what[first(&what)..]),
            WIDE,
            (x, x_label),
            (y, &format!("{what}{unit}{scale}")),
        );
        for (number, row, points) in &self.lines {
            if banded(points) {
                let band = |point: &Point| (x_of(point), point.least, point.most);
                chart.band(
                    SeriesStyle(*number),
                    row.name,
                    &points.iter().map(band).collect::<Vec<_>>(),
                );
            }
        }
        for (number, row, points) in &self.lines {
            let dot = |point: &Point| (x_of(point), point.mean, self.tip(row, point));
            chart.line(SeriesStyle(*number), row.name, &points.iter().map(dot).collect::<Vec<_>>());
        }
        chart.finish()
    }

    fn tip(&self, row: &Row<'_>, point: &Point) -> String {
        let (decimals, unit) = (self.decimals, self.unit);
        let gap = if unit.is_empty() { "" } else { "\u{a0}" };
        let shown = |value: f64| format!("{}{gap}{unit}", fixed(value, decimals));
        let range = if point.least < point.most {
            format!(", {} to {} over the seeds", shown(point.least), shown(point.most))
        } else {
            String::new()
        };
        format!(
            "{} after {} and {}\u{a0}s: {}{range}",
            row.name,
            counted(point.epoch.into(), "epoch"),
            time(point.seconds),
            shown(point.mean)
        )
    }

    fn points(&self) -> impl Iterator<Item = &Point> + Clone {
        self.lines.iter().flat_map(|(_, _, points)| points)
    }

    fn epochs(&self) -> Scale {
        let epochs = self.points().map(|point| f64::from(point.epoch));
        let from = epochs.clone().fold(f64::INFINITY, f64::min);
        let to = epochs.fold(0.0, f64::max);
        // One epoch is in the middle.
        if from < to { Scale::linear(from, to) } else { Scale::linear(from - 0.5, to + 0.5) }
            .whole()
    }

    /// By the logarithm where the first values are so high that differences of the last would not be
    /// seen; else from zero, if there is space.
    fn y_scale(&self) -> (Scale, bool) {
        let least = self.points().map(|point| point.least).fold(f64::INFINITY, f64::min);
        let most = self.points().map(|point| point.most).fold(f64::NEG_INFINITY, f64::max);
        // What a run computes on its way to divergence may have any size; it ends at the upper edge.
        let (least, most) = (least.clamp(-HIGHEST, HIGHEST), most.clamp(-HIGHEST, HIGHEST));
        if least > 0.0 && most > 4.0 * least {
            return (Scale::logarithmic(least.max(1e-6 * most) * 0.9, most * 1.1), true);
        }
        // If all are equal, they are in the middle.
        let gap = if most > least { 0.05 * (most - least) } else { 0.2 * most.abs().max(0.01) };
        let low = if least >= 0.0 && least <= 0.5 * most { 0.0 } else { least - gap };
        (Scale::linear(low, most + gap), false)
    }
}

/// An axis goes no farther.
const HIGHEST: f64 = 1e9;

/// Whether seeds differ anywhere.
fn banded(points: &[Point]) -> bool {
    points.len() > 1 && points.iter().any(|point| point.least < point.most)
}

/// Where the first character ends.
fn first(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// What fits beside an axis.
pub(super) fn shortened(what: &str) -> String {
    if what.chars().count() <= 40 {
        return what.to_owned();
    }
    what.chars().take(39).chain(['…']).collect()
}
