//! How a series looks, in figures and in legends.

use crate::text::escaped;

/// How a series looks: one of eight colours, and one of four symbols and dashes, for those who
/// cannot tell the colours apart. Both change from one series to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesStyle(pub usize);

impl SeriesStyle {
    const COLOURS: usize = 8;
    const SYMBOLS: usize = 4;

    /// The second time round, a colour comes with the next symbol.
    fn symbol(self) -> usize {
        (self.0 + self.0 / Self::COLOURS) % Self::SYMBOLS
    }

    /// The classes of its marks.
    pub fn classes(self) -> String {
        format!("c{} d{}", self.0 % Self::COLOURS, self.symbol())
    }

    /// A dot with a text that shows when it is pointed at.
    pub fn dot(self, x: f64, y: f64, text: &str) -> String {
        format!(r#"{} data-tip="{}"/>"#, self.shape(x, y, 1.0), escaped(text))
    }

    /// A larger dot, for what is a strategy of the table.
    pub fn large_dot(self, x: f64, y: f64, text: &str) -> String {
        format!(r#"{} data-tip="{}"/>"#, self.shape(x, y, LARGE), escaped(text))
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
        let r = 3.5 * times;
        let shape = match self.symbol() {
            0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{r:.1}""#),
            1 => format!(
                r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{2:.1}""#,
                x - r,
                y - r,
                2.0 * r
            ),
            2 => {
                let (half, height) = (4.5 * times, 8.0 * times);
                let top = y - 5.0 * times;
                format!(r#"<path d="M{x:.1} {top:.1}l{half:.1} {height:.1}h-{:.1}z""#, 2.0 * half)
            }
            _ => {
                let r = 5.0 * times;
                format!(
                    r#"<path d="M{x:.1} {:.1}l{r:.1} {r:.1}-{r:.1} {r:.1}-{r:.1}-{r:.1}z""#,
                    y - r
                )
            }
        };
        format!(r#"{shape} class="dot""#)
    }
}

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
        let styles: BTreeSet<String> = (0..32).map(|at| SeriesStyle(at).classes()).collect();
        assert_eq!(styles.len(), 32);
        // Nor do successive ones have one symbol.
        assert!(
            (1..32)
                .all(|at| SeriesStyle(at).symbol() != SeriesStyle(at - 1).symbol() || at % 8 == 0)
        );
    }

    #[test]
    fn a_legend_shows_the_symbol_of_the_figure() {
        for (at, symbol) in ["<circle", "<rect", "l4.5", "l5.0"].iter().enumerate() {
            let style = SeriesStyle(at);
            assert!(style.key().contains(symbol) && style.dot(0.0, 0.0, "").contains(symbol));
        }
    }
}
