#![doc = include_str!("balance.md")]

mod bins;
mod degrees;
mod divide;
mod loads;
mod settings;
mod split;
mod step;

pub use divide::{balance, partitions};
pub use settings::Balance;
pub use step::Step;
