//! What differs between systems: signals, terminals, and what makes two files the same. Everything else in the command is the
//! same everywhere. A system that is neither Unix nor Windows gets what works on any.

#[cfg_attr(unix, path = "system/unix.rs")]
#[cfg_attr(not(unix), path = "system/other.rs")]
mod own;

pub(crate) use own::{Identity, Output, terminal_width, watch};
