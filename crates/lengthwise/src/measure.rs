//! Measures of several epochs, such as mixing, and measures of one of two lengths.

pub use crate::plan::measure::SideMeasures;
pub use crate::plan::mixing::{Mixing, Per, effective_mates, mate_repeat_rate, mixing};
pub use crate::ranks::step_mix::StepMix;
