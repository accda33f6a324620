//! How the batches of an epoch are dealt to several ranks, one or more each a step.

use crate::base::setting::names;
use crate::limit::cost::CostModel;

#[doc = include_str!("steps.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steps {
    /// One batch from each stratum of length: every step is a fair sample of all lengths. Ranks
    /// have equal work if the budget limits what time follows.
    Stratified,
    /// Batches that take nearly the same time: with one batch for each rank no other way of dealing
    /// makes ranks wait less. Time is that of the cost model, and the batch length without one.
    Aligned,
    /// The batches of the plan as they come.
    InOrder,
}

impl Steps {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["stratified", "aligned", "in-order"];

    /// Every way.
    pub const ALL: [Steps; 3] = [Steps::Stratified, Steps::Aligned, Steps::InOrder];

    /// The manual page of steps over ranks, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("steps.md")
    }
}

/// What happens to the batches that are left when the others are dealt to full steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// They are broken up into as many smaller batches as there are ranks. Nothing is dropped. If all
    /// steps have more places than there are sequences, one sequence is repeated for each place that
    /// is missing one; otherwise nothing is.
    #[default]
    Split,
    /// Batches that were used already fill the last step.
    Repeat,
    /// They are left out of this epoch; which ones changes from epoch to epoch.
    Drop,
}

impl Tail {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["split", "repeat", "drop"];

    /// Every treatment.
    pub const ALL: [Tail; 3] = [Tail::Split, Tail::Repeat, Tail::Drop];
}

/// How long a batch takes, in some unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    Cells,
    Length,
    Seconds(CostModel),
}

impl Time {
    pub(crate) fn of(self, size: u32, length: u32) -> f64 {
        match self {
            Time::Cells => f64::from(size) * f64::from(length),
            Time::Length => f64::from(length),
            Time::Seconds(model) => model.seconds(size, length),
        }
    }
}

names!(Steps, "way to make steps");

names!(Tail, "treatment of the tail");
