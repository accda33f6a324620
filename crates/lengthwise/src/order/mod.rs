//! Orders of sequences: radix sorts by keys, groups, rows, strata.

pub(crate) mod fill;
pub(crate) mod groups;
pub(crate) mod keyed;
pub(crate) mod keys;
pub(crate) mod local;
pub(crate) mod pack;
pub(crate) mod pair_strata;
pub(crate) mod shuffle;
pub(crate) mod sort;
pub(crate) mod strata;
