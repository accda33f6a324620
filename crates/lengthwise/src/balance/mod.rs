#![doc = include_str!("balance.md")]

mod bins;
mod loads;
mod step;

pub use step::{Balance, Step, Together, balance, partitions};
