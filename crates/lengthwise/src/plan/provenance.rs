//! How a plan was made: what a cursor and a plan file know about it.

use xxhash_rust::xxh3::xxh3_64;

use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::row::Row;
use crate::plan::settings::Provenance;
use crate::plan::steps::{Steps, Time};
use crate::strategy::Strategy;
use crate::strategy::group::Group as _;

impl Provenance {
    /// Whether a batch keeps the budget, and a row the limits of its strategy. What its size is a multiple
    /// of is no part of it. With `rule=over` a batch may be over by its last sequence; as that is not
    /// known, all but one must fit if they are as short as the shortest.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
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
        let joint = |all: &[u32]| match lengths.second() {
            None => batch.iter().map(|&sequence| all[sequence as usize]).min(),
            Some(_) => batch.iter().map(|&sequence| lengths.both(sequence).joint()).min(),
        };
        let Some(shortest) = joint(lengths.as_slice()) else {
            return true;
        };
        let size = batch.len() as u32;
        let longest = self.corpus.map_or(lengths.max(), |corpus| corpus.longest);
        let [of_first, of_second] = self.shapes.sides();
        let second_longest = lengths.second().map_or(0, |second| of_second.alone(second.max()));
        let longest = of_first.alone(longest) + second_longest;
        if self.packed {
            let strategy = self.strategy.parse::<Strategy>().ok();
            let row = strategy.and_then(|strategy| strategy.row());
            let keeps = |row: Row| batch_length <= row.capacity && size <= row.at_most;
            return row.is_none_or(keeps) && self.budget.admits_row(size, batch_length, longest);
        }
        self.budget.admits(Open { size, length: batch_length, second }, shortest, longest)
    }

    pub(crate) fn time(&self) -> Time {
        match (self.cost_model, self.steps) {
            (Some(model), _) => Time::Seconds(model),
            // All rows are about as long as the capacity.
            (None, Steps::Aligned) if !self.packed => Time::Length,
            (None, _) => Time::Cells,
        }
    }

    /// What the time of a batch is taken to follow, where ranks wait for each other: `cost model`,
    /// or without one `batch length` for aligned steps and `cells` for others.
    pub fn time_follows(&self) -> &'static str {
        match self.time() {
            Time::Cells => "cells",
            Time::Length => "batch length",
            Time::Seconds(_) => "cost model",
        }
    }

    /// How many batches a step has over `world_size` ranks. Where canonical ranks were fixed, that
    /// many if they can be shared equally, and otherwise the nearest number that can.
    pub(crate) fn per_step(&self, world_size: u32) -> Result<u32, Error> {
        let nearest = |ranks: u32| (f64::from(ranks) / f64::from(world_size.max(1))).round() as u32;
        let accumulate = self.canonical_ranks.map_or(self.accumulate, |of| nearest(of).max(1));
        match world_size.checked_mul(accumulate) {
            None => Err(Error::TooManyRanks { world_size, accumulate }),
            Some(0) => Err(Error::NoRanks),
            Some(per_step) => Ok(per_step),
        }
    }

    /// The settings that decide which batches make which step, by name; long ones as a fingerprint.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        [
            ("strategy", self.strategy.clone()),
            ("budget", self.budget.to_string()),
            ("shapes", self.shapes.to_string()),
            ("arrange", self.arrange.to_string()),
            ("over-long", self.over_long.to_string()),
            ("batches", or_none(self.batches.map(|batches| batches.to_string()))),
            ("steps", self.steps.to_string()),
            ("tail", self.tail.to_string()),
            ("cost-model", or_none(self.cost_model.map(|model| model.to_string()))),
        ]
        .into_iter()
        // Cursors of other plans are what they were.
        .chain(self.corpus.map(|corpus| ("statistics", format!("{:016x}", corpus.statistics))))
        .chain(self.shard.map(|shard| ("shard", shard.to_string())))
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
