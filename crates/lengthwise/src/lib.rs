#![doc = include_str!("lib.md")]
#![allow(
    clippy::inline_always,
    reason = "jobs of `simd` are compiled for every kind of processor, with all they call"
)]

pub mod balance;
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
pub mod groups;
pub mod measure;
pub mod shard;

pub use base::workspace::Workspace;
pub use data::chunks::{Chunk, Chunks};
pub use data::lengths::Lengths;
pub use data::over_long::OverLong;
pub use data::pairs::Pairs;
pub use error::Error;
pub use error::remedy::{ErrorKind, Remedy};
pub use example::Example;
pub use limit::budget::Budget;
pub use limit::capacity::{Rule, Sides};
pub use limit::cost::CostModel;
pub use limit::update::Update;
pub use plan::arrange::{Arrange, Steps, Tail};
pub use plan::epoch::{Iter, Plan, SpanPlan};
pub use plan::measure::Measures;
pub use plan::settings::{Provenance, Settings};
pub use planner::Planner;
pub use ranks::schedule::{Cursor, Schedule, Segment};
pub use shape::ladder::ladder;
pub use shape::shapes::Shapes;
pub use strategy::Strategy;

/// The examples of the README and of the guides are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/guides/rust.md")]
#[doc = include_str!("../../../docs/guides/two-lengths.md")]
struct Guides;
