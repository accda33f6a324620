//! The optimal set of batch lengths.
//!
//! Given the distinct lengths `l₁ < … < l_D` with counts, and `Fᵢ` the number of sequences up to
//! `lᵢ`, the fewest cells that pad the first `i` lengths to `q` rungs follow the recurrence of
//! Khomenko et al. 2016:
//!
//! > cells(q, i) = min over j < i of cells(q−1, j) + lᵢ · (Fᵢ − Fⱼ)
//!
//! As printed it takes O(q · D²). The paper's pseudo-code has errors (the longest length never gets a
//! bucket), so this code is derived from the recurrence, and tested against it and against trying every
//! set of rungs. [`ends`] finds the optimum without a table.

use std::ops::{Add, Mul, Sub};

use crate::data::lengths::Lengths;

/// The `rungs` batch lengths that need the fewest cells if every sequence is padded to the next one at
/// or above its length, in ascending order; the last one is the longest length. If there are as many
/// rungs as distinct lengths, or more, every distinct length is a rung. If several sets need equally
/// few cells, it is the one whose rungs are all lowest.
///
/// For any number of rungs: time O(distinct lengths · log cells) at most, mostly a dozen passes over
/// the distinct lengths, and O(distinct lengths) of memory. For lengths that are a part of a corpus,
/// the [whole corpus](Lengths::population) decides.
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
    ends(histogram, rungs).into_iter().map(|end| histogram[end - 1].0).collect()
}

/// The padding rate when every sequence is padded to the next rung at or above it.
///
/// ```
/// use lengthwise::{Lengths, measure::ladder_padding_rate};
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

/// The ends of the best partition of the distinct lengths into `parts` parts; the lowest of several.
/// There are more distinct lengths than parts, and at least one part.
///
/// Let the number of parts be free, and let every part cost a price beside its cells. The best
/// partition at a price needs one pass: each `j` is a straight line in `lᵢ` with slope `−Fⱼ`, slopes
/// fall with `j` and `lᵢ` rises, so the minimum over `j` is the lower envelope of lines, read from
/// left to right (the convex hull trick).
///
/// Each part more saves no more than the one before (the cells are a Monge cost: Aggarwal, Schieber,
/// Tokuyama, *Finding a minimum-weight k-link path in graphs with the concave Monge property*, 1994).
/// So there is a price at which any number of parts is best, and the higher the price the fewer they
/// are. The search for it begins at the price that a smooth density would have, and goes on by
/// interpolation, with halving in between so that it ends.
///
/// Ties. If two partitions into as many parts are best, then so are the one that takes the lower of
/// their ends each time, and the one that takes the higher. So one partition is the lowest at every
/// end, and that is the answer; no detail of the search shows in it.
fn ends(histogram: &[(u32, u32)], parts: usize) -> Vec<usize> {
    // No cost is above two times all cells of one part, and no difference of costs above that.
    let (longest, count) = histogram
        .iter()
        .fold((0, 0), |(_, sum), &(length, count)| (u64::from(length), sum + u64::from(count)));
    let cells = longest.saturating_mul(count);
    if cells < 1 << 61 {
        Search::<i64>::new(histogram).ends(parts)
    } else {
        Search::<i128>::new(histogram).ends(parts)
    }
}

/// An integer for costs: `i64` where all costs fit, and `i128` where they do not.
trait Integer:
    Copy
    + Ord
    + From<u32>
    + Into<i128>
    + TryFrom<i128>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// From a number that is known to fit.
    fn narrow(number: i128) -> Self {
        Self::try_from(number).unwrap_or_else(|_| unreachable!("costs were found to fit"))
    }
}

impl Integer for i64 {}
impl Integer for i128 {}

/// The best partition of the first `end` lengths as a straight line: what partitions that go on from
/// there cost, over the next part's length.
#[derive(Clone, Copy)]
struct Line<T> {
    cost: T,
    upto: T,
    end: u32,
}

impl<T: Integer> Line<T> {
    fn at(self, length: T) -> T {
        self.cost - length * self.upto
    }
}

/// A number of parts that is best at a price.
#[derive(Clone, Copy)]
struct Known {
    price: i128,
    parts: usize,
    /// The cells of the best partition into so many parts.
    cells: i128,
}

struct Search<'a, T> {
    histogram: &'a [(u32, u32)],
    /// `costs[i]`: the best partition of the first `i` lengths at the price of the last pass.
    costs: Vec<T>,
    /// Where its last part begins.
    before: Vec<u32>,
    hull: Vec<Line<T>>,
}

impl<'a, T: Integer> Search<'a, T> {
    fn new(histogram: &'a [(u32, u32)]) -> Self {
        let zero = T::from(0);
        Self {
            histogram,
            costs: vec![zero; histogram.len() + 1],
            before: vec![0; histogram.len() + 1],
            hull: vec![Line { cost: zero, upto: zero, end: 0 }; histogram.len()],
        }
    }

    fn ends(mut self, parts: usize) -> Vec<usize> {
        let distinct = self.histogram.len();
        if parts == 1 {
            return vec![distinct];
        }
        let rows = self.histogram.iter().map(|&(length, count)| [length, count].map(i128::from));
        let cells = rows.clone().map(|[length, count]| length * count).sum();
        // At no price every length is a part, and at the price of everything there is one part.
        let mut more = Known { price: 0, parts: distinct, cells };
        let longest = i128::from(self.histogram[distinct - 1].0);
        let cells = longest * rows.map(|[_, count]| count).sum::<i128>();
        let mut fewer = Known { price: cells, parts: 1, cells };
        let mut next = self.price_of_a_density(parts);
        let mut passes = 0;
        loop {
            let lowest = more.price + 1;
            let price = next.clamp(lowest, lowest.max(fewer.price - 1));
            self.pass(price, false);
            let ends = self.walk_back();
            if ends.len() == parts {
                return ends;
            }
            let cost: i128 = self.costs[distinct].into();
            let cells = cost - price * ends.len() as i128;
            let found = Known { price, parts: ends.len(), cells };
            let gap = more.parts - fewer.parts;
            if found.parts > parts {
                more = found;
            } else {
                // If more parts are as good at this price, then so is every number between.
                let cost = |known: Known| known.cells + price * known.parts as i128;
                if cost(more) == cost(found) {
                    return self.between(price, parts);
                }
                fewer = found;
            }
            // Interpolation that does not help is followed by what always does.
            let slow = (more.parts - fewer.parts) * 2 > gap;
            passes += 1;
            next = match passes % 3 {
                1 if slow => (fewer.cells - more.cells) / (more.parts - fewer.parts) as i128,
                2 if slow => i128::midpoint(more.price, fewer.price),
                _ => interpolate(more, fewer, found, distinct, parts),
            };
        }
    }

    /// What the last of many parts saves if lengths are dense: of `parts` parts of a density f, the
    /// best have as much of ∫√f each, and pad by (∫√f)² / 2·parts together.
    fn price_of_a_density(&self, parts: usize) -> i128 {
        let mut below = 0;
        let integral: f64 = self
            .histogram
            .chunks(self.histogram.len().div_ceil(4096))
            .map(|chunk| {
                let count: f64 = chunk.iter().map(|&(_, count)| f64::from(count)).sum();
                let last = chunk[chunk.len() - 1].0;
                let width = f64::from(last - below);
                below = last;
                (count * width).sqrt()
            })
            .sum();
        (integral * integral / (2.0 * parts as f64 * parts as f64)) as i128
    }

    /// Fills `costs` and `before` with what is best at a price. Of several best places for the beginning of a
    /// part it is the `last`, which gives the most parts, or else the first, which gives the fewest.
    fn pass(&mut self, price: i128, last: bool) {
        let price = T::narrow(price);
        let (mut upto, mut cost) = (T::from(0), T::from(0));
        // The envelope is hull[head..tail]; what was left of the head is never best again.
        let (mut head, mut tail) = (0, 0);
        let hull = &mut self.hull[..];
        let rows = self.histogram.iter().zip(&mut self.costs[1..]).zip(&mut self.before[1..]);
        for (end, ((&(length, count), cost_here), before)) in rows.enumerate() {
            // Add the line that ends before this length, and drop lines that it hides.
            let line = Line { cost, upto, end: end as u32 };
            while tail >= head + 2 {
                let (a, b) = (hull[tail - 2], hull[tail - 1]);
                // Line `b` overtakes line `a` at (b.cost − a.cost) / (b.upto − a.upto).
                let left = (line.cost - b.cost).into() * (b.upto - a.upto).into();
                if left > (b.cost - a.cost).into() * (line.upto - b.upto).into() {
                    break;
                }
                tail -= 1;
            }
            hull[tail] = line;
            tail += 1;
            let length = T::from(length);
            upto = upto + T::from(count);
            let mut best = hull[head].at(length);
            while head + 1 < tail {
                let next = hull[head + 1].at(length);
                if next > best || (next == best && !last) {
                    break;
                }
                head += 1;
                best = next;
            }
            cost = best + length * upto + price;
            *cost_here = cost;
            *before = hull[head].end;
        }
    }

    /// The ends of the partition that the last pass found.
    fn walk_back(&self) -> Vec<usize> {
        let mut ends = vec![self.histogram.len()];
        while self.before[ends[ends.len() - 1]] > 0 {
            ends.push(self.before[ends[ends.len() - 1]] as usize);
        }
        ends.reverse();
        ends
    }

    /// The lowest partition into `parts` parts where several numbers of parts are best at a price,
    /// and `parts` is neither the fewest nor, maybe, the most of them. The last pass was at this
    /// price, and preferred first places.
    fn between(&mut self, price: i128, parts: usize) -> Vec<usize> {
        let first = self.before.clone();
        let fewest = self.parts_upto();
        self.pass(price, true);
        let most = self.parts_upto();
        let price = T::narrow(price);
        let mut upto = vec![T::from(0)];
        for &(_, count) in self.histogram {
            upto.push(upto[upto.len() - 1] + T::from(count));
        }
        let mut end = self.histogram.len();
        let mut ends = Vec::with_capacity(parts);
        for left in (0..parts).rev() {
            ends.push(end);
            let length = T::from(self.histogram[end - 1].0);
            let is_best = |&from: &usize| {
                let cost = self.costs[from] + length * (upto[end] - upto[from]) + price;
                cost == self.costs[end]
                    && (fewest[from] as usize..=most[from] as usize).contains(&left)
            };
            // The last place that is best by this price can be followed from any number between.
            let last = self.before[end] as usize;
            end = (first[end] as usize..last).find(is_best).unwrap_or(last);
        }
        ends.reverse();
        ends
    }

    /// How many parts the partitions of the first lengths have, by the last pass.
    fn parts_upto(&self) -> Vec<u32> {
        let mut parts = vec![0; self.before.len()];
        for (end, &before) in self.before.iter().enumerate().skip(1) {
            parts[end] = parts[before as usize] + 1;
        }
        parts
    }
}

/// The price of `parts` parts between two known prices, as if it were a power of the number. Of a
/// density it is the power −2, which is taken as long as one of the two was never tried.
fn interpolate(more: Known, fewer: Known, found: Known, distinct: usize, parts: usize) -> i128 {
    let power = if more.parts == distinct || fewer.parts == 1 {
        2.0
    } else {
        let parts = more.parts as f64 / fewer.parts as f64;
        (fewer.price as f64 / more.price as f64).ln() / parts.ln()
    };
    (found.price as f64 * (found.parts as f64 / parts as f64).powf(power)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng, Stream};

    fn cells(histogram: &[(u32, u32)], ends: &[usize]) -> u128 {
        let starts = std::iter::once(&0).chain(ends);
        starts
            .zip(ends)
            .map(|(&start, &end)| {
                let count: u128 = histogram[start..end].iter().map(|&(_, n)| u128::from(n)).sum();
                u128::from(histogram[end - 1].0) * count
            })
            .sum()
    }

    /// The recurrence as printed, with the first best place each time: by the lattice of best
    /// partitions this is the lowest of them.
    fn by_recurrence(histogram: &[(u32, u32)], parts: usize) -> Vec<usize> {
        let distinct = histogram.len();
        let mut upto = vec![0_u128];
        for &(_, count) in histogram {
            upto.push(upto[upto.len() - 1] + u128::from(count));
        }
        let mut best = vec![u128::MAX / 2; distinct + 1];
        best[0] = 0;
        let mut tables = Vec::new();
        for _ in 0..parts {
            let mut next = vec![(u128::MAX / 2, 0); distinct + 1];
            for end in 1..=distinct {
                let length = u128::from(histogram[end - 1].0);
                next[end] = (0..end)
                    .map(|from| (best[from] + length * (upto[end] - upto[from]), from))
                    .min()
                    .unwrap();
            }
            best = next.iter().map(|&(cells, _)| cells).collect();
            tables.push(next);
        }
        let mut ends = vec![distinct];
        for table in tables[1..].iter().rev() {
            ends.push(table[ends[ends.len() - 1]].1);
        }
        ends.reverse();
        ends
    }

    /// Every partition there is.
    fn by_trying_all(histogram: &[(u32, u32)], parts: usize) -> Vec<usize> {
        let distinct = histogram.len();
        let all = (0_u32..1 << (distinct - 1))
            .filter(|cuts| cuts.count_ones() as usize == parts - 1)
            .map(|cuts| {
                let inner = (1..distinct).filter(|&end| cuts >> (end - 1) & 1 == 1);
                inner.chain([distinct]).collect::<Vec<_>>()
            });
        let best: Vec<Vec<usize>> = all.fold(Vec::new(), |mut best, ends| {
            let fewest = best.first().map_or(u128::MAX, |ends: &Vec<usize>| cells(histogram, ends));
            match cells(histogram, &ends) {
                more if more > fewest => best,
                same if same == fewest => {
                    best.push(ends);
                    best
                }
                _ => vec![ends],
            }
        });
        (0..parts).map(|part| best.iter().map(|ends| ends[part]).min().unwrap()).collect()
    }

    /// Lengths and counts of very different kinds. Small and regular ones make many partitions
    /// equally good; huge ones need more than 64 bits.
    fn histogram(random: &mut Stream, distinct: u32) -> Vec<(u32, u32)> {
        let gap = [1, 2, 40, 40_000_000][random.below(4) as usize].min(u32::MAX / distinct);
        let most = [1, 2, 30, 40_000_000][random.below(4) as usize];
        let highest = random.below(4) == 0;
        let mut length = 0;
        let mut rows: Vec<(u32, u32)> = (0..distinct)
            .map(|_| {
                length += 1 + random.below(gap);
                (length, 1 + random.below(most))
            })
            .collect();
        if highest {
            for row in &mut rows {
                row.0 += u32::MAX - length;
            }
        }
        rows
    }

    #[test]
    fn it_is_the_lowest_of_the_best_of_all_partitions() {
        for epoch in 0..2000 {
            let mut random = Rng::new(3, epoch).stream(Purpose::Own(0));
            let distinct = 2 + random.below(8);
            let histogram = histogram(&mut random, distinct);
            for parts in 1..histogram.len() {
                let found = ends(&histogram, parts);
                assert_eq!(found, by_trying_all(&histogram, parts), "{parts} of {histogram:?}");
                assert_eq!(found, by_recurrence(&histogram, parts), "{parts} of {histogram:?}");
            }
        }
    }

    #[test]
    fn it_is_what_the_recurrence_gives() {
        for epoch in 0..100 {
            let mut random = Rng::new(4, epoch).stream(Purpose::Own(0));
            let distinct = 20 + random.below(60);
            let histogram = histogram(&mut random, distinct);
            for parts in 1..histogram.len() {
                assert_eq!(
                    ends(&histogram, parts),
                    by_recurrence(&histogram, parts),
                    "{parts} of {histogram:?}"
                );
            }
        }
    }

    /// The most that lengths can be: all cells of one part are nearly 2⁶⁴.
    #[test]
    fn costs_beyond_64_bits_are_right() {
        let rows = [
            (1, 4_000_000_000),
            (u32::MAX - 2, 90_000_000),
            (u32::MAX - 1, 1),
            (u32::MAX, 204_967_294),
        ];
        for parts in 1..4 {
            assert_eq!(ends(&rows, parts), by_trying_all(&rows, parts), "{parts}");
        }
        for parts in 1..4 {
            let narrow = Search::<i64>::new(&[(1, 3), (4, 1), (6, 2), (9, 1)]).ends(parts);
            let wide = Search::<i128>::new(&[(1, 3), (4, 1), (6, 2), (9, 1)]).ends(parts);
            assert_eq!(narrow, wide);
        }
    }
}
