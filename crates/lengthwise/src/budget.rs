//! The hard limit that every batch keeps.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{Error, Lengths, settings::Setting};

/// The limit that every batch keeps.
///
/// ```
/// use lengthwise::Budget;
///
/// let budget = Budget::padded(12_928).at_most(64).multiple_of(8);
/// assert_eq!(budget.to_string(), "padded:12928,at-most=64,multiple-of=8");
/// assert_eq!("dynamic:16".parse(), Ok(Budget::dynamic(16)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    limit: Limit,
    at_most: Option<u32>,
    multiple_of: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Sequences(u32),
    Padded(u64),
    Dynamic(u32, Rule),
}

/// When a batch of a dynamic budget is full (paper 2, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The rule as printed: the next sequence would exceed the capacity. It is never exceeded.
    #[default]
    Printed,
    /// The batch has just exceeded the capacity: one sequence more than the printed rule. The batch
    /// counts that the paper reports follow from this one.
    Over,
}

impl Budget {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["sequences", "padded", "dynamic"];

    /// At most `count` sequences.
    pub const fn sequences(count: u32) -> Self {
        Self::new(Limit::Sequences(count))
    }

    /// At most `cells` cells, padding included.
    pub const fn padded(cells: u64) -> Self {
        Self::new(Limit::Padded(cells))
    }

    /// At most as many cells as `count` sequences of the longest length: paper 2's dynamic batch
    /// sizes.
    pub const fn dynamic(count: u32) -> Self {
        Self::new(Limit::Dynamic(count, Rule::Printed))
    }

    const fn new(limit: Limit) -> Self {
        Self { limit, at_most: None, multiple_of: 1 }
    }

    /// With the given rule in place of the printed one, if this is a dynamic budget.
    #[must_use]
    pub const fn rule(mut self, rule: Rule) -> Self {
        if let Limit::Dynamic(count, _) = self.limit {
            self.limit = Limit::Dynamic(count, rule);
        }
        self
    }

    /// Also at most this many sequences.
    #[must_use]
    pub const fn at_most(mut self, sequences: u32) -> Self {
        self.at_most = Some(sequences);
        self
    }

    /// Batches of at least this many sequences are cut to a multiple of it; smaller ones, and what
    /// is left at the end of a group, stay as they are.
    #[must_use]
    pub const fn multiple_of(mut self, sequences: u32) -> Self {
        self.multiple_of = sequences;
        self
    }

    /// The manual page of budgets, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("budget.md")
    }

    /// The most cells that one sequence may take, where that does not depend on the lengths.
    pub(crate) fn limit_of_one(&self) -> Option<u64> {
        match self.limit {
            Limit::Padded(cells) => Some(cells),
            Limit::Sequences(_) | Limit::Dynamic(..) => None,
        }
    }

    /// The budget made definite for sequences that are padded to `padded` when alone.
    pub(crate) fn resolve<'a>(
        &self,
        lengths: &Lengths,
        padded: Cow<'a, [u32]>,
    ) -> Result<Room<'a>, Error> {
        self.check()?;
        let longest = u64::from(padded.iter().copied().max().unwrap_or(lengths.max()));
        let (cells, at_most, rule) = match self.limit {
            Limit::Sequences(count) => (u64::MAX, count, Rule::Printed),
            Limit::Padded(cells) => (cells, u32::MAX, Rule::Printed),
            Limit::Dynamic(count, rule) => (u64::from(count) * longest, u32::MAX, rule),
        };
        let at_most = self.at_most.map_or(at_most, |more| more.min(at_most));
        Ok(Room { padded, cells, at_most, multiple_of: self.multiple_of, rule })
    }

    fn check(&self) -> Result<(), Error> {
        let zero = |of: String| {
            let expected = "a whole number from 1".to_owned();
            Err(Error::BadValue { of, given: "0".to_owned(), expected })
        };
        let name = self.name();
        match self.limit {
            Limit::Sequences(0) | Limit::Padded(0) | Limit::Dynamic(0, _) => {
                return zero(format!("budget `{name}`"));
            }
            _ => {}
        }
        if self.at_most == Some(0) {
            return zero(format!("`at-most` of budget `{name}`"));
        }
        if self.multiple_of == 0 {
            return zero(format!("`multiple-of` of budget `{name}`"));
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match self.limit {
            Limit::Sequences(_) => "sequences",
            Limit::Padded(_) => "padded",
            Limit::Dynamic(..) => "dynamic",
        }
    }
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        const COUNT: &str = "a whole number of sequences from 1 to 4294967295";
        // A plain number is a number of sequences.
        if given.trim().parse::<f64>().is_ok() {
            return format!("sequences:{given}").parse();
        }
        let mut setting = Setting::parse("budget", &Self::NAMES, given)?;
        let mut budget = match setting.name() {
            "sequences" => Self::sequences(setting.required_number(COUNT)?),
            "padded" => Self::padded(setting.required_number("a whole number of cells from 1")?),
            _ => Self::dynamic(setting.required_number(COUNT)?),
        };
        if let Limit::Dynamic(..) = budget.limit {
            let of = setting.of("rule");
            budget = match setting.text("rule") {
                None | Some("printed") => budget,
                Some("over") => budget.rule(Rule::Over),
                Some(other) => {
                    let expected = "`printed` or `over`".to_owned();
                    return Err(Error::BadValue { of, given: other.to_owned(), expected });
                }
            };
        }
        if !matches!(budget.limit, Limit::Sequences(_))
            && let Some(at_most) = setting.number("at-most", COUNT)?
        {
            budget = budget.at_most(at_most);
        }
        if let Some(multiple_of) = setting.number("multiple-of", COUNT)? {
            budget = budget.multiple_of(multiple_of);
        }
        setting.finish()?;
        budget.check()?;
        Ok(budget)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Limit::Sequences(count) => write!(f, "sequences:{count}")?,
            Limit::Padded(cells) => write!(f, "padded:{cells}")?,
            Limit::Dynamic(count, Rule::Printed) => write!(f, "dynamic:{count}")?,
            Limit::Dynamic(count, Rule::Over) => write!(f, "dynamic:{count},rule=over")?,
        }
        if let Some(at_most) = self.at_most {
            write!(f, ",at-most={at_most}")?;
        }
        if self.multiple_of != 1 {
            write!(f, ",multiple-of={}", self.multiple_of)?;
        }
        Ok(())
    }
}

/// A [`Budget`] made definite for given lengths and shapes: how much room a batch has.
///
/// A strategy that only orders sequences need not look at it. One that grows batches itself asks
/// [`admit`](Room::admit) before it adds a sequence, and [`keep`](Room::keep) when a batch is full.
#[derive(Clone, Debug)]
pub struct Room<'a> {
    padded: Cow<'a, [u32]>,
    cells: u64,
    at_most: u32,
    multiple_of: u32,
    rule: Rule,
}

/// A batch that is being filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// How many sequences it has.
    pub size: u32,
    /// What they are padded to.
    pub length: u32,
}

impl Room<'_> {
    /// The batch after `sequence` has joined it, or `None` if it is full. An empty batch takes any
    /// sequence.
    pub fn admit(&self, open: Open, sequence: u32) -> Option<Open> {
        let grown =
            Open { size: open.size + 1, length: open.length.max(self.padded[sequence as usize]) };
        let decisive = match self.rule {
            Rule::Printed => grown,
            Rule::Over => open,
        };
        let fits = open.size < self.at_most
            && u64::from(decisive.size) * u64::from(decisive.length) <= self.cells;
        (fits || open.size == 0).then_some(grown)
    }

    /// How many sequences of a batch that is full at `size` stay in it, so that its size is the
    /// multiple that the budget asks for. Never zero.
    pub fn keep(&self, size: u32) -> u32 {
        if size < self.multiple_of { size } else { size - size % self.multiple_of }
    }

    /// How many sequences a full batch of this batch length has.
    pub fn full(&self, batch_length: u32) -> u32 {
        let fitting = match self.rule {
            Rule::Printed => self.cells / u64::from(batch_length),
            Rule::Over => self.cells / u64::from(batch_length) + 1,
        };
        self.keep(fitting.min(u64::from(self.at_most)).max(1) as u32)
    }

    /// What a sequence is padded to when it is the longest of its batch.
    pub fn padded_length(&self, sequence: u32) -> u32 {
        self.padded[sequence as usize]
    }

    /// How many sequences with these lengths in all fill `batches` batches when nothing is padded:
    /// the largest prefix of `order` that does not exceed them.
    pub(crate) fn prefix_for(&self, order: &[u32], batches: u32) -> usize {
        let most_cells = self.cells.saturating_mul(u64::from(batches));
        let most = order.len().min((u64::from(self.at_most) * u64::from(batches)) as usize);
        let mut cells = 0_u64;
        order[..most]
            .iter()
            .position(|&sequence| {
                cells += u64::from(self.padded_length(sequence));
                cells > most_cells
            })
            .unwrap_or(most)
            .max(1)
    }
}
