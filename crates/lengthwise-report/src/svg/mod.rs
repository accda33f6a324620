//! Charts as SVG: axes with round ticks, marks, legends. Only what the figures of the report need.
//!
//! Colours are classes, so that the page decides them for light and dark; a figure that leaves the
//! page takes the page's colours with it (see `page.js`).

mod scale;

pub(crate) use scale::Scale;

use std::fmt::{Display, Write as _};

/// Text that is safe between tags and inside quotes: whatever a name contains, it stays a name.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Characters that steer terminals and text direction show as what they are.
            '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                _ = write!(safe, "U+{:04X}", character as u32);
            }
            other if other.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// A chart that is being drawn: a frame with two axes, and marks inside.
pub(crate) struct Chart {
    body: String,
    width: f64,
    height: f64,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    title: String,
}

/// The frame of a chart: what is left for axes and labels.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

impl Chart {
    /// A chart with axes and their labels. `title` is what a reader who cannot see it is told.
    pub(crate) fn new(
        title: &str,
        (width, height): (f64, f64),
        (x, x_label): (Scale, &str),
        (y, y_label): (Scale, &str),
    ) -> Self {
        let x = x.onto(LEFT, width - RIGHT);
        let y = y.onto(height - BOTTOM, TOP);
        let mut chart = Self { body: String::new(), width, height, x, y, title: title.to_owned() };
        chart.axes(x_label, y_label);
        chart
    }

    fn axes(&mut self, x_label: &str, y_label: &str) {
        let (bottom, right) = (self.height - BOTTOM, self.width - RIGHT);
        for (value, label) in self.x.ticks((right - LEFT) / 80.0) {
            let x = self.x.place(value);
            _ = write!(
                self.body,
                r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
                bottom + 17.0
            );
        }
        for (value, label) in self.y.ticks((bottom - TOP) / 40.0) {
            let y = self.y.place(value);
            _ = write!(
                self.body,
                r#"<path class="grid" d="M{LEFT} {y:.1}H{right}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
                LEFT - 7.0,
                y + 4.0
            );
        }
        _ = write!(
            self.body,
            r#"<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/><text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><text class="label" transform="translate(14 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            f64::midpoint(LEFT, right),
            self.height - 8.0,
            escaped(x_label),
            f64::midpoint(TOP, bottom),
            escaped(y_label)
        );
    }

    /// Adds marks.
    pub(crate) fn add(&mut self, marks: impl Display) {
        _ = write!(self.body, "{marks}");
    }

    /// A line through points in the units of the axes, with a dot and its text at each.
    pub(crate) fn line(&mut self, look: Look, name: &str, points: &[(f64, f64, String)]) {
        let placed: Vec<(f64, f64)> =
            points.iter().map(|(x, y, _)| (self.x.place(*x), self.y.place(*y))).collect();
        let mut path = String::new();
        for (at, (x, y)) in placed.iter().enumerate() {
            _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
        }
        let (name, class) = (escaped(name), look.classes());
        _ = write!(self.body, r#"<g class="series {class}" data-series="{name}">"#);
        if placed.len() > 1 {
            _ = write!(self.body, r#"<path class="line" d="{path}"/>"#);
        }
        for ((x, y), (_, _, text)) in placed.into_iter().zip(points) {
            _ = write!(self.body, "{}", look.dot(x, y, text));
        }
        self.body.push_str("</g>");
    }

    /// The finished picture.
    pub(crate) fn finish(self) -> String {
        let Self { body, width, height, title, .. } = self;
        picture(&title, (width, height), &body)
    }
}

/// An SVG element that scales to the page.
pub(crate) fn picture(title: &str, (width, height): (f64, f64), body: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"><title>{}</title>{body}</svg>"#,
        escaped(title)
    )
}

/// How a series looks: one of eight colours that all readers can tell apart, and beyond those
/// another dash and another shape of dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look(pub(crate) usize);

impl Look {
    const COLOURS: usize = 8;

    pub(crate) fn classes(self) -> String {
        format!("c{} d{}", self.0 % Self::COLOURS, self.0 / Self::COLOURS % 4)
    }

    /// A dot with a text that shows when it is pointed at.
    pub(crate) fn dot(self, x: f64, y: f64, text: &str) -> String {
        let shape = match self.0 / Self::COLOURS % 4 {
            0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5""#),
            1 => format!(r#"<rect x="{:.1}" y="{:.1}" width="7" height="7""#, x - 3.5, y - 3.5),
            2 => format!(r#"<path d="M{x:.1} {:.1}l4.5 8h-9z""#, y - 5.0),
            _ => format!(r#"<path d="M{x:.1} {:.1}l5 5-5 5-5-5z""#, y - 5.0),
        };
        format!(r#"{shape} class="dot" data-tip="{}"/>"#, escaped(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        let hostile = "</text><script>alert('x')</script>&\"\u{202e}\u{1b}[31m";
        assert_eq!(
            escaped(hostile),
            "&lt;/text&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;U+202E\u{fffd}[31m"
        );
    }

    #[test]
    fn a_chart_has_axes_labels_and_its_line() {
        let mut chart = Chart::new(
            "a & b",
            (400.0, 300.0),
            (Scale::linear(0.0, 10.0), "x"),
            (Scale::linear(0.0, 1.0), "y"),
        );
        chart.line(Look(0), "one", &[(0.0, 0.0, "start".into()), (10.0, 1.0, "end".into())]);
        let svg = chart.finish();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(svg.contains("<title>a &amp; b</title>"));
        assert!(svg.contains(r#"d="M64.0 254.0L384.0 12.0""#), "{svg}");
        assert!(svg.contains(r#"data-tip="end""#));
    }
}
