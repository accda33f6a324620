#![doc = include_str!("lib.md")]

mod arrange;
mod budget;
mod chunks;
mod cost;
mod cut;
mod error;
mod example;
mod groups;
mod ladder;
mod lengths;
mod math;
mod measure;
mod over_long;
mod plan;
mod planner;
mod rng;
mod room;
mod settings;
mod shapes;
mod sort;
pub mod strategy;
mod tune;

pub use arrange::Arrange;
pub use budget::{Budget, Rule};
pub use chunks::{Chunk, Chunks};
pub use cost::{CostModel, Fit, Preset, Step};
pub use error::Error;
pub use example::Example;
pub use groups::{Drawn, Groups};
pub use ladder::{ladder, ladder_padding_rate};
pub use lengths::Lengths;
pub use measure::{
    Measures, effective_mates, idle_share, idle_share_by, mate_repeat_rate, mate_repeat_rates,
};
pub use over_long::OverLong;
pub use plan::{Iter, Plan};
pub use planner::Planner;
pub use rng::{Purpose, Rng, Stream};
pub use room::{Open, Room};
pub use shapes::Shapes;
pub use strategy::{
    Alternated, Blurred, Bucketed, Group, LengthBuckets, Neighbours, OptimalBuckets, Pooled,
    Rotating, SemiSorted, Shuffled, Sorted, Strategy,
};

pub use tune::{
    Choice, Conditions, Curve, Family, Limits, Point, frontier, recommended_shapes, tune,
};

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
