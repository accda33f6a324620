//! Pages for a terminal, from the Markdown that they are written in: headings, paragraphs, lists, tables,
//! quotes and code.

use std::fmt::Write as _;

use crate::text::{command_lines, filled, python_lines, visible_width};

/// What a page is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many characters a line may have.
    pub width: usize,
    /// Whether headings and code stand out by colour.
    pub coloured: bool,
}

const BOLD: &str = "\x1b[1m";
const CODE: &str = "\x1b[36m";
const HEADING: &str = "\x1b[1;32m";
const END: &str = "\x1b[0m";

/// A page of Markdown as text for a screen. Nothing of its marks is left.
pub(crate) fn rendered(page: &str, screen: Screen) -> String {
    let mut shown = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push('\n');
        }
        if let Some(language) = line.strip_prefix("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            code.for_each(|line| shown += &screen.code(line, language));
        } else if line.starts_with('#') {
            let text = screen.inline(line.trim_start_matches('#').trim(), Around::Heading);
            let (begin, end) = if screen.coloured { (HEADING, END) } else { ("", "") };
            for line in filled(&text, screen.width, "", "").lines() {
                _ = writeln!(shown, "{begin}{line}{end}");
            }
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(row) = lines.next_if(|row| row.starts_with('|')) {
                rows.push(row);
            }
            shown += &screen.table(&rows);
        } else {
            let (mut bullet, mut text) = bullet(line);
            while let Some(more) = lines.next_if(|line| !line.trim().is_empty() && !begins(line)) {
                let (next, rest) = self::bullet(more);
                if next.is_some() {
                    shown += &screen.item(bullet, &text);
                    (bullet, text) = (next, rest);
                } else {
                    text = text + " " + rest.trim();
                }
            }
            shown += &screen.item(bullet, &text);
        }
    }
    shown
}

/// Whether a line begins something that is no paragraph.
fn begins(line: &str) -> bool {
    line.starts_with("```") || line.starts_with('#') || line.starts_with('|')
}

/// What an item of a list begins with, and its text.
fn bullet(line: &str) -> (Option<String>, String) {
    let trimmed = line.trim_start();
    if let Some(text) = trimmed.strip_prefix("- ") {
        return (Some("- ".to_owned()), text.to_owned());
    }
    if let Some(text) = trimmed.strip_prefix("> ") {
        return (Some("    ".to_owned()), text.to_owned());
    }
    match trimmed.split_once(". ") {
        Some((number, text)) if number.parse::<u32>().is_ok() => {
            (Some(format!("{number}. ")), text.to_owned())
        }
        _ => (None, line.to_owned()),
    }
}

/// Where a piece of text stands: code in running text has quotes where it has no colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Text,
    Item,
    Heading,
}

impl Screen {
    fn item(self, bullet: Option<String>, text: &str) -> String {
        let around = if bullet.is_some() { Around::Item } else { Around::Text };
        let (first, text) = (bullet.unwrap_or_default(), self.inline(text.trim(), around));
        let rest = " ".repeat(2 + first.chars().count());
        filled(&text, self.width, &format!("  {first}"), &rest)
    }

    fn code(self, line: &str, language: &str) -> String {
        let width = self.width.saturating_sub(4);
        let lines = match language {
            "sh" => command_lines(line, width),
            "python" => python_lines(line, width),
            _ => format!("{line}\n"),
        };
        let shown = lines.lines().map(|line| match (line, self.coloured) {
            ("", _) => "\n".to_owned(),
            (line, true) => format!("    {CODE}{line}{END}\n"),
            (line, false) => format!("    {line}\n"),
        });
        shown.collect()
    }

    /// A table: its first column as names, what the others say behind them.
    fn table(self, rows: &[&str]) -> String {
        let cells = |row: &str| -> Vec<String> {
            let inside = row.trim().trim_matches('|');
            inside.split('|').map(|cell| self.inline(cell.trim(), Around::Item)).collect()
        };
        let is_rule = |row: &&&str| row.chars().all(|mark| "|-: ".contains(mark));
        let rows: Vec<Vec<String>> =
            rows.iter().filter(|row| !is_rule(row)).map(|row| cells(row)).collect();
        let names = rows.iter().filter_map(|row| row.first()).map(|name| visible_width(name));
        // Names that are too long for a column stand on a line of their own.
        let column = names.max().unwrap_or(0).min(self.width / 3);
        let mut shown = String::new();
        for (at, row) in rows.iter().enumerate() {
            let Some((name, others)) = row.split_first() else { continue };
            let strong = if self.coloured && at == 0 { BOLD } else { "" };
            let end = if strong.is_empty() { "" } else { END };
            let gap = " ".repeat(column.saturating_sub(visible_width(name)));
            let rest = " ".repeat(column + 4);
            let text = others.join(" – ");
            let lines = if visible_width(name) > column {
                format!("  {strong}{name}{end}\n") + &filled(&text, self.width, &rest, &rest)
            } else {
                filled(&text, self.width, &format!("  {strong}{name}{end}{gap}  "), &rest)
            };
            shown += &lines;
        }
        shown
    }

    /// A line without the marks of Markdown. Short pieces of code are not broken.
    fn inline(self, text: &str, around: Around) -> String {
        let text = without_links(text);
        let mut shown = String::new();
        for (at, piece) in text.split('`').enumerate() {
            if at % 2 == 0 {
                shown += &self.emphasis(piece);
                continue;
            }
            let piece = match visible_width(piece) {
                ..25 => piece.replace(' ', "\u{a0}"),
                _ => piece.to_owned(),
            };
            // An item that begins with its name needs no quotes to be told apart.
            let bare = around == Around::Heading || (around == Around::Item && shown.is_empty());
            let piece = match (self.coloured, bare) {
                (true, _) if around == Around::Heading => piece,
                (true, _) => {
                    // Each line of a piece that is broken has its colour.
                    let words: Vec<String> =
                        piece.split(' ').map(|word| format!("{CODE}{word}{END}")).collect();
                    words.join(" ")
                }
                (false, true) => piece,
                (false, false) => format!("'{piece}'"),
            };
            shown += &piece;
        }
        shown
    }

    /// Bold text in bold words; slanted text as it is.
    fn emphasis(self, text: &str) -> String {
        let mut shown = String::new();
        for (at, piece) in text.split("**").enumerate() {
            let piece = without_stars(piece);
            if at % 2 == 1 && self.coloured {
                let words: Vec<String> =
                    piece.split(' ').map(|word| format!("{BOLD}{word}{END}")).collect();
                shown += &words.join(" ");
            } else {
                shown += &piece;
            }
        }
        shown
    }
}

/// Text without the stars round slanted words: those that touch a word.
fn without_stars(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_word = |at: Option<usize>| {
        at.and_then(|at| characters.get(at)).is_some_and(|character| !character.is_whitespace())
    };
    let kept = characters.iter().enumerate().filter(|&(at, &character)| {
        character != '*' || !(is_word(at.checked_sub(1)) || is_word(Some(at + 1)))
    });
    kept.map(|(_, character)| character).collect()
}

/// Text with the words of links in place of links.
fn without_links(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, after)) = link.split_once("](") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        shown += before;
        shown += words;
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\nText with `code`, **bold words**, a *slanted* one and a \
                        [`link`](crate::Thing) to\nfollow, 3 * 4.\n\n## `name`\n\n- `first` of all:\n  one\n- \
                        second, see `a b`\n\n1. count\n\n> a + b·L\n\n```sh\nlengthwise plan x.csv --budget \
                        padded:20000 --seed 3\n```\n\n```python\nplan = lw.plan(lengths, budget=16)\n```\n\n| word | \
                        meaning |\n|---|---|\n| cells | what `it` computes |\n";

    #[test]
    fn nothing_of_markdown_is_left() {
        let expected = expect_test::expect![[r#"
            Title

              Text with 'code', bold words, a slanted
              one and a 'link' to follow, 3 * 4.

            name

              - first of all: one
              - second, see 'a b'

              1. count

                  a + b·L

                lengthwise plan x.csv \
                  --budget padded:20000 --seed 3

                plan = lw.plan(lengths, budget=16)

              word   meaning
              cells  what 'it' computes
        "#]];
        expected.assert_eq(&rendered(PAGE, Screen { width: 42, coloured: false }));
    }

    #[test]
    fn colour_stands_for_quotes() {
        let strip = |text: String| {
            [BOLD, CODE, HEADING, END].iter().fold(text, |text, code| text.replace(code, ""))
        };
        let coloured = rendered(PAGE, Screen { width: 200, coloured: true });
        assert!(coloured.contains(&format!("{CODE}code{END}")), "{coloured}");
        assert!(coloured.contains(&format!("{BOLD}bold{END} {BOLD}words{END}")), "{coloured}");
        let plain = rendered(PAGE, Screen { width: 200, coloured: false });
        assert_eq!(strip(coloured), plain.replace('\'', ""));
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for width in [30, 40, 60, 80, 200] {
            let text = rendered(PAGE, Screen { width, coloured: true });
            assert!(text.lines().all(|line| visible_width(line) <= width), "{width}: {text}");
        }
    }
}
