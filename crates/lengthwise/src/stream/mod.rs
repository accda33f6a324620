#![doc = include_str!("stream.md")]

mod feed;
mod line;
mod over;
mod pivot;
mod rounds;
mod state;
mod step;
mod streamer;

pub use feed::{Feed, Picked, StreamStep};
pub use over::{Batched, StreamBatch};
pub use pivot::Pivot;
pub use state::StreamState;
pub use streamer::Streamer;
