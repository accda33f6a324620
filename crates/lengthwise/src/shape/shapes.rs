//! Which batch lengths may occur.

use std::{fmt, str::FromStr};

use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::shape::ladder::ladder;
use crate::shape::rounding::{Grid, PairRounding, Rounding, Staircase};

/// Which batch lengths may occur: every batch is padded to the nearest allowed one at or above its
/// longest sequence.
///
/// ```
/// use lengthwise::Shapes;
///
/// assert_eq!("ladder:16".parse(), Ok(Shapes::Ladder(16)));
/// assert_eq!(Shapes::Rungs(vec![100, 200]).to_string(), "ladder:100/200");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shapes {
    /// The longest sequence of the batch decides.
    #[default]
    Exact,
    /// Rounded up to a multiple of this.
    Multiple(u32),
    /// This many lengths, chosen so that padding every sequence to the next one takes the fewest cells
    /// (see [`ladder`](crate::ladder())), or others if the batches of the budget then cost at least 1 %
    /// less.
    Ladder(u32),
    /// These lengths.
    Rungs(Vec<u32>),
    /// The first shapes for the first of two lengths, the second for the second. Any other value
    /// applies to both, except that for two lengths `Ladder` is the number of pairs of batch lengths.
    Each(Box<Shapes>, Box<Shapes>),
}

impl Shapes {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["exact", "multiple", "ladder"];

    /// The manual page of shapes, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("shapes.md")
    }

    /// The shapes of the first and of the second length.
    pub(crate) fn sides(&self) -> [&Shapes; 2] {
        match self {
            Shapes::Each(first, second) => [first, second],
            both => [both, both],
        }
    }

    /// The rule for these pairs of lengths.
    pub(crate) fn pair_rounding(
        &self,
        first: &Lengths,
        second: &Lengths,
    ) -> Result<PairRounding, Error> {
        if let Shapes::Ladder(shapes @ 1..) = self {
            return Ok(PairRounding::Grid(Grid::best(first, second, *shapes)));
        }
        let [of_first, of_second] = self.sides();
        Ok(match (of_first.rounding(first)?, of_second.rounding(second)?) {
            (Rounding::Rungs(first), Rounding::Rungs(second)) => {
                PairRounding::Grid(Grid::product(first, &second))
            }
            (first, second) => PairRounding::Sides(first, second),
        })
    }

    /// The longest length that still fits a batch of `limit` cells alone.
    pub(crate) fn longest_within(&self, limit: u32) -> u32 {
        match self {
            Shapes::Exact | Shapes::Ladder(_) => limit,
            Shapes::Each(first, _) => first.longest_within(limit),
            Shapes::Multiple(multiple) => limit - limit % (*multiple).max(1),
            Shapes::Rungs(rungs) => {
                rungs.iter().copied().filter(|&rung| rung <= limit).max().unwrap_or(0)
            }
        }
    }

    /// What an over-long sequence is padded to in a batch of its own, on no rung of a ladder that was chosen
    /// for the others; messages have it, so it is wider than a length.
    pub(crate) fn alone(&self, length: u32) -> u64 {
        match self {
            Shapes::Multiple(multiple) => {
                u64::from(length).next_multiple_of((*multiple).max(1).into())
            }
            Shapes::Rungs(rungs) => {
                rungs.iter().copied().find(|&rung| rung >= length).unwrap_or(length).into()
            }
            Shapes::Each(first, _) => first.alone(length),
            Shapes::Exact | Shapes::Ladder(_) => length.into(),
        }
    }

    /// Refuses a multiple of nothing, and a ladder without rungs.
    fn check_count(&self) -> Result<(), Error> {
        match self {
            Shapes::Multiple(0) => Err(bad("multiple", "0", WHOLE)),
            Shapes::Ladder(0) => Err(bad("ladder", "0", "a number of rungs from 1 to 4294967295")),
            _ => Ok(()),
        }
    }

    /// The rule for these lengths. A ladder is the one that pads least, whatever the budget.
    pub(crate) fn rounding(&self, lengths: &Lengths) -> Result<Rounding, Error> {
        self.check_count()?;
        match self {
            Shapes::Each(..) => Err(Error::NoSecond { what: format!("shapes `{self}`") }),
            Shapes::Exact => Ok(Rounding::Exact),
            &Shapes::Multiple(multiple) => match lengths.longest() {
                longest if longest.checked_next_multiple_of(multiple).is_some() => {
                    Ok(Rounding::Multiple(multiple))
                }
                length => Err(Error::LengthOverflow { length, multiple }),
            },
            Shapes::Ladder(rungs) => {
                Ok(Rounding::Rungs(Staircase::new(ladder(lengths, *rungs), lengths)))
            }
            Shapes::Rungs(rungs) => {
                check_rungs(rungs, &rungs_text(rungs))?;
                let (top, longest) = (rungs[rungs.len() - 1], lengths.longest());
                if let Some(index) = lengths.as_slice().iter().position(|&length| length > top) {
                    let length = lengths.as_slice()[index];
                    return Err(Error::LadderTooShort { top, index, length });
                }
                if longest > top {
                    let what = format!("the top rung is {top}");
                    return Err(Error::OverLongElsewhere { longest, what });
                }
                Ok(Rounding::Rungs(Staircase::new(rungs.clone(), lengths)))
            }
        }
    }
}

impl FromStr for Shapes {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        if let Some((first, second)) = given.split_once('+') {
            // Looked at first: to parse every further part, each in the one before, could take all of the stack.
            if second.contains('+') {
                let expected = "one for each of two lengths, as in `exact+multiple:8`";
                return Err(bad("+", given, expected));
            }
            let (first, second): (Self, Self) = (first.parse()?, second.parse()?);
            return Ok(Shapes::Each(first.into(), second.into()));
        }
        let mut setting = Setting::parse("shapes", &Self::NAMES, given)?;
        let shapes = match setting.name {
            "multiple" => Shapes::Multiple(setting.required_number(WHOLE)?),
            "ladder" => {
                let expected = "a number of rungs as in `ladder:16`, or rising rungs as in \
                                `ladder:100/200/400`";
                let text = setting.value.take().unwrap_or_default();
                let bad = |_| bad("ladder", text, expected);
                if text.contains('/') {
                    let rungs = text.strip_suffix('/').unwrap_or(text).split('/');
                    let rungs = rungs.map(|rung| rung.trim().parse()).collect::<Result<_, _>>();
                    let rungs: Vec<u32> = rungs.map_err(bad)?;
                    check_rungs(&rungs, text)?;
                    Shapes::Rungs(rungs)
                } else {
                    Shapes::Ladder(text.parse().map_err(bad)?)
                }
            }
            _ => Shapes::Exact,
        };
        setting.finish()?;
        shapes.check_count()?;
        Ok(shapes)
    }
}

impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shapes::Exact => write!(f, "exact"),
            Shapes::Each(first, second) => write!(f, "{first}+{second}"),
            Shapes::Multiple(multiple) => write!(f, "multiple:{multiple}"),
            Shapes::Ladder(rungs) => write!(f, "ladder:{rungs}"),
            Shapes::Rungs(rungs) => write!(f, "ladder:{}", rungs_text(rungs)),
        }
    }
}

const WHOLE: &str = "a whole number from 1 to 4294967295";

fn rungs_text(rungs: &[u32]) -> String {
    let text = rungs.iter().map(u32::to_string).collect::<Vec<_>>().join("/");
    // A single number would be a number of rungs.
    if rungs.len() == 1 { text + "/" } else { text }
}

fn check_rungs(rungs: &[u32], given: &str) -> Result<(), Error> {
    if rungs.is_empty() || rungs[0] == 0 || !rungs.is_sorted_by(|a, b| a < b) {
        return Err(bad("ladder", given, "rungs that rise from at least 1"));
    }
    Ok(())
}

fn bad(name: &str, given: &str, expected: &str) -> Error {
    Error::bad_value(format!("shapes `{name}`"), given, expected)
}
