//! The training laboratory: real models, trained on sequences of many lengths, under every way to batch
//! them.

pub mod batch;
pub mod data;
pub mod decode;
pub mod model;
