#![doc = include_str!("stream.md")]

mod feed;
mod line;
mod over;
mod rounds;
mod state;
mod step;
mod streamer;

pub use feed::{Feed, Picked, StreamStep};
pub use over::{Batched, StreamBatch};
pub use state::StreamState;
pub use streamer::{Pivot, Streamer};
