//! What a plan takes in memory at most, computed before anything large is allocated.
//!
//! The number of batches of an epoch is random, unless sequences wait at the rungs of a ladder. A bound
//! on it follows from how often each length occurs: it holds for every order, and so for every epoch.

use crate::{
    data::lengths::Lengths,
    limit::{capacity::Open, resolved::ResolvedBudget},
    shape::rounding::Rounding,
};

/// The most batches that these lengths make in any order that is cut into `groups`: as many as if it were
/// cut from the front, wherever the short batch is.
///
/// A batch ends where one sequence more would not fit. So it has at least as many sequences as a full
/// batch of the longest length among them and that one more, and there are most batches if each of them
/// meets one of the longest sequences. A sequence is met by its own batch and, as the one that does not
/// fit, by the batch before; batches of a multiple of `multiple` sequences look ahead as far.
pub(crate) fn most_batches(
    lengths: &Lengths,
    rounding: &Rounding,
    limit: &ResolvedBudget,
    multiple: u32,
    groups: u64,
) -> u64 {
    if let Rounding::Rungs(rungs) = rounding {
        let edges = rungs.edges();
        let mut counts = vec![0_u64; edges.len()];
        for &(length, count) in lengths.histogram() {
            counts[rungs.of(length) as usize] += u64::from(count);
        }
        // What is left at a rung is one batch, or fills up one of the next.
        let full =
            counts.iter().zip(edges).map(|(count, &rung)| count / u64::from(limit.full(rung)));
        return full.sum::<u64>() + 2 * edges.len() as u64;
    }
    let (mut left, mut batches) = (lengths.len() as u64, 0);
    for &(length, count) in lengths.histogram().iter().rev() {
        let size = u64::from(limit.full(rounding.of(length)));
        let met = u64::from(count) * (1 + u64::from(multiple));
        let some = met.min(left / size);
        batches += some;
        left -= some * size;
        if some < met {
            break;
        }
    }
    batches + groups.min(lengths.len() as u64)
}

/// How many batches sequences make in rising order, at most `most`: `ends` has where the sequences of each
/// length end, and what they are padded to.
pub(crate) fn sorted_batches(ends: &[(usize, u32)], limit: &ResolvedBudget, most: usize) -> usize {
    let count = ends.last().map_or(0, |&(end, _)| end);
    let (mut start, mut batches) = (0, 0);
    while start < count && batches < most {
        let mut run = ends.partition_point(|&(end, _)| end <= start);
        let (mut open, mut at) = (Open::default(), start);
        while at < count {
            if at == ends[run].0 {
                run += 1;
            }
            let grown = open.with(ends[run].1);
            if !limit.admits(open, grown) {
                break;
            }
            (open, at) = (grown, at + 1);
        }
        start += if at == count { open.size } else { limit.keep(open.size) } as usize;
        batches += 1;
    }
    batches
}

/// Bytes that a batch takes while an order is cut: its end and its length, in lists that grow, and its
/// place among the batches.
pub(crate) const OF_CUT: u64 = 40;

/// Bytes that sorting takes for each sequence if all of them have the same key.
pub(crate) const OF_EQUALS: u64 = 72;
