//! One file for each command.

pub(crate) mod balance;
pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod frontier;
pub(crate) mod inspect;
pub(crate) mod ladder;
pub(crate) mod manual;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod statistics;
pub(crate) mod stream;
pub(crate) mod tune;
pub(crate) mod verify;
