//! The order of the batches within the epoch.

mod spread;

use std::{fmt, str::FromStr};

use crate::{Error, Purpose, Rng, cut::Batches, settings::Setting, sort};

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

    pub(crate) fn apply(self, batches: Batches, rng: &Rng) -> Batches {
        let count = batches.ends.len() as u32;
        match self {
            Arrange::AsBuilt => batches,
            Arrange::Shuffled => shuffle(&batches, rng, Purpose::Arrange),
            Arrange::Spread => batches.reordered(&spread::order(&batches, rng)),
            Arrange::ShortFirst => {
                let mut order: Vec<u32> = (0..count).collect();
                sort::by_key(&mut order, |batch| batches.lengths[batch as usize]);
                batches.reordered(&order)
            }
            Arrange::LongFirst => {
                let mut order = sort::shuffled(count, rng, Purpose::Arrange);
                let cells: Vec<u64> = batches
                    .iter()
                    .zip(&batches.lengths)
                    .map(|(batch, &length)| batch.len() as u64 * u64::from(length))
                    .collect();
                let cells_at = |place: &usize| cells[order[*place] as usize];
                if let Some(largest) = (0..order.len()).max_by_key(cells_at) {
                    order.swap(0, largest);
                }
                batches.reordered(&order)
            }
        }
    }
}

/// The batches in a random order.
pub(crate) fn shuffle(batches: &Batches, rng: &Rng, purpose: Purpose) -> Batches {
    batches.reordered(&sort::shuffled(batches.ends.len() as u32, rng, purpose))
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
