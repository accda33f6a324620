//! Plans as files: JSON, JSON lines, NPZ or Parquet, with how they were made and a checksum.
//!
//! Each group of modules uses only itself and those before it: the types of a file (`form`, `file`);
//! what all forms share (`content`, `header`, `batchwise`); one module for each form; and above them those that
//! choose by the form.

mod file;
mod form;

mod batchwise;
mod content;
mod header;

mod json;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;

mod stream;
mod whole;

pub use self::{
    batchwise::StreamedBatch,
    file::{PlanFile, Ranks},
    form::Form,
    stream::PlanStream,
    whole::{
        Exact, SpanPlanFile, read_plan, read_plan_exact, read_plan_exact_from, read_plan_from,
    },
};
