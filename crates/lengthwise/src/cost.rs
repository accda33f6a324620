//! Cost models fitted to measured steps, and those that have a name.

pub use crate::limit::cost::{Fit, Preset, Step};
