//! The optimal set of batch lengths.
//!
//! Given the distinct lengths `l₁ < … < l_D` with counts, and `Fᵢ` the number of sequences up to
//! `lᵢ`, the fewest cells that pad the first `i` lengths to `q` rungs follow the recurrence of
//! Khomenko et al. 2016:
//!
//! > cells(q, i) = min over j < i of cells(q−1, j) + lᵢ · (Fᵢ − Fⱼ)
//!
//! As printed it takes O(q · D²). The paper's pseudo-code has faults of scanning (it never gives
//! the longest length a bucket); what is here is derived from the recurrence and tested against it
//! and against trying every set of rungs. `price.rs` finds its best way without a table.

use crate::data::lengths::Lengths;
use crate::shape::price;

/// The `rungs` batch lengths that need the fewest cells when every sequence is padded to the next
/// one at or above its length; rising, the last one the longest length. With as many rungs as
/// distinct lengths, or more, every distinct length is a rung. Of several sets that need as few
/// cells, it is the one whose rungs are lowest, each of them.
///
/// However many rungs: time O(distinct lengths · log cells) at most, mostly a dozen passes over the
/// distinct lengths, and O(distinct lengths) of memory. Of lengths that are a part of a corpus, the
/// [whole](Lengths::population) decides.
///
/// ```
/// use lengthwise::{Lengths, ladder};
///
/// let lengths = Lengths::new([10, 11, 12, 50, 51, 90])?;
/// assert_eq!(ladder(&lengths, 3), [12, 51, 90]);
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn ladder(lengths: &Lengths, rungs: u32) -> Vec<u32> {
    let histogram = lengths.population();
    let distinct = histogram.len();
    let rungs = (rungs as usize).clamp(1, distinct);
    if rungs == distinct {
        return histogram.iter().map(|&(length, _)| length).collect();
    }
    price::ends(histogram, rungs).into_iter().map(|end| histogram[end - 1].0).collect()
}

/// The padding rate when every sequence is padded to the next rung at or above it.
///
/// ```
/// use lengthwise::{Lengths, ladder_padding_rate};
///
/// let lengths = Lengths::new([8, 10])?;
/// assert!((ladder_padding_rate(&lengths, &[10]) - 0.1).abs() < 1e-12);
/// # Ok::<(), lengthwise::Error>(())
/// ```
///
/// # Panics
///
/// When there is no rung at or above the longest length.
pub fn ladder_padding_rate(lengths: &Lengths, rungs: &[u32]) -> f64 {
    1.0 - lengths.total() as f64 / ladder_cells(lengths, rungs) as f64
}

/// The cells when every sequence is padded to the next rung at or above it.
pub(crate) fn ladder_cells(lengths: &Lengths, rungs: &[u32]) -> u128 {
    let cells = lengths.histogram().iter().map(|&(length, count)| {
        let rung = rungs[rungs.partition_point(|&rung| rung < length)];
        u128::from(rung) * u128::from(count)
    });
    cells.sum()
}
