//! What each strategy gives for its padding, and which one to use.
//!
//! Every family of strategies is a curve: as its knob turns from sorted to random, padding and
//! effective mates rise together. [`frontier()`] measures the curves. [`tune()`] finds where each meets
//! the user's limits, by a search on measured plans that takes a few steps, and chooses the best.

mod family;
mod search;

pub use family::{Conditions, Curve, Family, Point, frontier};
pub use search::{Choice, Limits, recommended, recommended_in, recommended_shapes, tune, tune_in};
