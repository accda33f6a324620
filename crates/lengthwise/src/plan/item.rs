//! What is arranged: a batch, a row, or a step of several.

use crate::math::ln;

/// What is arranged: a batch, or a step of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Short ones before long ones.
    pub(crate) rank: u32,
    /// The logarithm of its length.
    pub(crate) log: f64,
    pub(crate) cells: f64,
    /// The most cells of any batch in it.
    pub(crate) largest: u64,
}

impl Item {
    pub(crate) fn batch((size, length): (u32, u32)) -> Self {
        let largest = u64::from(size) * u64::from(length);
        let cells = f64::from(length) * f64::from(size);
        Self { rank: length, log: ln(f64::from(length)), cells, largest }
    }

    /// A place in an order that is the same whatever stands there.
    pub(crate) fn place(rank: u32) -> Self {
        Self { rank, log: rank.into(), cells: 1.0, largest: rank.into() }
    }

    pub(crate) fn row(mean: u32, length: u32) -> Self {
        Self { cells: f64::from(length), largest: length.into(), ..Self::batch((1, mean)) }
    }
}
