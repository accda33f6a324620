//! The training laboratory: real models, trained on sequences of many lengths, under every way to batch
//! them.

#![forbid(unsafe_code)]

pub mod batch;
mod bytes;
mod checkpoint;
pub mod data;
pub mod decode;
mod describe;
mod error;
mod examine;
mod experiment;
mod identity;
mod learning;
mod meeting;
pub mod model;
mod place;
mod rate;
mod rest;
mod scaling;
mod session;
pub mod team;
mod trace;
mod trial;

pub use checkpoint::{load as load_checkpoint, save as save_checkpoint};
pub use describe::describe;
pub use error::Error;
pub use examine::Examiner;
pub use experiment::{Batches, EXPERIMENTS, Experiment, Named, Run, Trained};
pub use learning::{Learning, Optimizer};
pub use meeting::{Agreed, Asks};
pub use place::{Ended, Learnt, Place, Snapshot, Taken};
pub use rate::Schedule;
pub use session::{Outcome, PAGE, RESULTS, Session, Watch};
pub use trial::{Bench, Stepped, Trial};
