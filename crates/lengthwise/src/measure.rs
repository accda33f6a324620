//! Measures of batches, of several epochs, such as mixing, of one of two lengths, and of a ladder.

pub use crate::plan::measure::{Counts, SideMeasures};
pub use crate::plan::mixing::{Mixing, Per, effective_mates, mate_repeat_rate, mixing};
pub use crate::ranks::step_mix::StepMix;
pub use crate::shape::ladder::ladder_padding_rate;
