//! How much the batches of several epochs have in common, and measures of one of two lengths.

pub use crate::plan::measure::{
    SideMeasures, effective_mates, mate_repeat_rate, mate_repeat_rates,
};
pub use crate::ranks::step_mix::StepMix;
