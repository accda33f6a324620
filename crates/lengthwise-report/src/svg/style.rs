//! How a series looks, in figures and in legends.

use std::fmt::Write as _;

use crate::text::escaped;

/// How a series looks: one of sixteen colours, and one of sixteen symbols for readers who cannot tell the
/// colours apart. Up to sixteen series, no two share a colour or a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesStyle(pub usize);

impl SeriesStyle {
    const COLOURS: usize = 16;
    const DASHES: usize = 4;

    /// The second time round, a colour comes with the next symbol.
    fn symbol(self) -> usize {
        (self.0 + self.0 / Self::COLOURS) % SYMBOLS.len()
    }

    /// The classes of its marks.
    pub fn classes(self) -> String {
        format!("c{} d{}", self.0 % Self::COLOURS, self.symbol() % Self::DASHES)
    }

    /// A dot with a text that shows when it is pointed at.
    pub fn dot(self, x: f64, y: f64, text: &str) -> String {
        format!(r#"{} data-tip="{}"/>"#, self.shape(x, y, 1.0), escaped(text))
    }

    /// A larger dot, for what is a strategy of the table.
    pub fn large_dot(self, x: f64, y: f64, text: &str) -> String {
        format!(r#"{} data-tip="{}"/>"#, self.shape(x, y, LARGE), escaped(text))
    }

    /// A larger dot without a text, as an element that is not closed yet.
    pub(crate) fn mark(self, x: f64, y: f64) -> String {
        self.shape(x, y, LARGE)
    }

    /// What a legend shows for a line with its dots.
    pub fn key(self) -> String {
        let line = format!(r#"<path class="line" d="M0 {0}H{KEY_WIDTH}"/>"#, KEY_HEIGHT / 2.0);
        key("", &format!("{line}{}/>", self.shape(KEY_WIDTH / 2.0, KEY_HEIGHT / 2.0, 1.0)))
    }

    /// What a legend shows for a larger dot.
    pub fn dot_key(self) -> String {
        let shape = self.shape(KEY_WIDTH / 2.0, KEY_HEIGHT / 2.0, LARGE);
        key(" own", &format!("{shape}/>"))
    }

    /// The symbol, as an element that is not closed yet.
    fn shape(self, x: f64, y: f64, times: f64) -> String {
        let symbol = self.symbol();
        let outline = SYMBOLS[symbol];
        if outline.is_empty() {
            let r = 3.6 * times;
            return format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{r:.1}" class="dot s{symbol}""#);
        }
        let mut path = String::new();
        for part in outline {
            for (at, (dx, dy)) in part.iter().enumerate() {
                let command = if at == 0 { 'M' } else { 'L' };
                _ = write!(path, "{command}{:.1} {:.1}", x + times * dx, y + times * dy);
            }
            path.push('z');
        }
        format!(r#"<path d="{path}" fill-rule="evenodd" class="dot s{symbol}""#)
    }
}

/// A closed line around a middle of zero.
type Outline = &'static [(f64, f64)];

const SQUARE: Outline = &[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)];
const TRIANGLE: Outline = &[(0.0, -5.0), (4.6, 3.4), (-4.6, 3.4)];
const DOWN: Outline = &[(0.0, 5.0), (4.6, -3.4), (-4.6, -3.4)];
const LEFT: Outline = &[(-5.0, 0.0), (3.4, -4.6), (3.4, 4.6)];
const RIGHT: Outline = &[(5.0, 0.0), (-3.4, -4.6), (-3.4, 4.6)];
const DIAMOND: Outline = &[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)];
const WIDE_SQUARE: Outline = &[(-4.4, -4.4), (4.4, -4.4), (4.4, 4.4), (-4.4, 4.4)];
const SMALL_SQUARE: Outline = &[(-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0)];
const WIDE_DIAMOND: Outline = &[(0.0, -6.2), (6.2, 0.0), (0.0, 6.2), (-6.2, 0.0)];
const SMALL_DIAMOND: Outline = &[(0.0, -2.7), (2.7, 0.0), (0.0, 2.7), (-2.7, 0.0)];
const WIDE_TRIANGLE: Outline = &[(0.0, -6.2), (6.0, 4.4), (-6.0, 4.4)];
const SMALL_TRIANGLE: Outline = &[(0.0, -1.8), (2.2, 2.2), (-2.2, 2.2)];
const OCTAGON: Outline = &[
    (-1.9, -4.6),
    (1.9, -4.6),
    (4.6, -1.9),
    (4.6, 1.9),
    (1.9, 4.6),
    (-1.9, 4.6),
    (-4.6, 1.9),
    (-4.6, -1.9),
];
const SMALL_OCTAGON: Outline = &[
    (-0.9, -2.2),
    (0.9, -2.2),
    (2.2, -0.9),
    (2.2, 0.9),
    (0.9, 2.2),
    (-0.9, 2.2),
    (-2.2, 0.9),
    (-2.2, -0.9),
];
const PLUS: Outline = &[
    (-1.3, -4.8),
    (1.3, -4.8),
    (1.3, -1.3),
    (4.8, -1.3),
    (4.8, 1.3),
    (1.3, 1.3),
    (1.3, 4.8),
    (-1.3, 4.8),
    (-1.3, 1.3),
    (-4.8, 1.3),
    (-4.8, -1.3),
    (-1.3, -1.3),
];
const CROSS: Outline = &[
    (-4.4, -2.6),
    (-2.6, -4.4),
    (0.0, -1.8),
    (2.6, -4.4),
    (4.4, -2.6),
    (1.8, 0.0),
    (4.4, 2.6),
    (2.6, 4.4),
    (0.0, 1.8),
    (-2.6, 4.4),
    (-4.4, 2.6),
    (-1.8, 0.0),
];
const STAR: Outline = &[
    (0.0, -5.8),
    (1.4, -1.9),
    (5.5, -1.8),
    (2.2, 0.7),
    (3.4, 4.7),
    (0.0, 2.3),
    (-3.4, 4.7),
    (-2.2, 0.7),
    (-5.5, -1.8),
    (-1.4, -1.9),
];
const HOURGLASS: Outline = &[(-4.2, -4.6), (4.2, -4.6), (-4.2, 4.6), (4.2, 4.6)];
const BOW: Outline = &[(-4.8, -4.0), (-4.8, 4.0), (4.8, -4.0), (4.8, 4.0)];

/// One for each colour; the first is a circle. Where two lines are given, the second is a hole.
const SYMBOLS: [&[Outline]; 16] = [
    &[],
    &[SQUARE],
    &[TRIANGLE],
    &[DIAMOND],
    &[PLUS],
    &[CROSS],
    &[DOWN],
    &[STAR],
    &[OCTAGON, SMALL_OCTAGON],
    &[WIDE_SQUARE, SMALL_SQUARE],
    &[HOURGLASS],
    &[BOW],
    &[WIDE_DIAMOND, SMALL_DIAMOND],
    &[LEFT],
    &[RIGHT],
    &[WIDE_TRIANGLE, SMALL_TRIANGLE],
];

/// How much larger the dots of the table's strategies are.
const LARGE: f64 = 1.4;
const KEY_WIDTH: f64 = 30.0;
const KEY_HEIGHT: f64 = 14.0;

/// A small picture in a legend.
pub(crate) fn key(class: &str, body: &str) -> String {
    format!(
        r#"<svg class="key{class}" viewBox="0 0 {KEY_WIDTH} {KEY_HEIGHT}" width="{KEY_WIDTH}" height="{KEY_HEIGHT}" aria-hidden="true">{body}</svg>"#
    )
}

/// What a legend shows for lines across a figure, such as rungs.
pub(crate) fn rule_key(class: &str) -> String {
    let y = KEY_HEIGHT / 2.0;
    let body = format!(
        r#"<path class="{class}" d="M0 {y}H{KEY_WIDTH}"/><circle class="{class} dot" cx="{}" cy="{y}" r="3.5"/>"#,
        KEY_WIDTH / 2.0
    );
    key("", &body)
}

/// What a legend shows for a part of a bar.
pub fn bar_key(class: &str) -> String {
    let body = format!(
        r#"<rect class="{class}" x="0" y="2" width="{KEY_WIDTH}" height="{}"/>"#,
        KEY_HEIGHT - 4.0
    );
    key("", &body)
}

/// What a legend shows for a mark across bars.
pub fn mark_key() -> String {
    key("", &mark(KEY_WIDTH / 2.0, 0.0, KEY_HEIGHT))
}

/// What a legend shows for a thin line without dots.
pub fn line_key(class: &str) -> String {
    key("", &format!(r#"<path class="{class}" d="M0 {}H{KEY_WIDTH}"/>"#, KEY_HEIGHT / 2.0))
}

/// A mark across a bar, which can be seen on any colour.
pub fn mark(x: f64, from: f64, to: f64) -> String {
    ["halo", "mark"]
        .map(|class| format!(r#"<path class="{class}" d="M{x:.1} {from:.1}V{to:.1}"/>"#))
        .concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_many_series_look_alike() {
        let look = |at| (SeriesStyle(at).classes(), SeriesStyle(at).symbol());
        let looks: BTreeSet<_> = (0..64).map(look).collect();
        assert_eq!(looks.len(), 64);
    }

    /// There are more than twelve strategies.
    #[test]
    fn sixteen_series_share_neither_colour_nor_symbol() {
        let styles = (0..16).map(SeriesStyle);
        let colours: BTreeSet<String> = styles
            .clone()
            .map(|style| style.classes().split(' ').next().unwrap().to_owned())
            .collect();
        let symbols: BTreeSet<String> = styles.map(|style| style.shape(0.0, 0.0, 1.0)).collect();
        assert_eq!((colours.len(), symbols.len()), (16, 16));
    }

    #[test]
    fn a_legend_shows_the_symbol_of_the_figure() {
        for at in 0..16 {
            let (style, class) = (SeriesStyle(at), format!("class=\"dot s{at}\""));
            assert!(style.key().contains(&class) && style.dot(0.0, 0.0, "").contains(&class));
        }
    }
}
