//! The figures of a training: one file each.

mod curves;
mod seconds;
mod trade_off;

pub(super) use curves::{Against, Curves};
pub(super) use seconds::seconds;
pub(super) use trade_off::{dot_of, trade_off};
