//! The order of the batches within the epoch.

use std::{fmt, str::FromStr};

use crate::{
    base::{
        error::Error,
        math::ln,
        rng::{Purpose, Rng},
        setting::Setting,
    },
    cut::{batches::weighed, spans::Loose},
    order::sort,
    plan::interleave,
};

/// The order of the batches within the epoch.
///
/// ```
/// use lengthwise::Arrange;
///
/// assert_eq!("short-first".parse(), Ok(Arrange::ShortFirst));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrange {
    /// As the strategy built them.
    AsBuilt,
    /// At random: paper 2's batch randomization.
    Shuffled,
    /// At random, and yet every stretch of the epoch has short and long batches in proportion.
    #[default]
    Spread,
    /// By batch length, the shortest first: paper 3's curriculum.
    ShortFirst,
    /// The batch of most cells first, the others at random: if memory runs out, it does so at once.
    LongFirst,
}

impl Arrange {
    /// The names, as in string forms.
    pub const NAMES: [&str; 5] = ["as-built", "shuffled", "spread", "short-first", "long-first"];

    /// Every arrangement.
    pub const ALL: [Arrange; 5] = [
        Arrange::AsBuilt,
        Arrange::Shuffled,
        Arrange::Spread,
        Arrange::ShortFirst,
        Arrange::LongFirst,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The manual page of arrangements, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("arrange.md")
    }

    /// The order of batches, or of steps of several batches.
    pub(crate) fn order(self, items: &[Item], rng: &Rng) -> Vec<u32> {
        let count = items.len() as u32;
        match self {
            Arrange::AsBuilt => (0..count).collect(),
            Arrange::Shuffled => sort::shuffled(count, rng, Purpose::Arrange),
            Arrange::Spread => interleave::order(items, rng),
            Arrange::ShortFirst => {
                let mut order: Vec<u32> = (0..count).collect();
                sort::by_key(&mut order, |item| items[item as usize].rank);
                order
            }
            Arrange::LongFirst => {
                let mut order = sort::shuffled(count, rng, Purpose::Arrange);
                let largest = (0..order.len()).max_by_key(|&at| items[order[at] as usize].largest);
                if let Some(largest) = largest {
                    order.swap(0, largest);
                }
                order
            }
        }
    }

    /// The batches, or rows, in their order. Rows are arranged by the mean length in them.
    pub(crate) fn apply(self, batches: Loose, packed: bool, rng: &Rng) -> Loose {
        if self == Arrange::AsBuilt {
            return batches;
        }
        let items = items(&batches, packed);
        batches.reordered(&self.order(&items, rng))
    }
}

/// What batches, or rows, are to an arrangement. Of rows the mean length counts.
pub(crate) fn items(batches: &Loose, packed: bool) -> Vec<Item> {
    if packed {
        let rows = batches.shapes().map(|shape| (weighed(shape, true).1, shape.1));
        return rows.map(|(mean, length)| Item::row(mean, length)).collect();
    }
    batches.shapes().map(Item::batch).collect()
}

/// What is arranged: a batch, or a step of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Short ones before long ones.
    pub(crate) rank: u32,
    /// The logarithm of its length.
    pub(crate) log: f64,
    pub(crate) cells: f64,
    /// The most cells of any batch in it.
    pub(crate) largest: u64,
}

impl Item {
    pub(crate) fn batch((size, length): (u32, u32)) -> Self {
        let largest = u64::from(size) * u64::from(length);
        let cells = f64::from(length) * f64::from(size);
        Self { rank: length, log: ln(f64::from(length)), cells, largest }
    }

    /// A place in an order that is the same whatever stands there.
    pub(crate) fn place(rank: u32) -> Self {
        Self { rank, log: rank.into(), cells: 1.0, largest: rank.into() }
    }

    fn row(mean: u32, length: u32) -> Self {
        Self { cells: f64::from(length), largest: length.into(), ..Self::batch((1, mean)) }
    }
}

/// The batches in a random order.
pub(crate) fn shuffle(batches: Loose, rng: &Rng, purpose: Purpose) -> Loose {
    let order = sort::shuffled(batches.len() as u32, rng, purpose);
    batches.reordered(&order)
}

impl FromStr for Arrange {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let setting = Setting::parse("arrangement", &Self::NAMES, given)?;
        let name = setting.name();
        setting.finish()?;
        Ok(Self::ALL.into_iter().find(|arrange| arrange.name() == name).unwrap_or_default())
    }
}

impl fmt::Display for Arrange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
