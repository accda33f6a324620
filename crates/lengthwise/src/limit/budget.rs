//! The hard limit that every batch keeps.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{
    base::setting::Setting,
    data::lengths::Lengths,
    error::Error,
    limit::{
        capacity::{Capacity, Open, Rule, Sides},
        cost::CostModel,
        resolved::ResolvedBudget,
    },
    math::short,
};

/// The limit that every batch keeps.
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
    multiple_of: u32,
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

    /// At most `cells` cells, padding included; of two lengths, those of both sides together.
    pub const fn padded(cells: u64) -> Self {
        Self::new(Limit::Padded(cells))
    }

    /// At most so many cells of each of two sides, padding included.
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

    /// At most `seconds` seconds a step, by a cost model.
    pub const fn cost(model: CostModel, seconds: f64) -> Self {
        Self::new(Limit::Cost(model, seconds))
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

    /// Whether a batch of this size and batch length keeps the budget, where a batch of the longest
    /// sequence is padded to `longest`, and the shortest of this one has length `shortest`.
    pub(crate) fn admits(&self, batch: Open, shortest: u32, longest: u64) -> bool {
        let Open { size, .. } = batch;
        let cells = |size: u32, length: u32| u64::from(size) * u64::from(length);
        let all = batch.pad().cells(size);
        let fits = match self.limit {
            Limit::Sequences(count) => size <= count,
            Limit::Padded(most) => all <= most,
            Limit::Sides(sides) => sides.hold(size, batch.pad()),
            Limit::Dynamic(count, Rule::Printed) => all <= longest.saturating_mul(count.into()),
            // It held before its last sequence came, which may have been its longest.
            Limit::Dynamic(count, Rule::Over) => {
                cells(size - 1, shortest) <= longest.saturating_mul(count.into())
            }
            Limit::Cost(model, limit) => model.seconds(size, batch.pad().joint()) <= limit,
        };
        fits && self.at_most.is_none_or(|most| size <= most)
    }

    /// The same for a row of so many sequences.
    pub(crate) fn admits_row(&self, sequences: u32, length: u32, longest: u64) -> bool {
        let most = match self.limit {
            Limit::Sequences(count) => count,
            _ => u32::MAX,
        };
        let row = Self { at_most: None, ..*self };
        let fits = match self.limit {
            // The rule is about the last sequence of a batch, and a row is one.
            Limit::Dynamic(count, _) => {
                u64::from(length) <= longest.saturating_mul(u64::from(count))
            }
            _ => row.admits(Open { size: 1, length, second: 0 }, length, longest),
        };
        fits && sequences <= self.at_most.unwrap_or(most).min(most)
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

    /// What batch sizes are a multiple of where they can be.
    pub(crate) fn multiple(&self) -> u32 {
        self.multiple_of
    }

    /// What one sequence may take alone, where that does not depend on the lengths.
    pub(crate) fn limit_of_one(&self) -> Option<Capacity> {
        match self.limit {
            Limit::Padded(cells) => Some(Capacity::Cells(cells)),
            Limit::Cost(model, limit) => Some(Capacity::Seconds { model, limit }),
            Limit::Sequences(_) | Limit::Dynamic(..) | Limit::Sides(_) => None,
        }
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

    /// The budget made definite for sequences that are padded to `padded` when alone; of two lengths,
    /// both together.
    pub(crate) fn resolve<'a>(
        &self,
        lengths: &Lengths,
        padded: Cow<'a, [u32]>,
    ) -> Result<ResolvedBudget<'a>, Error> {
        self.check()?;
        let longest = padded.iter().copied().max().unwrap_or(0).max(lengths.longest());
        let longest = u64::from(longest);
        let (capacity, at_most, rule) = match self.limit {
            Limit::Sequences(count) => (Capacity::Cells(u64::MAX), count, Rule::Printed),
            Limit::Padded(cells) => (Capacity::Cells(cells), u32::MAX, Rule::Printed),
            Limit::Sides(sides) => (Capacity::Sides(sides), u32::MAX, Rule::Printed),
            Limit::Dynamic(count, rule) => {
                (Capacity::Cells(u64::from(count) * longest), u32::MAX, rule)
            }
            Limit::Cost(model, limit) => {
                (Capacity::Seconds { model, limit }, u32::MAX, Rule::Printed)
            }
        };
        let at_most = self.at_most.map_or(at_most, |more| more.min(at_most));
        Ok(ResolvedBudget::new(padded, capacity, at_most, self.multiple_of, rule))
    }

    /// Refuses numbers that make no sense.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let zero = |of: String| {
            let expected = "a whole number from 1".to_owned();
            Err(Error::BadValue { of, given: "0".to_owned(), expected })
        };
        let name = self.name();
        match self.limit {
            Limit::Sequences(0) | Limit::Padded(0) | Limit::Dynamic(0, _) => {
                return zero(format!("budget `{name}`"));
            }
            Limit::Sides(Sides { sum, first, second, max }) => {
                let keys = [("sum", sum), ("first", first), ("second", second), ("max", max)];
                if let Some((key, _)) = keys.into_iter().find(|(_, limit)| *limit == Some(0)) {
                    return zero(format!("`{key}` of budget `padded`"));
                }
            }
            Limit::Cost(_, limit) if !(limit > 0.0 && limit.is_finite()) => {
                let (of, expected) = ("`limit` of budget `cost`".to_owned(), SECONDS.to_owned());
                return Err(Error::BadValue { of, given: short(limit), expected });
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

    fn read_padded(setting: &mut Setting) -> Result<Self, Error> {
        const CELLS: &str = "a whole number of cells from 1";
        let mut side = |key| setting.number(key, CELLS);
        let (first, second, max) = (side("first")?, side("second")?, side("max")?);
        let sum = match (first, second, max) {
            (None, None, None) => Some(setting.required_number(CELLS)?),
            _ if setting.has_value() => Some(setting.required_number(CELLS)?),
            _ => None,
        };
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
        let mut budget = match setting.name() {
            "sequences" => Self::sequences(setting.required_number(COUNT)?),
            "padded" => Self::read_padded(&mut setting)?,
            "cost" => {
                let model = CostModel::read(&mut setting)?;
                let (of, expected) = (setting.of("limit"), SECONDS.to_owned());
                let given = String::new();
                let missing = Error::BadValue { of, given, expected };
                Self::cost(model, setting.number("limit", SECONDS)?.ok_or(missing)?)
            }
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
            Limit::Sides(Sides { sum, first, second, max }) => {
                let keys = [("", sum), ("first=", first), ("second=", second), ("max=", max)];
                let given = keys.into_iter().filter_map(|(key, limit)| Some((key, limit?)));
                let given: Vec<_> = given.map(|(key, limit)| format!("{key}{limit}")).collect();
                write!(f, "padded:{}", given.join(","))?;
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
