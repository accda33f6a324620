//! The figures of a training: one file each.

mod curves;
mod scaling;
mod seconds;
mod trade_off;
mod workers;

pub(super) use curves::{Against, Curves};
pub(super) use scaling::{Curve, scaling_idle, scaling_seconds};
pub(super) use seconds::seconds;
pub(super) use trade_off::{dot_of, trade_off};
pub(super) use workers::{drawn, workers};
