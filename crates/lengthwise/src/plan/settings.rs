//! The one list of settings: what makes a plan, beside the lengths.

use crate::data::over_long::OverLong;
use crate::data::shard::Shard;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::plan::arrange::Arrange;
use crate::plan::steps::{Steps, Tail};
use crate::shape::shapes::Shapes;

/// Writes [`Settings`] and [`Provenance`] from one list, in the order in which plan files have it. What
/// is `given` is in both; what was `found` out while a plan was made is in the second only.
macro_rules! settings {
    (
        asked { $($(#[$about_asked:meta])* $asked:ident: $asked_type:ty,)* }
        $(
            given { $($(#[$about_given:meta])* $given:ident: $given_type:ty,)* }
            found { $($(#[$about_found:meta])* $found:ident: $found_type:ty,)* }
        )*
    ) => {
        /// What makes a plan, beside the lengths: what a [`Planner`](crate::Planner) is told.
        ///
        /// ```
        /// use lengthwise::{Budget, Lengths, Planner, Settings};
        ///
        /// let settings = Settings { seed: 7, ..Settings::new("sorted", Budget::sequences(2)) };
        /// let lengths = Lengths::new([31, 7, 12, 90])?;
        /// let plan = Planner::named(settings)?.plan(&lengths, 0)?;
        /// assert_eq!(plan.provenance().strategy, "sorted");
        /// # Ok::<(), lengthwise::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct Settings {
            $($($(#[$about_given])* pub $given: $given_type,)*)*
            $($(#[$about_asked])* pub $asked: $asked_type,)*
        }

        /// How a plan was made, and how its batches are assigned to ranks.
        ///
        /// [`Plan::provenance`](crate::Plan::provenance) gives it. It says which strategy was used, but
        /// not how that works, so it cannot make the plan again by itself. With the feature `serde` it
        /// has the form that plan files give it.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct Provenance {
            $(
                $($(#[$about_given])* pub $given: $given_type,)*
                $($(#[$about_found])* pub $found: $found_type,)*
            )*
        }

        /// What is found out while a plan is made.
        pub(crate) struct Found {
            $($(pub(crate) $found: $found_type,)*)*
        }

        impl Provenance {
            pub(crate) fn new(settings: Settings, found: Found) -> Self {
                Self { $($($given: settings.$given,)* $($found: found.$found,)*)* }
            }
        }
    };
}

settings! {
    asked {
        /// Which batches make a step, if that was said; otherwise the lengths and the settings decide.
        steps: Option<Steps>,
    }
    given {
        /// The strategy as it [describes](crate::custom::Group::describe) itself.
        strategy: String,
        /// The limit of every batch.
        budget: Budget,
        /// What batch lengths may occur.
        shapes: Shapes,
        /// The order of the batches, and of the steps.
        arrange: Arrange,
        /// What happens to sequences that exceed the budget alone.
        over_long: OverLong,
        /// How many batches every epoch has, if that is fixed.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        batches: Option<u32>,
    }
    found {
        /// Whether batches may be broken up, but not mixed: the strategy promises who does not meet.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
        together: bool,
        /// Whether a batch is one row that its sequences share, one after another.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
        packed: bool,
        /// Which batches make a step.
        steps: Steps,
    }
    given {
        /// What happens to the batches that fill no step.
        tail: Tail,
        /// How long a batch takes, if that is known. A budget of seconds brings its own.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        cost_model: Option<CostModel>,
        /// How many batches each rank takes in a step.
        accumulate: u32,
        /// How many batches a step has whatever the world size, if that is fixed.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        canonical_ranks: Option<u32>,
        /// Which shard of a corpus is planned, if it is one.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        shard: Option<Shard>,
    }
    found {
        /// What is known of the statistics that the lengths are a part of, if they are a part.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        corpus: Option<Corpus>,
    }
    given {
        /// The seed of all randomness.
        seed: u64,
    }
    found {
        /// The epoch.
        epoch: u64,
        /// The [digest](crate::Lengths::digest) of the lengths.
        #[cfg_attr(feature = "serde", serde(with = "crate::plan::forms::hex"))]
        lengths: u64,
    }
}

/// What a plan knows of the statistics that it was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Corpus {
    /// The [digest](crate::shard::Statistics::digest) of the statistics.
    #[cfg_attr(feature = "serde", serde(with = "crate::plan::forms::hex"))]
    pub statistics: u64,
    /// The longest length that they know.
    pub longest: u32,
}

impl Settings {
    /// Exact shapes, batches of all lengths in every part of the epoch, too-long sequences refused,
    /// seed 0.
    pub fn new(strategy: impl Into<String>, budget: Budget) -> Self {
        Self {
            strategy: strategy.into(),
            budget,
            shapes: Shapes::default(),
            arrange: Arrange::default(),
            over_long: OverLong::default(),
            batches: None,
            tail: Tail::default(),
            cost_model: None,
            accumulate: 1,
            canonical_ranks: None,
            shard: None,
            seed: 0,
            steps: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        for (of, given) in [
            ("the number of batches that each rank accumulates", Some(self.accumulate)),
            ("the number of canonical ranks", self.canonical_ranks),
            ("the fixed number of batches", self.batches),
        ] {
            if given == Some(0) {
                return Err(Error::bad_value(of, &0, "a whole number from 1"));
            }
        }
        Ok(())
    }
}
