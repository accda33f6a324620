//! The batches of an epoch: the plan, how it was made, its order, what it costs.

pub(crate) mod arrange;
pub(crate) mod epoch;
#[cfg(feature = "serde")]
pub(crate) mod forms;
pub(crate) mod measure;
pub(crate) mod mixing;
pub(crate) mod settings;
