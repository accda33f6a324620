//! Which way to batch suits the lengths and the model, and what each strategy gives for its padding.
//!
//! [`recommend()`] measures ways to batch on plans of a sample, predicts how long an epoch takes each, and
//! gives the fastest that keeps the limits: above all, optimizer steps that are as mixed as random ones.
//! Every face of lengthwise recommends what it says. [`frontier()`] measures curves: as the knob of a family
//! of strategies turns from sorted to random, padding and mixing rise together.

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
