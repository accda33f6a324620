//! The recurrence of Khomenko et al. 2016 as printed: the baseline of the ladder.

/// The fewest cells that pad all lengths to `rungs` rungs, by trying every place for each rung:
/// O(rungs · distinct lengths²). `histogram` is the distinct lengths, rising, with their counts.
pub(crate) fn fewest_cells(histogram: &[(u32, u32)], rungs: usize) -> u64 {
    let mut upto = vec![0_u64];
    for &(_, count) in histogram {
        upto.push(upto[upto.len() - 1] + u64::from(count));
    }
    let length = |i: usize| u64::from(histogram[i - 1].0);
    let mut cells: Vec<u64> =
        (0..upto.len()).map(|i| if i == 0 { 0 } else { length(i) * upto[i] }).collect();
    for _ in 1..rungs {
        cells = (0..upto.len())
            .map(|i| (0..i).map(|j| cells[j] + length(i) * (upto[i] - upto[j])).min().unwrap_or(0))
            .collect();
    }
    cells[upto.len() - 1]
}

/// How many places it tries.
pub(crate) fn steps(distinct: u32, rungs: u32) -> u64 {
    u64::from(distinct) * u64::from(distinct) / 2 * u64::from(rungs - 1)
}

/// The cells it takes to pad all lengths to the next of these rungs.
pub(crate) fn cells(histogram: &[(u32, u32)], rungs: &[u32]) -> u64 {
    let rung = |length: u32| rungs[rungs.partition_point(|&rung| rung < length)];
    histogram.iter().map(|&(length, count)| u64::from(rung(length)) * u64::from(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    #[test]
    fn the_recurrence_and_the_ladder_agree() {
        let lengths = data::distinct(200);
        for rungs in [1, 2, 7, 199, 200] {
            let ladder = lengthwise::ladder(&lengths, rungs);
            let fewest = fewest_cells(lengths.histogram(), rungs as usize);
            assert_eq!(cells(lengths.histogram(), &ladder), fewest, "{rungs} rungs");
        }
    }
}
