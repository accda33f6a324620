//! Comparisons as people read them: a table of differences, and what must be known about them.

use std::fmt::Write as _;

use super::{
    compare::{Compared, Comparison, Difference, Measure, Untested},
    records::Training,
    row::Row,
    table::{decimals_of_loss, marked_down, two_lines},
};
use lengthwise_report::parts::{
    table::{TextColumn, TextTable},
    text::{fixed, one_line},
};

/// How it is decided what may be chance, for who reads it for the first time.
pub(super) const CORRECTION: &str = "“May be chance” follows one rule everywhere: runs of the same seed are compared \
     with each other (paired t-tests), and all comparisons on one measure share a limit of 5 % (Holm’s correction). \
     If no run differed at all, the probability that even one of them were called different is at most 5 %.";
/// The same on a line.
const CORRECTION_IN_SHORT: &str =
    "~ may be chance: paired t-tests, 5 % for all comparisons of a column together (Holm)";

/// A row for each comparison, and a column for each measure.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences {
    /// What most rows are compared with.
    pub(super) first: String,
    /// The names of the rows, from one to the other.
    pub(super) names: Vec<(String, String)>,
    pub(super) columns: Vec<DifferenceColumn>,
    /// What could be seen.
    pub(super) seen: Option<String>,
    /// What cannot be said, and why.
    pub(super) untested: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct DifferenceColumn {
    short: [String; 2],
    pub(super) heading: String,
    pub(super) meaning: String,
    pub(super) cells: Vec<Option<Shown>>,
}

/// A difference in numbers and words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) number: f64,
    pub(super) value: String,
    /// `± 0.4`, or of a ratio `0.98 to 1.02`.
    pub(super) interval: String,
    pub(super) p: String,
    pub(super) beyond_chance: bool,
    /// From which difference on these seeds would see it, if that is known.
    pub(super) smallest: Option<String>,
}

impl Training {
    /// All comparisons; `None` if there are no two rows with anything to compare.
    pub(super) fn differences(&self, rows: &[Row<'_>]) -> Option<Differences> {
        let compared = self.compared(rows);
        let any = compared.first()?;
        let first = one_line(rows.first()?.name);
        let untested = self.untested(&compared);
        let tested = |one: &&Compared<'_>| one.tests > 0;
        let columns: Vec<_> = compared.iter().filter(tested).map(|one| self.column(one)).collect();
        if columns.is_empty() {
            return Some(Differences { first, untested, ..Differences::default() });
        }
        let name = |one: &Comparison<'_>| (one.from.to_owned(), one.to.to_owned());
        let seen = compared.iter().filter_map(|one| {
            Some(format!("{} {}", self.name_of(one.measure), smallest(one, |_| true)?))
        });
        let seen = seen.collect::<Vec<_>>().join(", ");
        Some(Differences {
            first,
            names: any.comparisons.iter().map(name).collect(),
            columns,
            seen: (!seen.is_empty()).then(|| {
                format!(
                    "The smallest differences that these seeds find with a probability of 80 %: {seen}."
                )
            }),
            untested,
        })
    }

    fn column(&self, compared: &Compared<'_>) -> DifferenceColumn {
        let measure = compared.measure;
        let heading = match measure {
            Measure::Seconds => "time of an epoch, ratio".to_owned(),
            _ if measure.is_share() => format!("{}, points", self.name_of(measure)),
            _ => self.name_of(measure),
        };
        let cell = |one: &Comparison<'_>| one.found.ok().map(|found| shown(measure, &found));
        DifferenceColumn {
            short: two_lines(&heading),
            meaning: match measure {
                Measure::Seconds => {
                    "the geometric mean of the ratios of seconds, seed by seed".to_owned()
                }
                _ if measure.is_share() => {
                    "the mean difference, seed by seed, in percentage points".to_owned()
                }
                _ => "the mean difference, seed by seed".to_owned(),
            },
            heading,
            cells: compared.comparisons.iter().map(cell).collect(),
        }
    }

    /// What two rows that were not tested lack, once for each reason.
    fn untested(&self, compared: &[Compared<'_>]) -> Vec<String> {
        let one_seed = self.runs.iter().all(|run| run.seed == self.runs[0].seed);
        let mut told = Vec::new();
        let all =
            compared.iter().flat_map(|all| all.comparisons.iter().map(|one| (all.measure, one)));
        for (measure, one) in all {
            let (from, to) = (one_line(one.from), one_line(one.to));
            let why = match one.found {
                Err(Untested::Seeds(_)) if one_seed => {
                    "One seed cannot show whether differences are chance: train with more, such as `--seeds 1,2,3`."
                        .to_owned()
                }
                Err(Untested::Seeds(0)) => {
                    format!("{from} and {to} have no seed in common, so they are not compared.")
                }
                Err(Untested::Seeds(_)) => {
                    format!("{from} and {to} have one seed in common, which cannot show whether a difference is chance.")
                }
                Err(Untested::NoSpread) => {
                    format!(
                        "The {} of {to} differs from that of {from} by the same amount with every seed. Without spread \
                         there is no test and no star: train with more seeds.",
                        self.name_of(measure)
                    )
                }
                Ok(_) | Err(Untested::Diverged | Untested::NoNumbers) => continue,
            };
            if !told.contains(&why) {
                told.push(why);
            }
        }
        told
    }

    /// What is measured, in a sentence.
    pub(super) fn name_of(&self, measure: Measure<'_>) -> String {
        match measure {
            Measure::Seconds => "time of an epoch".to_owned(),
            Measure::Loss => "validation loss".to_owned(),
            Measure::LossAtEqualTime(_) => "validation loss at equal time".to_owned(),
            Measure::Error => one_line(&self.error),
            Measure::More(name) => one_line(name),
        }
    }
}

/// A difference in the units that it is read in.
pub(super) fn shown(measure: Measure<'_>, found: &Difference) -> Shown {
    let (value, interval) = if measure.is_ratio() {
        let show = |ratio: f64| fixed(ratio, 3);
        (show(found.value), format!("{} to {}", show(found.low), show(found.high)))
    } else {
        let times = if measure.is_share() { 100.0 } else { 1.0 };
        let decimals = if measure.is_share() { 2 } else { decimals_of_loss(found.before) };
        let half = fixed(0.5 * times * (found.high - found.low), decimals);
        (signed(times * found.value, decimals), format!("± {half}"))
    };
    Shown {
        number: found.value,
        value,
        interval,
        p: probability(found.corrected),
        beyond_chance: found.beyond_chance(),
        smallest: (found.smallest > 0.0).then(|| effect(measure, found.smallest)),
    }
}

/// From which effect on it could be seen: of such comparisons on a measure, the least and the most.
pub(super) fn smallest(
    compared: &Compared<'_>,
    which: impl Fn(&Comparison<'_>) -> bool,
) -> Option<String> {
    let (least, most) = compared.smallest(which)?;
    let measure = compared.measure;
    let (low, high) = (effect(measure, least), effect(measure, most));
    Some(if low == high {
        high
    } else {
        // The unit once.
        format!("{} to {high}", low.split('\u{a0}').next().unwrap_or_default())
    })
}

/// An effect with two digits and its unit. With few seeds it can be thousands of percent: above 100, its size says nothing.
fn effect(measure: Measure<'_>, effect: f64) -> String {
    let percent = || if effect > 1.0 { "over 100".to_owned() } else { two_digits(100.0 * effect) };
    if measure.is_ratio() {
        format!("{}\u{a0}%", percent())
    } else if measure.is_share() {
        format!("{}\u{a0}points", percent())
    } else {
        two_digits(effect)
    }
}

fn two_digits(value: f64) -> String {
    let first = if value > 0.0 { value.log10().floor().clamp(-9.0, 9.0) as i32 } else { 0 };
    fixed(value, (1 - first).clamp(0, 9) as usize)
}

/// With its sign, and a minus that is as wide as a plus.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value.abs(), decimals);
    let nothing = !text.contains(|digit: char| ('1'..='9').contains(&digit));
    match value {
        _ if nothing => text,
        ..0.0 => format!("\u{2212}{text}"),
        _ => format!("+{text}"),
    }
}

fn probability(p: f64) -> String {
    match p {
        ..0.001 => "p < 0.001".to_owned(),
        ..0.0995 => format!("p = {p:.3}"),
        _ => format!("p = {p:.2}"),
    }
}

impl Differences {
    /// The names of both rows, where the first is not the one that most are compared with.
    pub(super) fn name(&self, (from, to): &(String, String)) -> String {
        let (from, to) = (one_line(from), one_line(to));
        if from == self.first { to } else { format!("{from} → {to}") }
    }

    /// The table of text; `None` if nothing was tested.
    pub(super) fn text_table(&self) -> Option<TextTable> {
        let column = |(place, column): (usize, &DifferenceColumn)| TextColumn {
            // The time, the loss and the error first.
            dispensable: place.saturating_sub(2).min(9) as u8,
            heading: [column.short[0].clone() + "  ", column.short[1].clone() + "  "],
            cells: column
                .cells
                .iter()
                .map(|cell| cell.as_ref().map_or("-  ".to_owned(), Shown::line))
                .collect(),
            starred: vec![false; column.cells.len()],
        };
        (!self.columns.is_empty()).then(|| TextTable {
            corner: "strategy",
            names: self.names.iter().map(|name| self.name(name)).collect(),
            columns: self.columns.iter().enumerate().map(column).collect(),
            star: "",
        })
    }

    /// The table in Markdown, and below it what must be known about it.
    pub(super) fn markdown(&self, text: &mut String) {
        if !self.columns.is_empty() {
            _ = write!(text, "\n| compared with {} |", marked_down(&self.first));
            text.extend(self.columns.iter().map(|of| format!(" {} |", marked_down(&of.heading))));
            _ = writeln!(text, "\n|---|{}", "---:|".repeat(self.columns.len()));
            for (number, name) in self.names.iter().enumerate() {
                _ = write!(text, "| {} |", marked_down(&self.name(name)));
                for column in &self.columns {
                    let cell = column.cells[number].as_ref().map_or("-".to_owned(), Shown::line);
                    _ = write!(text, " {} |", cell.trim_end().replace('~', "\\~"));
                }
                text.push('\n');
            }
        }
        let notes: Vec<String> = self.legend().into_iter().chain(self.untested.clone()).collect();
        if !notes.is_empty() {
            text.push('\n');
            text.extend(notes.iter().map(|note| format!("- {}\n", marked_down(note))));
        }
    }

    /// What must be known about the table.
    pub(super) fn legend(&self) -> Vec<String> {
        let any_chance = self.columns.iter().flat_map(|column| &column.cells).flatten();
        let any_chance = any_chance.into_iter().any(|cell| !cell.beyond_chance);
        any_chance
            .then(|| CORRECTION_IN_SHORT.to_owned())
            .into_iter()
            .chain(self.seen.clone())
            .collect()
    }
}

impl Shown {
    /// The number and its interval.
    pub(super) fn with_interval(&self) -> String {
        if self.interval.starts_with('±') {
            format!("{} {}", self.value, self.interval)
        } else {
            format!("{} ({})", self.value, self.interval)
        }
    }

    /// On a line, with a mark if it may be chance.
    fn line(&self) -> String {
        let mark = if self.beyond_chance { ' ' } else { '~' };
        format!("{} {mark}", self.with_interval())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_has_two_digits_and_ends_at_the_whole() {
        let of = |measure| [0.0123, 0.97, 1.7].map(|share| effect(measure, share));
        assert_eq!(of(Measure::Seconds), ["1.2\u{a0}%", "97\u{a0}%", "over 100\u{a0}%"]);
        assert_eq!(
            of(Measure::Error),
            ["1.2\u{a0}points", "97\u{a0}points", "over 100\u{a0}points"]
        );
        assert_eq!(of(Measure::Loss), ["0.012", "0.97", "1.7"]);
    }
}
