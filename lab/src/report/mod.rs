//! What was measured when one model was trained several times: under several batching strategies,
//! and from several seeds.
//!
//! A [`Training`] is data first. It is written and read as [JSON lines](Training::to_jsonl), and shown
//! as a [table](Training::table), as [sentences](Training::verdict), as a [page](Training::page) with
//! figures, and as a [summary](Training::summary) for programs. Runs of one name are one row: they differ in their seed only. The first row is the
//! one that others are compared with, seed by seed.

mod compare;
mod differences;
mod equal_time;
mod figures;
mod join;
mod jsonl;
mod number;
mod page;
mod records;
mod remarks;
mod row;
mod student;
mod summary;
mod table;
mod verdict;
mod workers;

#[cfg(test)]
mod testing;

pub use jsonl::ReadError;
pub use records::{
    Scaling, Together, Training, TrainingEpoch, TrainingRun, Validation, WorkerEpoch,
};
pub use table::TrainingTable;
