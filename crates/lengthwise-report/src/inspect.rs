//! What a set of lengths is like, and what it will do to batches.

use std::fmt::Write as _;

use lengthwise::{
    Budget, Error, Lengths, Planner,
    strategy::{Shuffled, Sorted},
    tune::{Wanted, recommend},
};
use serde::Serialize;

use crate::advice::Recommended;
use crate::histogram::{Bin, bins, length_at};
use crate::text::{command_lines, one_line, plural, wrapped};

/// What a set of lengths is like.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    version: u32,
    /// What the lengths are.
    pub source: String,
    sequences: usize,
    /// The sum of all lengths.
    total: u64,
    mean: f64,
    sd: f64,
    /// How many different lengths there are.
    distinct: usize,
    quantiles: Vec<Quantile>,
    outliers: Outliers,
    /// How often ids occur more than once, if there are ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_ids: Option<Duplicates>,
    /// Under which budget padding was measured.
    budget: String,
    /// The share of padding in random batches.
    random_padding_rate: f64,
    /// The same for sorted batches.
    sorted_padding_rate: f64,
    /// What is recommended.
    recommended: Option<Recommended>,
    histogram: Vec<Bin>,
    /// What deserves a second look.
    pub warnings: Vec<String>,
}

/// A length, and the share of sequences that are not longer.
#[derive(Clone, Copy, Debug, Serialize)]
struct Quantile {
    share: f64,
    length: u32,
}

/// Sequences far longer than the others: by more than three times the distance of the quartiles
/// above the upper one.
#[derive(Clone, Debug, Serialize)]
struct Outliers {
    /// What they are longer than.
    above: u64,
    /// The quartiles that follows from.
    #[serde(skip)]
    quartiles: (u32, u32),
    count: u64,
    /// Their share of all positions.
    share_of_total: f64,
    /// The longest of them.
    longest: Vec<Outlier>,
}

#[derive(Clone, Debug, Serialize)]
struct Outlier {
    sequence: u32,
    length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// Ids that occur more than once.
#[derive(Clone, Debug, Serialize)]
pub struct Duplicates {
    /// How many sequences have an id that one before them has.
    pub count: u64,
    /// The first few such ids.
    pub first: Vec<String>,
}

/// At most so many outliers and ids are named.
const NAMED: usize = 5;
const ROWS: u32 = 16;

impl Inspection {
    /// Looks at lengths. `id` gives the id of a sequence, if there are ids; `duplicates` those that
    /// occur more than once.
    pub fn new(
        source: &str,
        lengths: &Lengths,
        wanted: &Wanted,
        typed: Option<&str>,
        id: impl Fn(u32) -> Option<String>,
        duplicate_ids: Option<Duplicates>,
    ) -> Result<Self, Error> {
        let budget = wanted.settings.budget;
        let (count, mean) = (lengths.len() as f64, lengths.mean());
        let square = |length: u32| (f64::from(length) - mean).powi(2);
        let histogram = lengths.histogram();
        let squares = histogram.iter().map(|&(length, count)| f64::from(count) * square(length));
        let quantile = |share: f64| length_at(lengths, ((share * count).ceil() as u64).max(1));
        let shares = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];
        let quantiles = shares.map(|share| Quantile { share, length: quantile(share) }).to_vec();
        let [random_padding_rate, sorted_padding_rate] = padding(lengths, budget)?;
        let outliers = Outliers::new(lengths, (quantile(0.25), quantile(0.75)), id);
        let recommended = Recommended::new(&recommend(lengths, wanted)?, typed, wanted.ranks);
        let mut inspection = Self {
            version: 1,
            source: source.to_owned(),
            sequences: lengths.len(),
            total: lengths.total(),
            mean,
            sd: (squares.sum::<f64>() / count).sqrt(),
            distinct: histogram.len(),
            quantiles,
            outliers,
            duplicate_ids,
            budget: budget.to_string(),
            random_padding_rate,
            sorted_padding_rate,
            recommended,
            histogram: bins(lengths, ROWS).0,
            warnings: Vec::new(),
        };
        inspection.warnings = inspection.warned(lengths);
        Ok(inspection)
    }

    fn warned(&self, lengths: &Lengths) -> Vec<String> {
        let (count, longest) = (lengths.len(), lengths.max());
        let all_alike = (lengths.min() == longest && count > 1).then(|| {
            format!("all lengths are {longest}: nothing is ever padded; is this the right column?")
        });
        let labels = (count > 100 && longest <= 3)
            .then(|| format!("no length is above {longest}; is this a column of labels?"));
        let is_far = |outlier: &&Outlier| f64::from(outlier.length) > 20.0 * self.mean;
        let far = self.outliers.longest.first().filter(is_far);
        let far = far.map(|&Outlier { sequence, length, .. }| {
            format!(
                "sequence {sequence} has length {length}, {:.0} times the mean: every batch it is in \
                 is padded to that",
                f64::from(length) / self.mean
            )
        });
        let twice = self.duplicate_ids.as_ref().filter(|found| found.count > 0);
        let twice = twice.map(|Duplicates { count, first }| {
            let first = first.join(", ");
            format!("{count} sequences have an id that one before them has: {first}")
        });
        [all_alike, labels, far, twice].into_iter().flatten().collect()
    }

    /// The inspection as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The inspection as text, in lines that are at most so wide. `plain` has no other characters
    /// than those of ASCII.
    pub fn to_text(&self, width: usize, plain: bool) -> String {
        let line = |line: &str| wrapped(line, width);
        let Self { sequences, total, distinct, .. } = self;
        let mut text = line(&format!(
            "{}: {sequences} sequence{}, {total} positions in all, {distinct} different length{}",
            one_line(&self.source),
            plural(*sequences),
            plural(*distinct)
        ));
        text += &line(&format!("mean {:.1}, standard deviation {:.1}", self.mean, self.sd));
        let said = |&Quantile { share, length }: &Quantile| match share {
            0.0 => format!("shortest\u{a0}{length}"),
            1.0 => format!("longest\u{a0}{length}"),
            0.5 => format!("median\u{a0}{length}"),
            share => format!("{}\u{a0}%:\u{a0}{length}", 100.0 * share),
        };
        let quantiles: Vec<String> = self.quantiles.iter().map(said).collect();
        text += &line(&quantiles.join(", "));
        _ = writeln!(text, "\n{}", self.bars(width, plain));
        text += &line(&format!(
            "under {} random batches spend {:.1} % of their cells on padding, sorted ones {:.2} %",
            self.budget,
            100.0 * self.random_padding_rate,
            100.0 * self.sorted_padding_rate
        ));
        if self.outliers.count > 0 {
            text += &line(&self.outliers.to_text());
        }
        if let Some(recommended) = &self.recommended {
            text.push('\n');
            text.extend(recommended.lines().iter().map(|said| line(said)));
            let commands = recommended.command.iter();
            text.extend(commands.map(|command| format!("\n{}", command_lines(command, width))));
        }
        for warning in &self.warnings {
            _ = write!(text, "\n{}", line(&format!("warning: {}", one_line(warning))));
        }
        text
    }

    fn bars(&self, width: usize, plain: bool) -> String {
        let most = self.histogram.iter().map(|row| row.count).max().unwrap_or(1).max(1);
        let labels: Vec<String> = self.histogram.iter().map(Bin::range).collect();
        let label = labels.iter().map(String::len).max().unwrap_or(0);
        let counts = most.to_string().len();
        let room = width.min(100).saturating_sub(label + counts + 4).max(10);
        let mut text = String::new();
        for (row, name) in self.histogram.iter().zip(&labels) {
            // In eighths of a character.
            let eighths = (row.count as f64 / most as f64 * room as f64 * 8.0).round() as usize;
            let bar = if plain {
                "#".repeat(eighths.div_ceil(8))
            } else {
                let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
                "█".repeat(eighths / 8) + part
            };
            let line = format!("{name:>label$}  {:>counts$}  {bar}", row.count);
            _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// The padding rates of random and of sorted batches. What no plan can hold is refused, as plans refuse it.
fn padding(lengths: &Lengths, budget: Budget) -> Result<[f64; 2], Error> {
    let random = Planner::new(Shuffled, budget).plan(lengths, 0)?;
    let sorted = Planner::new(Sorted, budget).plan(lengths, 0)?;
    Ok([random, sorted].map(|plan| plan.measure(lengths).padding_rate))
}

impl Outliers {
    fn new(
        lengths: &Lengths,
        (lower, upper): (u32, u32),
        id: impl Fn(u32) -> Option<String>,
    ) -> Self {
        let above = u64::from(upper) + 3 * u64::from(upper - lower);
        let far = lengths.histogram().iter().filter(|&&(length, _)| u64::from(length) > above);
        let count = far.clone().map(|&(_, count)| u64::from(count)).sum();
        let total: u64 = far.map(|&(length, count)| u64::from(length) * u64::from(count)).sum();
        let all = (0..).zip(lengths.as_slice().iter().copied());
        let mut longest: Vec<(u32, u32)> =
            all.filter(|&(_, length)| u64::from(length) > above).collect();
        longest.sort_by_key(|&(sequence, length)| (std::cmp::Reverse(length), sequence));
        longest.truncate(NAMED);
        let outlier = |(sequence, length)| Outlier { sequence, length, id: id(sequence) };
        let longest = longest.into_iter().map(outlier).collect();
        let share_of_total = total as f64 / lengths.total() as f64;
        Self { above, quartiles: (lower, upper), count, share_of_total, longest }
    }

    fn to_text(&self) -> String {
        let named = |Outlier { sequence, length, id }: &Outlier| match id {
            Some(id) => format!("{length} ({}, {sequence})", one_line(id)),
            None => format!("{length} ({sequence})"),
        };
        let longest: Vec<String> = self.longest.iter().map(named).collect();
        let (lower, upper) = self.quartiles;
        format!(
            "{} sequence{} longer than {} (the upper quartile {upper} and three times its distance {} \
             from the lower one), with {:.1} % of all positions; the longest: {}",
            self.count,
            if self.count == 1 { " is" } else { "s are" },
            self.above,
            upper - lower,
            100.0 * self.share_of_total,
            longest.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_terminal() -> Result<(), Error> {
        let lengths: Vec<u32> = (0..200).map(|i| 10 + i * 7 % 40).chain([5000]).collect();
        let lengths = Lengths::new(lengths)?;
        let id = |sequence: u32| Some(format!("{sequence}\u{202e}"));
        let wanted = Wanted::new(Budget::sequences(8));
        let found = Inspection::new("a.csv", &lengths, &wanted, None, id, None)?;
        for width in [50, 60, 80] {
            let text = found.to_text(width, true);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.is_ascii() && text.contains("200\\u{202e}"), "{text}");
        }
        Ok(())
    }
}
