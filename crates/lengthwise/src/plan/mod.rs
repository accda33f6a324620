//! The batches of an epoch: the plan, how it was made, its order, what it costs.

pub(crate) mod arrange;
pub(crate) mod counts;
pub(crate) mod epoch;
pub(crate) mod in_step;
pub(crate) mod interleave;
pub(crate) mod measure;
pub(crate) mod provenance;
pub(crate) mod span_plan;
pub(crate) mod steps;
