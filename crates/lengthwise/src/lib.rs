#![doc = include_str!("lib.md")]
#![allow(
    clippy::inline_always,
    reason = "jobs of `simd` are compiled for every kind of processor, with all they call"
)]

mod base;
mod cut;
mod data;
mod error;
mod example;
mod limit;
mod math;
mod order;
mod pipeline;
mod plan;
mod planner;
mod ranks;
mod shape;
pub mod strategy;
pub mod stream;
pub mod tune;

pub mod cost;
pub mod custom;
pub mod measure;
pub mod shard;

pub use base::workspace::Workspace;
pub use data::{
    chunks::{Chunk, Chunks},
    lengths::Lengths,
    over_long::OverLong,
    pairs::Pairs,
};
pub use error::{
    Error,
    facts::{ErrorKind, Remedy},
};
pub use example::Example;
pub use limit::{
    budget::Budget,
    capacity::{Rule, Sides},
    cost::CostModel,
};
pub use plan::{
    arrange::Arrange,
    epoch::{Iter, Plan},
    measure::{Counts, Measures},
    settings::{Provenance, Settings},
    span_plan::SpanPlan,
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
pub use strategy::Strategy;

/// The README's example is a test too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
