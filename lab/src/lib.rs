//! The training laboratory: real models, trained on sequences of many lengths, under every way to batch
//! them.
#![forbid(unsafe_code)]

pub mod batch;
mod bytes;
mod checkpoint;
pub mod collective;
pub mod data;
pub mod decode;
mod describe;
mod error;
mod evaluate;
mod experiment;
mod files;
mod identity;
mod learning;
pub mod model;
mod progress;
mod rate;
mod remaining;
pub mod report;
mod scaling;
mod session;
mod sync_point;
mod trace;
mod trial;

pub use checkpoint::{load as load_checkpoint, save as save_checkpoint};
pub use describe::describe;
pub use error::Error;
pub use evaluate::Evaluator;
pub use experiment::{Batches, EXPERIMENTS, Experiment, Grouping, Named, Run, StepSize, Trained};
pub use files::save as save_file;
pub use learning::{Learning, Optimizer};
pub use progress::{Ended, Progress, Snapshot, Taken, Weights};
pub use rate::Schedule;
pub use session::{Outcome, PAGE, RESULTS, Session, Watch};
pub use sync_point::{Agreement, Requests};
pub use trial::{MicroBatch, Setup, Stepped, Trial};
