//! The recurrence with the convex hull trick, rung after rung: the second baseline of the ladder.

/// The fewest cells that pad all lengths to `rungs` rungs, in O(rungs · distinct lengths). The
/// choices are not kept, so it does not say which rungs. `histogram` is the distinct lengths,
/// rising, with their counts.
pub(crate) fn fewest_cells(histogram: &[(u32, u32)], rungs: usize) -> u64 {
    let mut upto = vec![0_u64];
    for &(_, count) in histogram {
        upto.push(upto[upto.len() - 1] + u64::from(count));
    }
    let length = |i: usize| u64::from(histogram[i - 1].0);
    let mut cells: Vec<u64> =
        (0..upto.len()).map(|i| if i == 0 { 0 } else { length(i) * upto[i] }).collect();
    let mut hull: Vec<usize> = Vec::with_capacity(upto.len());
    for below in 1..rungs {
        let mut next = vec![0; upto.len()];
        let mut best = 0;
        hull.clear();
        for i in below + 1..upto.len() {
            push_line(&mut hull, i - 1, &upto, &cells);
            let cost = |j: usize| cells[j] + length(i) * (upto[i] - upto[j]);
            best = best.min(hull.len() - 1);
            while best + 1 < hull.len() && cost(hull[best + 1]) < cost(hull[best]) {
                best += 1;
            }
            next[i] = cost(hull[best]);
        }
        cells = next;
    }
    cells[upto.len() - 1]
}

/// Adds line `j` on the right of the lower envelope, and drops lines that it hides.
fn push_line(hull: &mut Vec<usize>, j: usize, upto: &[u64], cells: &[u64]) {
    let overtakes = |a: usize, b: usize| {
        (i128::from(cells[b]) - i128::from(cells[a]), i128::from(upto[b] - upto[a]))
    };
    while let [.., a, b] = hull[..] {
        let (rise_b, run_b) = overtakes(a, b);
        let (rise_j, run_j) = overtakes(b, j);
        if rise_j * run_b > rise_b * run_j {
            break;
        }
        hull.pop();
    }
    hull.push(j);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data, quadratic};

    #[test]
    fn the_hull_finds_what_the_recurrence_finds() {
        let lengths = data::distinct(200);
        for rungs in [1, 2, 7, 199, 200] {
            let printed = quadratic::fewest_cells(lengths.histogram(), rungs);
            assert_eq!(fewest_cells(lengths.histogram(), rungs), printed, "{rungs} rungs");
        }
    }
}
