//! The extension module of the Python package: thin classes over the Rust crates.
//!
//! What needs no speed is in Python, beside this module: conversion of lengths, exceptions, the
//! adapters of frameworks.

#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "what Python gives is made for the call")]
#![expect(clippy::too_many_arguments, reason = "each is a setting with a name in Python")]
#![expect(clippy::struct_field_names, reason = "a class holds the type of Rust that has its name")]

mod balance;
mod bounded;
mod compare;
mod cost;
mod error;
mod groups;
mod input;
mod interrupt;
mod lengths;
mod measures;
mod memory;
mod pickle;
mod plan;
mod planner;
mod remedies;
mod schedule;
mod settings;
mod statistics;
mod stream;
mod tune;

use pyo3::prelude::*;

/// What the package has in Rust.
#[pymodule]
pub mod _lengthwise {
    /// The version of the package, which Cargo.toml has.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::{
        balance::{BalancedStep, balance, partitions},
        bounded::plan_file,
        compare::{Comparison, Inspection, compare, explain, inspect},
        cost::{CostModel, Fit},
        error::_errors,
        input::{example, read_lengths},
        lengths::{Chunks, Lengths, ladder},
        measures::{Measures, Mixing, effective_mates, mixing},
        plan::{Batches, Plan, load_plan},
        planner::Planner,
        schedule::Schedule,
        statistics::Statistics,
        stream::Feed,
        tune::{Tuning, tune},
    };
}
