//! Which batch lengths may occur, and which few of them pad least.

pub(crate) mod ladder;
pub(crate) mod rounding;
pub(crate) mod shapes;
