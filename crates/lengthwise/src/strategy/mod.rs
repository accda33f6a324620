//! The named ways to group sequences into batches: one strategy, one file, one manual page.

use std::{fmt, str::FromStr};

use crate::base::rng::Rng;
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::capacity::Row;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::strategy::group::{Group, Inner};

pub(crate) mod alternated;
pub(crate) mod blurred;
pub(crate) mod bucketed;
pub(crate) mod group;
pub(crate) mod length_buckets;
pub(crate) mod neighbours;
pub(crate) mod optimal_buckets;
pub(crate) mod packed;
pub(crate) mod paired;
pub(crate) mod pooled;
pub(crate) mod proportional;
pub(crate) mod rotating;
pub(crate) mod semi_sorted;
pub(crate) mod shuffled;
pub(crate) mod sorted;

macro_rules! strategies {
    ($($file:ident $variant:ident $name:literal $summary:literal)*) => {
        $(pub use $file::$variant;)*

        /// Every strategy that has a name.
        ///
        /// ```
        /// use lengthwise::{Strategy, strategy::Alternated};
        ///
        /// let strategy: Strategy = "alternated:bins=8".parse()?;
        /// assert_eq!(strategy, Alternated { bins: 8 }.into());
        /// assert_eq!(strategy.to_string(), "alternated:bins=8");
        /// # Ok::<(), lengthwise::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Strategy {
            $(#[doc = concat!("`", $name, "`")] $variant($variant),)*
        }

        impl Strategy {
            /// The names, as in string forms.
            pub const NAMES: [&str; [$($name),*].len()] = [$($name),*];

            /// Every strategy with its default parameters.
            pub fn all() -> Vec<Strategy> {
                vec![$(Strategy::$variant($variant::default())),*]
            }

            /// The strategies of [`all`](Strategy::all) for sequences of one length.
            pub fn all_of_one_length() -> Vec<Strategy> {
                let mut all = Self::all();
                all.retain(|strategy| !matches!(strategy, Strategy::Paired(_)));
                all
            }

            /// Those of them that have one row per sequence: they work with any model, and can be
            /// compared with each other.
            pub fn all_padded() -> Vec<Strategy> {
                let mut all = Self::all_of_one_length();
                all.retain(|strategy| strategy.row().is_none());
                all
            }

            /// Its name, without parameters.
            pub const fn name(&self) -> &'static str {
                match self { $(Strategy::$variant(_) => $name),* }
            }

            /// What it does, in a few words.
            pub const fn summary(&self) -> &'static str {
                match self { $(Strategy::$variant(_) => $summary),* }
            }

            /// Its manual page, in Markdown.
            pub const fn explain(&self) -> &'static str {
                match self { $(Strategy::$variant(_) => include_str!(concat!(stringify!($file), ".md"))),* }
            }

            fn read(setting: &mut Setting) -> Result<Self, Error> {
                match setting.name {
                    $($name => $variant::read(setting).map(Strategy::$variant),)*
                    other => unreachable!("`{other}` is not in the list of names"),
                }
            }

            fn inner(&self) -> &dyn Inner {
                match self { $(Strategy::$variant(inner) => inner),* }
            }
        }

        $(impl From<$variant> for Strategy {
            fn from(strategy: $variant) -> Self {
                Strategy::$variant(strategy)
            }
        })*
    };
}

strategies! {
    shuffled Shuffled "shuffled" "random order"
    sorted Sorted "sorted" "by length, equal lengths shuffled"
    semi_sorted SemiSorted "semi-sorted" "by length plus uniform noise"
    alternated Alternated "alternated" "shuffled, in bins sorted up and down in turn"
    bucketed Bucketed "bucketed" "sorted, in buckets of equal count, random inside"
    length_buckets LengthBuckets "length-buckets" "length intervals, random inside"
    optimal_buckets OptimalBuckets "optimal-buckets"
        "the length intervals of least padding, random inside"
    neighbours Neighbours "neighbours" "grown from a random sequence toward its neighbours"
    pooled Pooled "pooled" "shuffled, in pools of a few batches sorted"
    blurred Blurred "blurred" "by length plus one-sided noise on a scale that fits the lengths"
    rotating Rotating "rotating" "no two sequences share a batch twice in a cycle of epochs"
    proportional Proportional "proportional" "every step has its share of each stratum of lengths"
    packed Packed "packed" "several sequences in a row, for models that keep them apart"
    paired Paired "paired"
        "for two lengths: stripes of the first, each by the second, with noise on both"
}

impl Strategy {
    /// The budget that it defines itself, if none is given: the capacity of its rows.
    ///
    /// ```
    /// use lengthwise::{Budget, Strategy};
    ///
    /// let strategy: Strategy = "packed:capacity=4096".parse()?;
    /// assert_eq!(strategy.own_budget(), Some(Budget::padded(4096)));
    /// assert_eq!("sorted".parse::<Strategy>()?.own_budget(), None);
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn own_budget(&self) -> Option<Budget> {
        match self {
            Strategy::Packed(Packed { capacity: Some(capacity), .. }) => {
                Some(Budget::padded((*capacity).into()))
            }
            _ => None,
        }
    }

    /// The strategies to compare for these lengths, with default parameters: those that pad, and for
    /// two lengths only those that use both.
    pub fn all_for(lengths: &Lengths) -> Vec<Strategy> {
        let mut all = Self::all_padded();
        if lengths.second().is_some() {
            all.retain(|strategy| !strategy.makes_steps());
            all.push(Paired::default().into());
        }
        all
    }

    /// Whether it makes optimizer steps, not only batches. It must then know the number of
    /// [ranks](crate::Planner::canonical_ranks).
    pub fn makes_steps(&self) -> bool {
        matches!(self, Strategy::Proportional(_))
    }
}

impl Group for Strategy {
    fn describe(&self) -> String {
        self.to_string()
    }

    fn row(&self) -> Option<Row> {
        self.inner().row()
    }

    fn in_passes(&self) -> bool {
        self.inner().in_passes()
    }

    fn most_groups(&self, lengths: &Lengths) -> u64 {
        self.inner().most_groups(lengths)
    }

    fn cycle(&self, lengths: &Lengths, limit: &ResolvedBudget) -> u64 {
        self.inner().cycle(lengths, limit)
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.inner().group(lengths, limit, rng)
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let mut setting = Setting::parse("strategy", &Self::NAMES, given)?;
        let strategy = Self::read(&mut setting)?;
        setting.finish()?;
        strategy.inner().check()?;
        Ok(strategy)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner().describe())
    }
}
