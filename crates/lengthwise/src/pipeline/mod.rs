//! How a plan is made, stage by stage: admit → resolve → group and cut → arrange.

pub(crate) mod admit_units;
pub(crate) mod by_rank;
pub(crate) mod classes;
pub(crate) mod job;
pub(crate) mod memory;
pub(crate) mod run;
pub(crate) mod shares;
