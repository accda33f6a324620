//! The budget: the hard limit of a batch.

use std::{fmt, str::FromStr};

use crate::base::setting::Setting;
use crate::error::Error;
use crate::limit::capacity::{Capacity, Open, RowCost, Rule, Sides};
use crate::limit::cost::CostModel;
use crate::limit::resolved::ResolvedBudget;
use crate::math::short;

/// The hard limit of a batch.
///
/// ```
/// use lengthwise::Budget;
///
/// let budget = Budget::padded(12_928).at_most(64).multiple_of(8);
/// assert_eq!(budget.to_string(), "padded:12928,at-most=64,multiple-of=8");
/// assert_eq!("dynamic:16".parse(), Ok(Budget::dynamic(16)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    limit: Limit,
    at_most: Option<u32>,
    /// Batch sizes are a multiple of this where possible.
    pub(crate) multiple_of: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Sequences(u32),
    Padded(u64),
    Sides(Sides),
    Dynamic(u32, Rule),
    Cost(CostModel, f64),
}

const SECONDS: &str = "a number of seconds above 0";

impl Budget {
    /// The names, as in string forms.
    pub const NAMES: [&str; 4] = ["sequences", "padded", "dynamic", "cost"];

    /// At most `count` sequences.
    pub const fn sequences(count: u32) -> Self {
        Self::new(Limit::Sequences(count))
    }

    /// At most `cells` cells, padding included; with two lengths, the cells of both sides together.
    pub const fn padded(cells: u64) -> Self {
        Self::new(Limit::Padded(cells))
    }

    /// At most this many cells of each of two sides, padding included.
    pub const fn sides(sides: Sides) -> Self {
        match sides {
            // One limit has one form.
            Sides { sum: Some(cells), first: None, second: None, max: None } => Self::padded(cells),
            sides => Self::new(Limit::Sides(sides)),
        }
    }

    /// At most as many cells as `count` sequences of the longest length: paper 2's dynamic batch
    /// sizes.
    pub const fn dynamic(count: u32) -> Self {
        Self::new(Limit::Dynamic(count, Rule::Printed))
    }

    /// At most `seconds` seconds per batch, by a cost model.
    pub const fn cost(model: CostModel, seconds: f64) -> Self {
        Self::new(Limit::Cost(model, seconds))
    }

    const fn new(limit: Limit) -> Self {
        Self { limit, at_most: None, multiple_of: 1 }
    }

    /// Uses the given rule instead of the printed one, if this is a dynamic budget.
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
        match self.limit {
            // One limit of a kind is enough, and has a string form.
            Limit::Sequences(count) if count <= sequences => {}
            Limit::Sequences(_) => self.limit = Limit::Sequences(sequences),
            _ => self.at_most = Some(sequences),
        }
        self
    }

    /// Batches of at least this many sequences are cut to a multiple of it; smaller ones, and the
    /// short batch of a group, stay as they are.
    #[must_use]
    pub const fn multiple_of(mut self, sequences: u32) -> Self {
        self.multiple_of = sequences;
        self
    }

    /// The manual page of budgets, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("budget.md")
    }

    /// What a batch may hold, where a batch of the longest sequence is padded to `longest`.
    fn capacity(&self, longest: u64) -> Capacity {
        match self.limit {
            Limit::Sequences(_) => Capacity::Cells(u64::MAX),
            Limit::Padded(cells) => Capacity::Cells(cells),
            Limit::Sides(sides) => Capacity::Sides(sides),
            Limit::Dynamic(count, _) => Capacity::Cells(longest.saturating_mul(count.into())),
            Limit::Cost(model, limit) => Capacity::Seconds { model, limit },
        }
    }

    /// How many sequences a batch may have, if nothing else is limited.
    pub(crate) fn only_sequences(&self) -> Option<u32> {
        match self.limit {
            Limit::Sequences(count) => Some(count),
            _ => None,
        }
    }

    /// The most sequences of a batch.
    fn most(&self) -> u32 {
        match self.limit {
            Limit::Sequences(count) => count,
            _ => self.at_most.unwrap_or(u32::MAX),
        }
    }

    /// Whether a batch is within the budget, if a batch of the longest sequence is padded to `longest`,
    /// the shortest of this one has length `shortest`, and so many sequences came last.
    pub(crate) fn admits(&self, batch: Open, (shortest, last): (u32, u32), longest: u64) -> bool {
        let decisive = match self.limit {
            // It held before its last sequence came, which may have been its longest.
            Limit::Dynamic(_, Rule::Over) => {
                Open { size: batch.size.saturating_sub(last), length: shortest, second: 0 }
            }
            _ => batch,
        };
        self.capacity(longest).holds(decisive) && batch.size <= self.most()
    }

    /// The same for a row of this many sequences.
    pub(crate) fn admits_row(
        &self,
        sequences: impl ExactSizeIterator<Item = u32>,
        length: u32,
        longest: u64,
    ) -> bool {
        let count = sequences.len() as u32;
        let holds = match self.capacity(longest) {
            Capacity::Seconds { model, limit } => model.row_seconds(length, sequences) <= limit,
            capacity => capacity.holds(Open { size: 1, length, second: 0 }),
        };
        holds && count <= self.most()
    }

    /// What the sequences of a row that is not padded may cost together, if it is a budget of seconds.
    pub(crate) fn row_cost(&self, longest: u32) -> Option<RowCost> {
        self.capacity(longest.into()).row_cost(longest)
    }

    /// The cost model, if it is a budget of seconds.
    pub(crate) fn model(&self) -> Option<CostModel> {
        match self.limit {
            Limit::Cost(model, _) => Some(model),
            _ => None,
        }
    }

    /// Whether it means something only beside the longest length.
    pub(crate) fn depends_on_longest(&self) -> bool {
        matches!(self.limit, Limit::Dynamic(..))
    }

    /// What one sequence may take alone, where that does not depend on the lengths.
    pub(crate) fn limit_of_one(&self) -> Option<Capacity> {
        match self.limit {
            Limit::Padded(_) | Limit::Cost(..) => Some(self.capacity(0)),
            Limit::Sequences(_) | Limit::Dynamic(..) | Limit::Sides(_) => None,
        }
    }

    /// The longest length that keeps it alone, where that does not depend on the lengths.
    pub(crate) fn longest_alone(&self) -> u32 {
        self.limit_of_one().map_or(u32::MAX, |limit| limit.longest_alone())
    }

    /// What one sequence of two lengths may take alone.
    pub(crate) fn sides_of_one(&self) -> Sides {
        let sum = |cells: u64| Sides { sum: Some(cells), ..Sides::default() };
        match self.limit {
            Limit::Padded(cells) => sum(cells),
            Limit::Sides(sides) => sides,
            Limit::Cost(model, limit) => match model.longest_alone(limit) {
                u32::MAX => Sides::default(),
                longest => sum(longest.into()),
            },
            Limit::Sequences(_) | Limit::Dynamic(..) => Sides::default(),
        }
    }

    /// Whether it limits sides, and so is for sequences of two lengths alone.
    pub(crate) fn is_of_sides(&self) -> bool {
        matches!(self.limit, Limit::Sides(_))
    }

    /// Resolves the budget, if the longest sequence (with two lengths, both) is padded to `longest`.
    pub(crate) fn resolve<'a>(&self, longest: u32) -> Result<ResolvedBudget<'a>, Error> {
        self.check()?;
        let rule = match self.limit {
            Limit::Dynamic(_, rule) => rule,
            _ => Rule::Printed,
        };
        let capacity = self.capacity(longest.into());
        Ok(ResolvedBudget::new(capacity, self.most(), self.multiple_of, rule))
    }

    /// Refuses numbers that make no sense.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let name = self.name();
        let of_limit = match self.limit {
            Limit::Sequences(0) | Limit::Padded(0) | Limit::Dynamic(0, _) => Some(""),
            Limit::Sides(sides) => {
                sides.keys().into_iter().find(|&(_, limit)| limit == Some(0)).map(|(key, _)| key)
            }
            Limit::Cost(_, limit) if !(limit > 0.0 && limit.is_finite()) => {
                return Err(Error::bad_value("`limit` of budget `cost`", &short(limit), SECONDS));
            }
            _ => None,
        };
        let at_most = (self.at_most == Some(0)).then_some("at-most");
        let multiple_of = (self.multiple_of == 0).then_some("multiple-of");
        let of = match of_limit.or(at_most).or(multiple_of) {
            None => return Ok(()),
            Some("") => format!("budget `{name}`"),
            Some(key) => format!("`{key}` of budget `{name}`"),
        };
        Err(Error::bad_value(of, "0", "a whole number from 1"))
    }

    fn read_padded(setting: &mut Setting) -> Result<Self, Error> {
        const CELLS: &str = "a whole number of cells from 1";
        let mut side = |key| setting.number(key, CELLS);
        let (first, second, max) = (side("first")?, side("second")?, side("max")?);
        let alone = (first, second, max) == (None, None, None);
        let sum = (alone || setting.value.is_some()).then(|| setting.required_number(CELLS));
        let sum = sum.transpose()?;
        Ok(Self::sides(Sides { sum, first, second, max }))
    }

    fn name(&self) -> &'static str {
        match self.limit {
            Limit::Sequences(_) => "sequences",
            Limit::Padded(_) | Limit::Sides(_) => "padded",
            Limit::Dynamic(..) => "dynamic",
            Limit::Cost(..) => "cost",
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
        let mut budget = match setting.name {
            "sequences" => Self::sequences(setting.required_number(COUNT)?),
            "padded" => Self::read_padded(&mut setting)?,
            "cost" => {
                let model = CostModel::read(&mut setting)?;
                let limit = setting.number("limit", SECONDS)?;
                let missing = || Error::bad_value(setting.of("limit"), "", SECONDS);
                Self::cost(model, limit.ok_or_else(missing)?)
            }
            _ => {
                let budget = Self::dynamic(setting.required_number(COUNT)?);
                match setting.text("rule") {
                    None | Some("printed") => budget,
                    Some("over") => budget.rule(Rule::Over),
                    Some(other) => {
                        return Err(Error::bad_value(
                            setting.of("rule"),
                            other,
                            "`printed` or `over`",
                        ));
                    }
                }
            }
        };
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
            Limit::Sides(sides) => {
                let given = sides.keys().into_iter().filter_map(|(key, limit)| match key {
                    "sum" => limit.map(|limit| limit.to_string()),
                    key => limit.map(|limit| format!("{key}={limit}")),
                });
                write!(f, "padded:{}", given.collect::<Vec<_>>().join(","))?;
            }
            Limit::Dynamic(count, Rule::Printed) => write!(f, "dynamic:{count}")?,
            Limit::Dynamic(count, Rule::Over) => write!(f, "dynamic:{count},rule=over")?,
            Limit::Cost(model, limit) => write!(f, "cost:{model},limit={}", short(limit))?,
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
