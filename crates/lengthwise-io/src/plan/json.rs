//! JSON files, and JSON lines.

pub(super) mod lines;
pub(super) mod read;
pub(super) mod write;
