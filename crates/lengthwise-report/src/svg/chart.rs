//! A chart with two axes.

use std::fmt::{Display, Write as _};

use crate::svg::scale::Scale;
use crate::svg::style::SeriesStyle;
use crate::text::escaped;

/// A chart that is being drawn: a frame with two axes, and marks inside.
#[derive(Clone, Debug)]
pub struct Chart {
    body: String,
    left: f64,
    width: f64,
    height: f64,
    /// From numbers to places across the figure.
    pub x: Scale,
    /// From numbers to places down the figure.
    pub y: Scale,
    title: String,
}

/// The frame of a chart: what is left for axes and labels. On the left, at least.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// More dots than this on a line run into each other.
const MOST_DOTS: usize = 40;

impl Chart {
    /// A chart with axes and their labels. `title` is what a reader who cannot see it is told.
    pub fn new(
        title: &str,
        (width, height): (f64, f64),
        (x, x_label): (Scale, &str),
        (y, y_label): (Scale, &str),
    ) -> Self {
        let y = y.onto(height - BOTTOM, TOP);
        // The label of the axis, a gap, and about 7 for each character of a tick.
        let longest = y.ticks(y_ticks(height)).iter().map(|(_, label)| label.len()).max();
        let left = LEFT.max(31.0 + 7.0 * longest.unwrap_or(0) as f64);
        let x = x.onto(left, width - RIGHT);
        let (body, title) = (String::new(), title.to_owned());
        let mut chart = Self { body, left, width, height, x, y, title };
        chart.axes(x_label, y_label);
        chart
    }

    fn axes(&mut self, x_label: &str, y_label: &str) {
        let (left, bottom, right) = (self.left, self.height - BOTTOM, self.width - RIGHT);
        for (value, label) in self.x.ticks((right - left) / 80.0) {
            let x = self.x.place(value);
            self.add(format_args!(
                r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
                bottom + 17.0
            ));
        }
        for (value, label) in self.y.ticks(y_ticks(self.height)) {
            let y = self.y.place(value);
            _ = write!(
                self.body,
                r#"<path class="grid" d="M{left} {y:.1}H{right}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
                left - 7.0,
                y + 4.0
            );
        }
        _ = write!(
            self.body,
            r#"<path class="axis" d="M{left} {TOP}V{bottom}H{right}"/><text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><text class="label" transform="translate(14 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            f64::midpoint(left, right),
            self.height - 8.0,
            escaped(x_label),
            f64::midpoint(TOP, bottom),
            escaped(y_label)
        );
    }

    /// Adds marks.
    pub fn add(&mut self, marks: impl Display) {
        _ = write!(self.body, "{marks}");
    }

    /// A line through points in the units of the axes, with a dot and its text at each.
    pub fn line(&mut self, style: SeriesStyle, name: &str, points: &[(f64, f64, String)]) {
        let placed: Vec<(f64, f64)> =
            points.iter().map(|(x, y, _)| (self.x.place(*x), self.y.place(*y))).collect();
        self.open_series(style, name);
        if placed.len() > 1 {
            let path = path(placed.iter().copied());
            self.add(format_args!(r#"<path class="line" d="{path}"/>"#));
        }
        // Of very many points some have a dot, and the last has.
        let every = points.len().div_ceil(MOST_DOTS).max(1);
        for (at, ((x, y), (_, _, text))) in placed.into_iter().zip(points).enumerate() {
            if (points.len() - 1 - at).is_multiple_of(every) {
                self.add(style.dot(x, y, text));
            }
        }
        self.body.push_str("</g>");
    }

    /// A line without dots, which belongs to no series.
    pub fn thin(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [(x, y), (to_x, to_y)] = [from, to].map(|(x, y)| (self.x.place(x), self.y.place(y)));
        self.add(format_args!(r#"<path class="{class}" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#));
    }

    /// The room between two lines over the same places.
    pub fn band(&mut self, style: SeriesStyle, name: &str, points: &[(f64, f64, f64)]) {
        let low = points.iter().map(|&(x, low, _)| (x, low));
        let high = points.iter().rev().map(|&(x, _, high)| (x, high));
        let path = path(low.chain(high).map(|(x, y)| (self.x.place(x), self.y.place(y))));
        self.open_series(style, name);
        self.add(format_args!(r#"<path class="band" d="{path}z"/></g>"#));
    }

    /// The beginning of a group of marks that can be chosen by name.
    fn open_series(&mut self, style: SeriesStyle, name: &str) {
        let (class, name) = (style.classes(), escaped(name));
        self.add(format_args!(r#"<g class="series {class}" data-series="{name}">"#));
    }

    /// The finished picture.
    pub fn finish(self) -> String {
        let Self { body, width, height, title, .. } = self;
        picture(&title, (width, height), &body)
    }
}

/// A path from point to point.
fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
    }
    path
}

/// About how many ticks a chart of this height has room for.
fn y_ticks(height: f64) -> f64 {
    (height - BOTTOM - TOP) / 40.0
}

/// An SVG element that scales to the page.
pub fn picture(title: &str, (width, height): (f64, f64), body: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"><title>{}</title>{body}</svg>"#,
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long ticks get more room: they do not run into the label of the axis.
    #[test]
    fn long_ticks_have_room() {
        let chart = |high: f64| {
            let (x, y) = (Scale::linear(0.0, 1.0), Scale::linear(high, high * (1.0 + 1e-3)));
            Chart::new("", (400.0, 300.0), (x, "x"), (y, "y")).left
        };
        assert!((chart(100.0) - 73.0).abs() < 1e-9 && chart(123_456.0) > 73.0);
    }

    #[test]
    fn a_chart_has_axes_labels_and_its_line() {
        let mut chart = Chart::new(
            "a & b",
            (400.0, 300.0),
            (Scale::linear(0.0, 10.0), "x"),
            (Scale::linear(0.0, 1.0), "y"),
        );
        chart.line(SeriesStyle(0), "one", &[(0.0, 0.0, "start".into()), (10.0, 1.0, "end".into())]);
        let svg = chart.finish();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(svg.contains("<title>a &amp; b</title>"));
        assert!(svg.contains(r#"d="M64.0 254.0L384.0 12.0""#), "{svg}");
        assert!(svg.contains(r#"data-tip="end""#));
    }
}
