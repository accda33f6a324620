#![doc = include_str!("balance.md")]

mod bins;
mod loads;
mod settings;
mod step;

pub use settings::{Balance, Together};
pub use step::{Step, balance, partitions};
