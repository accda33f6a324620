#![doc = include_str!("data/groups.md")]

pub use crate::data::mix::Mix;
pub use crate::data::units::{OneKind, Together};
