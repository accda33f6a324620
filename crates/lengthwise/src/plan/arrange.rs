//! The order of the batches within the epoch.

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::names;
use crate::cut::batches::weighed;
use crate::cut::spans::Spans;
use crate::order::sort;
use crate::plan::interleave::{self, Item};

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
    pub const ALL: [Arrange; 5] =
        [Self::AsBuilt, Self::Shuffled, Self::Spread, Self::ShortFirst, Self::LongFirst];

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
                let largest = |&at: &usize| items[order[at] as usize].largest;
                if let Some(first) = (0..order.len()).max_by_key(largest) {
                    order.swap(0, first);
                }
                order
            }
        }
    }

    /// The batches, or rows, in their order. Rows are arranged by the mean length in them.
    pub(crate) fn apply(self, batches: Spans, packed: bool, rng: &Rng) -> Spans {
        if self == Arrange::AsBuilt {
            return batches;
        }
        let items = items(&batches, packed);
        batches.reordered(&self.order(&items, rng))
    }
}

/// What batches, or rows, are to an arrangement. Of rows the mean length counts.
pub(crate) fn items(batches: &Spans, packed: bool) -> Vec<Item> {
    let row = |shape: (u32, u32)| Item::row(weighed(shape, true).1, shape.1);
    batches.shapes().map(if packed { row } else { Item::batch }).collect()
}

pub(crate) fn shuffle(batches: Spans, rng: &Rng, purpose: Purpose) -> Spans {
    let order = sort::shuffled(batches.len() as u32, rng, purpose);
    batches.reordered(&order)
}

names!(Arrange, "arrangement");
