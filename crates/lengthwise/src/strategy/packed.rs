use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Row;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::pack::{Even, pack};
use crate::order::sort;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, at_least_one};

#[doc = include_str!("packed.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The maximum number of positions in a row. By default, what the budget allows.
    pub capacity: Option<u32>,
    /// The maximum number of sequences in a row. By default, what the budget allows.
    pub at_most: Option<u32>,
    /// How many sequences of the random order are taken at a time, the longest first.
    pub window: u32,
    /// Whether rows have about equal cost as well, by the cost model of the plan.
    pub equal_cost: bool,
}

impl Packed {
    /// Takes the longest of all sequences first: the fewest rows that best fit is known to make. Its
    /// rows are nearly the same in every epoch, so it is only for epochs that must not have more rows
    /// than others.
    pub(crate) const LONGEST_FIRST: Self = Self { window: u32::MAX, ..Self::DEFAULT };

    const DEFAULT: Self = Self { capacity: None, at_most: None, window: 1, equal_cost: false };
}

impl Default for Packed {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Inner for Packed {
    fn read(setting: &mut Setting) -> Result<Self, Error> {
        let capacity = setting.number("capacity", AT_LEAST_ONE)?;
        let at_most = setting.number("at-most", AT_LEAST_ONE)?;
        let window = setting.number("window", AT_LEAST_ONE)?;
        let equal_cost = match setting.text("balance") {
            None | Some("tokens") => false,
            Some("cost") => true,
            Some(other) => {
                return Err(Error::bad_value(setting.of("balance"), other, "cost or tokens"));
            }
        };
        let window = window.unwrap_or(Self::DEFAULT.window);
        Ok(Self { capacity, at_most, window, equal_cost })
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("packed", "capacity", self.capacity.unwrap_or(1))?;
        at_least_one("packed", "at-most", self.at_most.unwrap_or(1))?;
        at_least_one("packed", "window", self.window)
    }
}

impl Group for Packed {
    fn describe(&self) -> String {
        let window = (self.window != 1).then_some(self.window);
        let given = [("capacity", self.capacity), ("at-most", self.at_most), ("window", window)];
        let given = given.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let given = given.chain(self.equal_cost.then(|| "balance=cost".to_owned()));
        match given.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => "packed".to_owned(),
            given => format!("packed:{given}"),
        }
    }

    fn row(&self) -> Option<Row> {
        let [capacity, at_most] =
            [self.capacity, self.at_most].map(|limit| limit.unwrap_or(u32::MAX));
        Some(Row { capacity, at_most })
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let mut order = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
        if self.equal_cost {
            let model = limit.cost_model().ok_or_else(|| {
                let expected = "`tokens`, unless a cost model is given";
                Error::bad_value("`balance` of strategy `packed`", "cost", expected)
            })?;
            let (order, ends) = Even::new(lengths, limit, model, self.window).pack(&order, rng);
            return Ok(Groups::trusted(order, ends).packed());
        }
        if self.window > 1 {
            for window in order.chunks_mut(self.window as usize) {
                sort::by_key(window, |sequence| !lengths.of(sequence));
            }
        }
        let (order, ends) = pack(&order, lengths, limit);
        Ok(Groups::trusted(order, ends).packed())
    }
}
