//! The optimal set of batch lengths, by dynamic programming.
//!
//! Given the distinct lengths `l₁ < … < l_D` with counts, and `Fᵢ` the number of sequences up to
//! `lᵢ`, the fewest cells that pad the first `i` lengths to `q` rungs follow the recurrence of
//! Khomenko et al. 2016:
//!
//! > cells(q, i) = min over j < i of cells(q−1, j) + lᵢ · (Fᵢ − Fⱼ)
//!
//! As printed it takes O(q · D²). But for fixed `q` each `j` is a straight line in `lᵢ` with slope
//! `−Fⱼ`, slopes fall with `j` and `lᵢ` rises, so the minimum is the lower envelope of lines read
//! from left to right, and all of it takes O(q · D) (the convex hull trick). The paper's
//! pseudo-code has faults of scanning (it never gives the longest length a bucket); this is derived
//! from the recurrence and tested against it and against trying every set of rungs.
//!
//! For many rungs the table of choices would not fit in memory. There the number of rungs is free
//! and every rung has a price: one pass finds the best ladder at a price, and the price that gives
//! the wanted number of rungs is found by bisection, in O(D · log cells) time and O(D) memory. This
//! is exact because each rung more saves no more than the one before (Aggarwal, Schieber, Tokuyama,
//! *Finding a minimum-weight k-link path in graphs with the concave Monge property*, 1994).

use crate::{Lengths, lengths::is_small_table};

/// The `rungs` batch lengths that need the fewest cells when every sequence is padded to the next
/// one at or above its length; rising, the last one the longest length. With as many rungs as
/// distinct lengths, or more, every distinct length is a rung.
///
/// Time O(rungs · distinct lengths) and that many `u32` of memory where they are few, and time
/// O(distinct lengths · log cells) where they are many.
///
/// ```
/// use lengthwise::{Lengths, ladder};
///
/// let lengths = Lengths::new([10, 11, 12, 50, 51, 90])?;
/// assert_eq!(ladder(&lengths, 3), [12, 51, 90]);
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn ladder(lengths: &Lengths, rungs: u32) -> Vec<u32> {
    let histogram = lengths.histogram();
    let distinct = histogram.len();
    let rungs = (rungs as usize).clamp(1, distinct);
    if rungs == distinct {
        return histogram.iter().map(|&(length, _)| length).collect();
    }
    let mut upto = Vec::with_capacity(distinct + 1);
    upto.push(0_u64);
    for &(_, count) in histogram {
        upto.push(upto[upto.len() - 1] + u64::from(count));
    }
    let ends = if rungs * distinct <= LARGEST_TABLE {
        by_table(histogram, &upto, rungs)
    } else {
        by_price(histogram, &upto, rungs)
    };
    ends.into_iter().map(|end| histogram[end - 1].0).collect()
}

/// How many entries a table of choices may have: 16 MiB.
const LARGEST_TABLE: usize = 1 << 22;

/// The ends of the best partition of the distinct lengths into `rungs` parts, rung by rung.
fn by_table(histogram: &[(u32, u32)], upto: &[u64], rungs: usize) -> Vec<usize> {
    let distinct = histogram.len();
    // One rung: everything up to length i is padded to length i.
    let mut cells: Vec<u64> = vec![0];
    cells.extend(histogram.iter().zip(&upto[1..]).map(|(&(length, _), f)| u64::from(length) * f));
    let mut before = vec![0_u32; (rungs - 1) * (distinct + 1)];
    for (below, before) in before.chunks_exact_mut(distinct + 1).enumerate() {
        cells = one_more_rung(histogram, upto, &cells, below + 1, before);
    }
    let mut ends = vec![distinct];
    for before in before.chunks_exact(distinct + 1).rev() {
        ends.push(before[ends[ends.len() - 1]] as usize);
    }
    ends.reverse();
    ends
}

/// From `cells[j]`, the fewest cells of the first `j` lengths under `below` rungs, to the same with
/// one rung more; `before[i]` is set to the `j` it came from. Only `j ≥ below` is possible: fewer
/// lengths than rungs would leave a rung empty.
fn one_more_rung(
    histogram: &[(u32, u32)],
    upto: &[u64],
    cells: &[u64],
    below: usize,
    before: &mut [u32],
) -> Vec<u64> {
    let mut next = vec![0; cells.len()];
    let mut hull: Vec<usize> = Vec::with_capacity(cells.len() - below);
    let mut best = 0;
    for i in below + 1..cells.len() {
        push_line(&mut hull, i - 1, upto, cells);
        let length = u64::from(histogram[i - 1].0);
        let cost = |j: usize| cells[j] + length * (upto[i] - upto[j]);
        best = best.min(hull.len() - 1);
        while best + 1 < hull.len() && cost(hull[best + 1]) < cost(hull[best]) {
            best += 1;
        }
        next[i] = cost(hull[best]);
        before[i] = hull[best] as u32;
    }
    next
}

/// Adds line `j` on the right of the lower envelope, and drops lines that it hides.
fn push_line(hull: &mut Vec<usize>, j: usize, upto: &[u64], cells: &[u64]) {
    // Where line `b` overtakes line `a` < `b`: (cells[b] − cells[a]) / (upto[b] − upto[a]).
    let overtakes = |a: usize, b: usize| {
        (i128::from(cells[b]) - i128::from(cells[a]), i128::from(upto[b] - upto[a]))
    };
    while let [.., a, b] = hull[..] {
        let (rise_b, run_b) = overtakes(a, b);
        let (rise_j, run_j) = overtakes(b, j);
        // `b` is never strictly best if `j` overtakes it before it overtakes `a`.
        if rise_j * run_b > rise_b * run_j {
            break;
        }
        hull.pop();
    }
    hull.push(j);
}

/// The ends of the best partition of the distinct lengths into `rungs` parts, by bisection on the
/// price of a rung.
fn by_price(histogram: &[(u32, u32)], upto: &[u64], rungs: usize) -> Vec<usize> {
    // The lowest price at which the fewest rungs that are best are not too many.
    let (mut low, mut high) =
        (0, u64::from(histogram[histogram.len() - 1].0) * upto[upto.len() - 1]);
    while low < high {
        let price = low + (high - low) / 2;
        if at_price(histogram, upto, price, Prefer::Fewer).len() <= rungs {
            high = price;
        } else {
            low = price + 1;
        }
    }
    let fewer = at_price(histogram, upto, low, Prefer::Fewer);
    if fewer.len() == rungs {
        return fewer;
    }
    // Several numbers of rungs are best at this price, and ours is between the fewest and the most.
    // Begin like the partition with more rungs and end like the one with fewer, changing over where
    // a part of the first lies inside a part of the second: no such change makes the sum larger.
    let more = at_price(histogram, upto, low, Prefer::More);
    let extra = rungs - fewer.len();
    let crossing = (0..fewer.len()).find(|&k| more[k + extra] < fewer[k]).unwrap_or(0);
    [&more[..crossing + extra], &fewer[crossing..]].concat()
}

#[derive(Clone, Copy, PartialEq)]
enum Prefer {
    Fewer,
    More,
}

/// The ends of the partition that is best when every rung costs `price` cells; of several the one
/// with the fewest parts, or the most.
fn at_price(histogram: &[(u32, u32)], upto: &[u64], price: u64, prefer: Prefer) -> Vec<usize> {
    // Everything is scaled so that one unit a rung decides between equals and nothing else.
    let distinct = histogram.len();
    let scale = distinct as i128 + 1;
    let price = scale * i128::from(price) + if prefer == Prefer::Fewer { 1 } else { -1 };
    let mut cost = vec![0_i128; distinct + 1];
    let mut before = vec![0_u32; distinct + 1];
    // The lower envelope: lines, and the length from which each is better than the one before it.
    let mut hull: Vec<(usize, i128)> = vec![(0, 0)];
    let mut best = 0;
    for i in 1..=distinct {
        let length = i128::from(histogram[i - 1].0);
        let cost_from = |j: usize| cost[j] + price + scale * length * i128::from(upto[i] - upto[j]);
        best = best.min(hull.len() - 1);
        while best + 1 < hull.len() && hull[best + 1].1 <= length {
            best += 1;
        }
        let j = hull[best].0;
        (cost[i], before[i]) = (cost_from(j), j as u32);
        // Line i is better than line a from the first length at or above the quotient.
        let better_from = |a: usize| {
            let (rise, run) = (cost[i] - cost[a], scale * i128::from(upto[i] - upto[a]));
            rise.div_euclid(run) + i128::from(rise.rem_euclid(run) > 0)
        };
        while hull.len() > 1 && better_from(hull[hull.len() - 1].0) <= hull[hull.len() - 1].1 {
            hull.pop();
        }
        hull.push((i, better_from(hull[hull.len() - 1].0)));
    }
    let mut ends = vec![distinct];
    while before[ends[ends.len() - 1]] > 0 {
        ends.push(before[ends[ends.len() - 1]] as usize);
    }
    ends.reverse();
    ends
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
    let cells: u64 = lengths
        .histogram()
        .iter()
        .map(|&(length, count)| {
            let rung = rungs[rungs.partition_point(|&rung| rung < length)];
            u64::from(rung) * u64::from(count)
        })
        .sum();
    1.0 - lengths.total() as f64 / cells as f64
}

/// Finds the step that a length is on: the first of several rising edges at or above it. One look
/// into a table where that is small, a binary search where it is not.
#[derive(Clone, Debug)]
pub(crate) struct Staircase {
    edges: Vec<u32>,
    table: Vec<u32>,
}

impl Staircase {
    /// For the lengths that are to be looked up.
    pub(crate) fn new(edges: Vec<u32>, lengths: &Lengths) -> Self {
        let table = if is_small_table(lengths.max(), lengths.len()) {
            (0..=lengths.max()).map(|length| search(&edges, length)).collect()
        } else {
            Vec::new()
        };
        Self { edges, table }
    }

    /// The edges, rising.
    pub(crate) fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The number of the step; the number of edges for a length above them all.
    pub(crate) fn of(&self, length: u32) -> u32 {
        self.table.get(length as usize).copied().unwrap_or_else(|| search(&self.edges, length))
    }
}

fn search(edges: &[u32], length: u32) -> u32 {
    edges.partition_point(|&edge| edge < length) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Rng};

    /// Both ways find partitions of the same cells and of exactly as many parts.
    #[test]
    fn the_table_and_the_price_agree() {
        for epoch in 0..300 {
            let mut random = Rng::new(3, epoch).stream(Purpose::Own(0));
            let count = 2 + random.below(60);
            // Small counts and regular lengths make many partitions equally good.
            let most = [2, 5, 4_000_000_000][random.below(3) as usize];
            let mut length = 0;
            let histogram: Vec<(u32, u32)> = (0..count)
                .map(|_| {
                    length += 1 + random.below(3) * random.below(1 + most.min(70_000_000));
                    (length, 1 + random.below(most.min(70_000_000)))
                })
                .collect();
            let mut upto = vec![0];
            for &(_, count) in &histogram {
                upto.push(upto[upto.len() - 1] + u64::from(count));
            }
            let cells = |ends: &[usize]| -> u64 {
                let starts = std::iter::once(&0).chain(ends);
                starts
                    .zip(ends)
                    .map(|(&j, &i)| u64::from(histogram[i - 1].0) * (upto[i] - upto[j]))
                    .sum()
            };
            for rungs in 1..count as usize {
                let (table, price) =
                    (by_table(&histogram, &upto, rungs), by_price(&histogram, &upto, rungs));
                assert_eq!(price.len(), rungs, "{histogram:?}");
                assert!(price.is_sorted_by(|a, b| a < b), "{price:?}");
                assert_eq!(cells(&price), cells(&table), "{rungs} rungs for {histogram:?}");
            }
        }
    }
}
