use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Row;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::pack::pack;
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
}

impl Packed {
    /// Takes the longest of all sequences first: the fewest rows that best fit is known to make. Its
    /// rows are nearly the same in every epoch, so it is only for epochs that must not have more rows
    /// than others.
    pub(crate) const LONGEST_FIRST: Self = Self { capacity: None, at_most: None, window: u32::MAX };
}

impl Default for Packed {
    fn default() -> Self {
        Self { capacity: None, at_most: None, window: 1 }
    }
}

impl Inner for Packed {
    fn read(setting: &mut Setting) -> Result<Self, Error> {
        let capacity = setting.number("capacity", AT_LEAST_ONE)?;
        let at_most = setting.number("at-most", AT_LEAST_ONE)?;
        let window = setting.number("window", AT_LEAST_ONE)?;
        Ok(Self { capacity, at_most, window: window.unwrap_or(Self::default().window) })
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
        if self.window > 1 {
            for window in order.chunks_mut(self.window as usize) {
                sort::by_key(window, |sequence| !lengths.of(sequence));
            }
        }
        let (order, ends) = pack(&order, lengths, limit.row());
        Ok(Groups::trusted(order, ends).packed())
    }
}
