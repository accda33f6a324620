//! Recommends how to batch for given lengths and a given model, and measures what padding each strategy
//! needs for its mixing.
//!
//! [`recommend()`] measures candidate settings on plans of a sample, predicts the time of an epoch for
//! each, and returns the fastest one within the limits: above all, optimizer steps that are as mixed as
//! random ones. The command line and Python use the same recommendation. [`frontier()`] measures
//! curves: from sorted to random, padding and mixing of a family of strategies rise together.

mod family;
mod like;
mod limits;
mod model;
mod offer;
mod recommend;

pub use family::{Conditions, Curve, Family, Point, frontier};
pub use like::Like;
pub use limits::Limits;
pub use model::{Kind, Model};
pub use offer::Offer;
pub use recommend::{
    Recommendation, Wanted, batches_only, batches_only_in, recommend, recommend_in,
};
