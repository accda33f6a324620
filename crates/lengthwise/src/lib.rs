#![doc = include_str!("lib.md")]

mod base;
mod cut;
mod data;
mod example;
mod limit;
mod order;
mod pipeline;
mod plan;
mod planner;
mod ranks;
mod shape;
pub mod strategy;
mod stream;
mod tune;

pub use base::{
    error::{Error, remedy::Remedy},
    rng::{Purpose, Rng, Stream},
    workspace::Workspace,
};
pub use data::{
    chunks::{Chunk, Chunks},
    lengths::Lengths,
    needs::Needs,
    over_long::OverLong,
    pairs::Pairs,
    shard::Shard,
    statistics::Statistics,
};
pub use example::Example;
pub use limit::{
    budget::Budget,
    capacity::{Open, Rule, Sides},
    cost::{CostModel, Preset},
    fit::{Fit, Step},
    resolved::Room,
    row::Row,
};
pub use order::groups::{Drawn, Groups};
pub use plan::{
    arrange::Arrange,
    counts::Counts,
    epoch::{Iter, Plan},
    measure::{Measures, SideMeasures, effective_mates, mate_repeat_rate, mate_repeat_rates},
    provenance::{Corpus, Made},
    span_plan::LoosePlan,
    steps::{Steps, Tail},
};
pub use planner::Planner;
pub use ranks::{
    cursor::{Cursor, Segment},
    schedule::Schedule,
};
pub use shape::{
    ladder::{ladder, ladder_padding_rate},
    shapes::Shapes,
};
pub use strategy::{
    Alternated, Blurred, Bucketed, LengthBuckets, Neighbours, OptimalBuckets, Packed, Paired,
    Pooled, Rotating, SemiSorted, Shuffled, Sorted, Strategy, group::Group,
};
pub use stream::{Batched, Feed, Picked, Pivot, StreamBatch, StreamState, StreamStep, Streamer};
pub use tune::{
    Choice, Conditions, Curve, Family, Limits, Point, frontier, recommended, recommended_in,
    recommended_shapes, tune, tune_in,
};

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
