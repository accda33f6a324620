//! The batches of an epoch over several ranks, and the position in an epoch.

pub(crate) mod assign;
pub(crate) mod balance;
pub(crate) mod rows;
pub(crate) mod schedule;
pub(crate) mod step_mix;
