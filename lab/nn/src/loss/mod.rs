//! Losses of padded batches, and their gradients.

mod cross_entropy;
mod ctc;
mod squared_error;

pub use cross_entropy::{Classified, cross_entropy};
pub use ctc::{BadTarget, ctc};
pub use squared_error::squared_error;
