//! The list of all settings of a plan, and of those that a plan remembers.

use xxhash_rust::xxh3::xxh3_64;

use crate::base::digest::hex;
use crate::data::lengths::Lengths;
use crate::data::mix::Mix;
use crate::data::over_long::OverLong;
use crate::data::shard::Shard;
use crate::data::units::{OneKind, Together};
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::capacity::{Open, Row};
use crate::limit::cost::CostModel;
use crate::limit::update::Update;
use crate::plan::arrange::{Arrange, Steps, Tail, Time};
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::group::Group as _;

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
        /// All settings of a plan, without the lengths: what a [`Planner`](crate::Planner) takes.
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
        /// Which batches make a step, if that is given; otherwise it follows from the lengths and the
        /// settings.
        steps: Option<Steps>,
    }
    given {
        /// The strategy as it [describes](crate::custom::Group::describe) itself.
        strategy: String,
        /// The limit of every batch.
        budget: Budget,
        /// Which batch lengths may occur.
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
        /// Whether batches may be split, but not mixed, because the strategy guarantees that
        /// batch-mates do not repeat.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
        together: bool,
        /// Whether a batch is one row that its sequences share, one after another.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
        packed: bool,
        /// Which batches make a step.
        steps: Steps,
        /// How many batches an optimizer step has over all ranks, if the plan is made of such steps.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        batches_per_step: Option<u32>,
    }
    given {
        /// What happens to the last batches if they do not fill a step.
        tail: Tail,
        /// How long a batch takes, if that is known. A budget of seconds brings its own.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        cost_model: Option<CostModel>,
        /// How many batches each rank takes in a step.
        accumulate: u32,
        /// How many batches a step has for any world size, if that is fixed.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        canonical_ranks: Option<u32>,
        /// How much data an optimizer step has, if that is given. It decides how many batches make a
        /// step.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        update: Option<Update>,
        /// Which shard of a corpus is planned, if it is one.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        shard: Option<Shard>,
        /// What sequences that stay [together](crate::Lengths::together) share.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
        share: Together,
        /// What has sequences of one [kind](crate::Lengths::kinds) only.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
        one_kind: OneKind,
        /// How much of every kind an epoch has, if that is given.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        mix: Option<Mix>,
    }
    found {
        /// Whether sequences stay together or have kinds, which the lengths say.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
        grouped: bool,
        /// The summary statistics that the lengths are a part of, if any.
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

#[cfg(feature = "serde")]
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The summary statistics that a plan was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Corpus {
    /// The [digest](crate::shard::Statistics::digest) of the statistics.
    #[cfg_attr(feature = "serde", serde(with = "crate::plan::forms::hex"))]
    pub statistics: u64,
    /// The longest length in them.
    pub longest: u32,
}

impl Settings {
    /// Settings with exact shapes, batches of all lengths in every part of the epoch (`spread`), an
    /// error for over-long sequences, and seed 0.
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
            update: None,
            shard: None,
            share: Together::default(),
            one_kind: OneKind::default(),
            mix: None,
            seed: 0,
            steps: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        for (of, given) in [
            ("the number of gradient-accumulation steps", Some(self.accumulate)),
            ("the number of canonical ranks", self.canonical_ranks),
            ("the fixed number of batches", self.batches),
        ] {
            if given == Some(0) {
                return Err(Error::bad_value(of, &0, "a whole number from 1"));
            }
        }
        let Some(update) = self.update else { return Ok(()) };
        if self.accumulate > 1 {
            let of = "the number of gradient-accumulation steps";
            let expected = format!("left out: `{update}` decides it");
            return Err(Error::bad_value(of, &self.accumulate, &expected));
        }
        if self.shard.is_some() {
            let expected = "left out for a shard: set the gradient-accumulation steps instead";
            return Err(Error::bad_value("the size of an update", &update, expected));
        }
        update.check()
    }
}

impl Provenance {
    /// Whether a batch is within the budget, and a row within the limits of its strategy. `multiple_of`
    /// is not checked here. With `rule=over`, a batch may exceed the budget by its last sequence;
    /// because that one is not known, all sequences but one must fit if they are as short as the
    /// shortest. Panics if `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn admits(&self, batch: &[u32], batch_length: u32, lengths: &Lengths) -> bool {
        self.admits_pair(batch, (batch_length, 0), lengths)
    }

    /// The same for a batch of two batch lengths; the second is 0 if there is none.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn admits_pair(
        &self,
        batch: &[u32],
        (batch_length, second): (u32, u32),
        lengths: &Lengths,
    ) -> bool {
        let joint = batch.iter().map(|&sequence| lengths.both(sequence).joint());
        let Some(shortest) = joint.min() else { return true };
        let size = batch.len() as u32;
        let longest = self.corpus.map_or(lengths.max(), |corpus| corpus.longest);
        let [of_first, of_second] = self.shapes.sides();
        let second_longest = lengths.second().map_or(0, |second| of_second.alone(second.max()));
        let longest = of_first.alone(longest) + second_longest;
        if self.packed {
            let held = batch.iter().map(|&it| lengths.of(it).min(batch_length));
            return self.admits_row(held, batch_length, longest);
        }
        // A batch may exceed some budgets by its last sequence, or by its last group.
        let last = batch.last().zip(lengths.units());
        let last = last.map_or(1, |(&last, units)| units.size(units.of[last as usize]));
        let batch = Open { size, length: batch_length, second };
        self.budget.admits(batch, (shortest, last), longest)
    }

    /// Whether a row of these lengths is within the budget and the limits of its strategy, if a row of the longest
    /// sequence alone is padded to `longest`.
    fn admits_row(
        &self,
        held: impl ExactSizeIterator<Item = u32>,
        row_length: u32,
        longest: u64,
    ) -> bool {
        let row = self.strategy.parse::<Strategy>().ok().and_then(|strategy| strategy.row());
        let size = held.len() as u32;
        let keeps = |row: Row| row_length <= row.capacity && size <= row.at_most;
        row.is_none_or(keeps) && self.budget.admits_row(held, row_length, longest)
    }

    /// The same for a row of some of these lengths.
    pub(crate) fn admits_row_of(&self, held: &[u32], row_length: u32, lengths: &[u32]) -> bool {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let longest = self.corpus.map_or(longest, |corpus| corpus.longest);
        let longest = self.shapes.sides()[0].alone(longest);
        self.admits_row(held.iter().copied(), row_length, longest)
    }

    pub(crate) fn time(&self) -> Time {
        match (self.cost_model, self.steps) {
            (Some(model), _) => Time::Seconds(model),
            // All rows are about as long as the capacity.
            (None, Steps::Aligned) if !self.packed => Time::Length,
            (None, _) => Time::Cells,
        }
    }

    /// What the time of a batch is taken to depend on, for idle time: the `cost model`, or without one
    /// the `batch length` for aligned steps and `cells` for others.
    pub fn time_follows(&self) -> &'static str {
        match self.time() {
            Time::Cells => "cells",
            Time::Length => "batch length",
            Time::Seconds(_) => "cost model",
        }
    }

    /// For how many ranks optimizer steps were planned, if they were.
    fn planned_ranks(&self) -> Option<u32> {
        self.batches_per_step.map(|_| self.canonical_ranks.unwrap_or(1))
    }

    /// Refuses a number of ranks that would divide sequences that share a rank.
    pub(crate) fn check_ranks(&self, world_size: u32) -> Result<(), Error> {
        match (self.share, self.planned_ranks()) {
            (Together::Rank, Some(ranks)) if world_size > 0 && ranks % world_size != 0 => {
                let expected =
                    format!("a divisor of {ranks}: the plan keeps groups on these ranks");
                Err(Error::bad_value("the number of ranks", &world_size, expected))
            }
            _ => Ok(()),
        }
    }

    /// How many batches a step has over `world_size` ranks. With canonical ranks it is that number if
    /// it can be shared equally, and otherwise the nearest number that can.
    pub(crate) fn per_step(&self, world_size: u32) -> Result<u32, Error> {
        let nearest = |ranks: u32| (f64::from(ranks) / f64::from(world_size.max(1))).round() as u32;
        let accumulate = self
            .batches_per_step
            .or(self.canonical_ranks)
            .map_or(self.accumulate, |of| nearest(of).max(1));
        match world_size.checked_mul(accumulate) {
            None => Err(Error::TooManyRanks { world_size, accumulate }),
            Some(0) => Err(Error::NoRanks),
            Some(per_step) => Ok(per_step),
        }
    }

    /// Among how many ranks the batches of a step are shared, as far as that is known: what makes a step must not
    /// depend on anything else. With canonical ranks it is not known, and each batch may be on a rank of its own.
    pub(crate) fn ranks_of_step(&self, per_step: u32) -> u32 {
        let ranks = match (self.planned_ranks(), self.canonical_ranks) {
            (Some(planned), _) => planned,
            (None, Some(_)) => per_step,
            (None, None) => per_step / self.accumulate,
        };
        ranks.clamp(1, per_step)
    }

    /// The settings that decide which batches make which step, by name; long ones as a fingerprint.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let cost_model = self.cost_model.map(|model| match self.budget.model() {
            Some(same) if same == model => "budget".to_owned(),
            _ => model.to_string(),
        });
        [
            ("strategy", self.strategy.clone()),
            ("budget", self.budget.to_string()),
            ("shapes", self.shapes.to_string()),
            ("arrange", self.arrange.to_string()),
            ("over-long", self.over_long.to_string()),
            ("batches", or_none(self.batches.map(|batches| batches.to_string()))),
            ("steps", self.steps.to_string()),
            ("tail", self.tail.to_string()),
            ("cost-model", or_none(cost_model)),
        ]
        .into_iter()
        // Cursors of other plans are what they were.
        .chain(self.corpus.map(|corpus| ("statistics", hex(corpus.statistics))))
        .chain(self.shard.map(|shard| ("shard", shard.to_string())))
        .chain(self.update.map(|update| ("update", update.to_string())))
        .chain((self.share != Together::default()).then(|| ("share", self.share.to_string())))
        .chain(
            (self.one_kind != OneKind::default()).then(|| ("one-kind", self.one_kind.to_string())),
        )
        .chain(self.mix.as_ref().map(|mix| ("mix", mix.to_string())))
        .chain(self.planned_ranks().map(|ranks| ("ranks", ranks.to_string())))
        .map(|(name, text)| (name, brief(text)))
        .collect()
    }
}

/// A setting, or its fingerprint if it is long.
pub(crate) fn brief(text: String) -> String {
    if text.len() > LONG { format!("#{:016x}", xxh3_64(text.as_bytes())) } else { text }
}

/// Longer settings are not spelled out in a cursor.
const LONG: usize = 80;
