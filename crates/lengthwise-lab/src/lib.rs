//! The training laboratory: real models, trained on sequences of many lengths, under every way to batch
//! them.

pub mod data;
