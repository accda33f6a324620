//! How a plan is made, stage by stage.

pub(crate) mod footprint;
