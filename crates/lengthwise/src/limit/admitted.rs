//! The sequences that are planned.

use std::borrow::Cow;

use crate::data::lengths::Lengths;

/// Lengths without over-long sequences.
pub(crate) struct Admitted<'a> {
    pub(crate) lengths: Cow<'a, Lengths>,
    /// Which sequences these are, if not all. Where it is empty there is nothing to plan: every
    /// sequence stands alone.
    pub(crate) kept: Option<Vec<u32>>,
    /// The over-long ones.
    pub(crate) over: Vec<u32>,
}
