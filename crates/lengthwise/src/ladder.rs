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

use crate::{Lengths, lengths::is_small_table};

/// The `rungs` batch lengths that need the fewest cells when every sequence is padded to the next
/// one at or above its length; rising, the last one the longest length. With as many rungs as
/// distinct lengths, or more, every distinct length is a rung.
///
/// Time O(rungs · distinct lengths), and that many `u32` of memory to trace the choice back.
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
    // One rung: everything up to length i is padded to length i.
    let mut cells: Vec<u64> = vec![0];
    cells.extend(histogram.iter().zip(&upto[1..]).map(|(&(length, _), f)| u64::from(length) * f));
    let mut before = vec![0_u32; (rungs - 1) * (distinct + 1)];
    for (below, before) in before.chunks_exact_mut(distinct + 1).enumerate() {
        cells = one_more_rung(histogram, &upto, &cells, below + 1, before);
    }
    let mut top = distinct;
    let mut chosen = vec![histogram[top - 1].0];
    for before in before.chunks_exact(distinct + 1).rev() {
        top = before[top] as usize;
        chosen.push(histogram[top - 1].0);
    }
    chosen.reverse();
    chosen
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
pub(crate) struct Steps {
    edges: Vec<u32>,
    table: Vec<u32>,
}

impl Steps {
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
