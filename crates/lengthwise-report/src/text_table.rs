//! A table of text: names on the left, columns beside them, as many as there is room for.

use std::{fmt::Write as _, ptr};

use crate::text::{visible_width, wrapped};

/// How a table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// For pipes and files: aligned columns, nothing else.
    Plain,
    /// For a terminal without colour: the best value of a column has a star.
    Starred,
    /// For a terminal: the best value of a column has a star and stands out.
    Coloured,
}

/// A table of text.
#[derive(Clone, Debug)]
pub struct TextTable {
    /// What the names are.
    pub corner: &'static str,
    /// The name of every row.
    pub names: Vec<String>,
    /// Its columns, in order.
    pub columns: Vec<TextColumn>,
    /// What a star says.
    pub star: &'static str,
}

/// A column of a table of text.
#[derive(Clone, Debug)]
pub struct TextColumn {
    /// Columns of the highest number go first where there is no room for all; 0 stays.
    pub dispensable: u8,
    /// Two lines of heading: what it is, and its unit.
    pub heading: [String; 2],
    /// The cell of every row.
    pub cells: Vec<String>,
    /// Which cells stand out.
    pub starred: Vec<bool>,
}

impl TextColumn {
    /// A column in which no cell stands out.
    pub fn plain(dispensable: u8, heading: [&str; 2], cells: Vec<String>) -> Self {
        let starred = vec![false; cells.len()];
        Self { dispensable, heading: heading.map(str::to_owned), cells, starred }
    }
}

impl TextTable {
    /// The table, at most `width` characters wide. In a narrow one columns are left out; if the rest
    /// does not fit either, names stand on lines of their own, and then more columns go.
    pub fn text(&self, look: Look, width: usize) -> String {
        let mut columns: Vec<&TextColumn> = self.columns.iter().collect();
        let (mut stacked, mut lines) = (false, self.lines(&columns, look, false));
        while lines.iter().any(|line| visible_width(line) > width) {
            let most = columns.iter().map(|column| column.dispensable).max().unwrap_or(0);
            if most > 0 {
                columns.remove(
                    columns.iter().rposition(|column| column.dispensable == most).unwrap_or(0),
                );
            } else if !stacked {
                stacked = true;
            } else if columns.len() > 2 {
                columns.pop();
            } else {
                break;
            }
            lines = self.lines(&columns, look, stacked);
        }
        let mut table = String::new();
        for (number, line) in lines.iter().enumerate() {
            let line = line.trim_end();
            match look {
                Look::Coloured if number < 2 => _ = writeln!(table, "\x1b[1m{line}\x1b[0m"),
                _ => _ = writeln!(table, "{line}"),
            }
        }
        let stars =
            look != Look::Plain && columns.iter().any(|column| column.starred.contains(&true));
        let shown = |column: &&TextColumn| columns.iter().any(|shown| ptr::eq(*shown, *column));
        let left_out = self.columns.iter().filter(|column| !shown(column));
        let names: Vec<_> = left_out.map(|column| column.heading.join(" ")).collect();
        if stars || !names.is_empty() {
            table.push('\n');
        }
        if stars {
            table += &wrapped(&format!("* {}", self.star), width);
        }
        if !names.is_empty() {
            let names = names.iter().map(|name| name.trim()).collect::<Vec<_>>().join(", ");
            let line = format!("not shown: {names}; a wider terminal or JSON has them");
            table += &wrapped(&line, width);
        }
        table
    }

    /// The lines of the table with these columns: two of headings, then one for each row, or two if names
    /// are stacked upon their rows.
    fn lines(&self, columns: &[&TextColumn], look: Look, stacked: bool) -> Vec<String> {
        let names = ["", self.corner].into_iter().chain(self.names.iter().map(String::as_str));
        let width = names.clone().map(|name| name.chars().count()).chain([8]).max().unwrap_or(8);
        let mut lines: Vec<String> = if stacked {
            vec![String::new(); 2 + self.names.len()]
        } else {
            names.map(|name| format!("{name:width$}")).collect()
        };
        for column in columns {
            add(&mut lines, column, look);
        }
        if stacked {
            let rows = lines.split_off(2);
            let both = self.names.iter().zip(rows);
            lines.extend(both.flat_map(|(name, row)| [name.clone(), row]));
        }
        lines
    }
}

/// Adds one column on the right of all lines.
fn add(lines: &mut [String], column: &TextColumn, look: Look) {
    let cells = column.heading.iter().chain(&column.cells);
    let width = cells.clone().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let starred = [false; 2].iter().chain(&column.starred);
    for ((line, cell), starred) in lines.iter_mut().zip(cells).zip(starred) {
        let text = match (starred, look) {
            (true, Look::Coloured) => format!("\x1b[1;32m{cell:>width$}*\x1b[0m"),
            (true, Look::Starred) => format!("{cell:>width$}*"),
            (_, Look::Plain) => format!("{cell:>width$}"),
            (false, _) => format!("{cell:>width$} "),
        };
        _ = write!(line, "  {text}");
    }
}

/// Which cells show what the best one shows; none, if most do: what most have is no distinction.
pub fn stars_of_best(best: Option<&String>, cells: &[String]) -> Vec<bool> {
    distinct(cells.iter().map(|cell| Some(cell) == best).collect())
}

/// These stars, unless most have one.
pub fn distinct(starred: Vec<bool>) -> Vec<bool> {
    let few = 2 * starred.iter().filter(|star| **star).count() <= starred.len();
    starred.into_iter().map(|star| star && few).collect()
}
