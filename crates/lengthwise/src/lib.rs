#![doc = include_str!("lib.md")]

mod arrange;
mod budget;
mod chunks;
mod cost;
mod cover;
mod cursor;
mod cut;
mod error;
mod example;
mod footprint;
mod groups;
mod ladder;
mod lanes;
mod lengths;
mod loose_plan;
mod made;
mod math;
mod measure;
mod over_long;
mod pack;
mod pairs;
mod plan;
mod planner;
mod rng;
mod room;
mod schedule;
mod settings;
mod shapes;
mod shard;
mod sort;
mod steps;
pub mod strategy;
mod stream;
mod threads;
mod tune;
mod workspace;

pub use arrange::Arrange;
pub use budget::{Budget, Rule, Side, Sides};
pub use chunks::{Chunk, Chunks};
pub use cost::{CostModel, Fit, Preset, Step};
pub use cursor::{Cursor, Segment};
pub use error::Error;
pub use example::Example;
pub use groups::{Drawn, Groups};
pub use ladder::{ladder, ladder_padding_rate};
pub use lengths::Lengths;
pub use loose_plan::LoosePlan;
pub use made::{Corpus, Made};
pub use measure::{Measures, SideMeasures, effective_mates, mate_repeat_rate, mate_repeat_rates};
pub use over_long::OverLong;
pub use pack::Row;
pub use pairs::Pairs;
pub use plan::{Counts, Iter, Plan};
pub use planner::Planner;
pub use rng::{Purpose, Rng, Stream};
pub use room::{Open, Room};
pub use schedule::Schedule;
pub use shapes::Shapes;
pub use shard::{Needs, Shard, Statistics};
pub use steps::{Steps, Tail};
pub use strategy::{
    Alternated, Blurred, Bucketed, Group, LengthBuckets, Neighbours, OptimalBuckets, Packed,
    Paired, Pooled, Rotating, SemiSorted, Shuffled, Sorted, Strategy,
};
pub use stream::{Batched, Feed, Picked, Pivot, StreamBatch, StreamState, StreamStep, Streamer};
pub use tune::{
    Choice, Conditions, Curve, Family, Limits, Point, frontier, recommended, recommended_in,
    recommended_shapes, tune, tune_in,
};
pub use workspace::Workspace;

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
