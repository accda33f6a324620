//! How a plan is made, stage by stage: admit → resolve → group and cut → arrange.

pub(crate) mod job;
pub(crate) mod memory;
pub(crate) mod run;
