//! What a batch may hold, and what happens to sequences that are too long for any.

pub(crate) mod budget;
pub(crate) mod capacity;
pub(crate) mod cost;
pub(crate) mod members;
pub(crate) mod resolved;
pub(crate) mod too_long;
pub(crate) mod update;
