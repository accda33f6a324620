//! Batches of sequences that arrive one after another and are not known beforehand: see [`Streamer`].

mod ending;
mod feed;
mod over;
mod step;
mod streamer;

pub use feed::{Arrival, Feed, Picked, StreamStep};
pub use over::{Batched, StreamBatch};
pub use streamer::{Pivot, StreamState, Streamer};
