//! Several sequences in one row, one after another.

use crate::data::lengths::Lengths;
use crate::limit::capacity::Row;

/// Best fit: takes the sequences in the given order, and puts each into the row in which it leaves the
/// least free space, or into a new row if it fits nowhere. Returns the sequences row by row, and where
/// each row ends. No sequence may be longer than the capacity.
///
/// Rows that can take no more are put away, so the time is O(sequences), whatever the capacity.
/// Capacities above 65,536 are divided into as many steps; of rows within one step it is not always
/// the fullest that is taken.
pub(crate) fn pack(order: &[u32], lengths: &Lengths, row: Row) -> (Vec<u32>, Vec<u32>) {
    let mut best_fit = BestFit::new(row.capacity);
    let (mut free, mut sizes): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut row_of = Vec::with_capacity(order.len());
    for &sequence in order {
        let length = lengths.of(sequence);
        let taken = best_fit.take(length, &free).unwrap_or_else(|| {
            free.push(row.capacity);
            sizes.push(0);
            free.len() as u32 - 1
        });
        let at = taken as usize;
        free[at] -= length;
        sizes[at] += 1;
        if free[at] >= lengths.min() && sizes[at] < row.at_most {
            best_fit.put(taken, free[at]);
        }
        row_of.push(taken);
    }
    gathered(order, &row_of, sizes)
}

/// The sequences row by row, each row in the order in which they came.
fn gathered(order: &[u32], row_of: &[u32], sizes: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut places = sizes;
    let mut start = 0;
    for place in &mut places {
        (*place, start) = (start, start + *place);
    }
    let mut sorted = vec![0; order.len()];
    for (&sequence, &row) in order.iter().zip(row_of) {
        let place = &mut places[row as usize];
        sorted[*place as usize] = sequence;
        *place += 1;
    }
    // Every place now stands where its row ends.
    (sorted, places)
}

/// The most shelves. Above it a shelf holds rows of several capacities.
const MOST: u32 = 1 << 16;

/// How many rows of its own shelf a sequence is tried in.
const TRIES: usize = 8;

const NONE: u32 = u32::MAX;

/// The open rows by the free space that they have left: one shelf for each amount, or for a few if
/// there are many. A tree of words of 64 bits says which shelves have rows, so that the next shelf is
/// found in a few looks.
struct BestFit {
    shift: u32,
    /// The row on top of each shelf, and the row under each row.
    top: Vec<u32>,
    under: Vec<u32>,
    /// Bit i of a level says whether word i of the level before has any bit; of the first, whether
    /// shelf i has a row.
    levels: Vec<Vec<u64>>,
}

impl BestFit {
    fn new(capacity: u32) -> Self {
        let shift = (u32::BITS - capacity.leading_zeros()).saturating_sub(MOST.ilog2());
        let best_fit = (capacity >> shift) as usize + 1;
        let mut levels = vec![vec![0; best_fit.div_ceil(64)]];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            levels.push(vec![0; last.len().div_ceil(64)]);
        }
        Self { shift, top: vec![NONE; best_fit], under: Vec::new(), levels }
    }

    /// Puts a row on the shelf of its free space.
    fn put(&mut self, row: u32, free: u32) {
        let place = (free >> self.shift) as usize;
        if self.under.len() <= row as usize {
            self.under.resize(row as usize + 1, NONE);
        }
        self.under[row as usize] = self.top[place];
        if std::mem::replace(&mut self.top[place], row) == NONE {
            self.mark(place);
        }
    }

    /// Takes the row with the least free space that holds a sequence of this length.
    fn take(&mut self, length: u32, free: &[u32]) -> Option<u32> {
        let mut from = (length >> self.shift) as usize;
        if self.shift > 0 {
            // Rows of this shelf may have enough space or not.
            if let Some(row) = self.take_from(from, length, free) {
                return Some(row);
            }
            from += 1;
        }
        let place = self.first_from(from)?;
        Some(self.take_under(NONE, self.top[place], place))
    }

    /// Takes away a row of a shelf, which is under another one, or on top.
    fn take_under(&mut self, above: u32, row: u32, place: usize) -> u32 {
        let below = self.under[row as usize];
        if above != NONE {
            self.under[above as usize] = below;
            return row;
        }
        self.top[place] = below;
        if below == NONE {
            self.unmark(place);
        }
        row
    }

    fn take_from(&mut self, place: usize, length: u32, free: &[u32]) -> Option<u32> {
        let (mut above, mut row) = (NONE, self.top[place]);
        for _ in 0..TRIES {
            if row == NONE {
                return None;
            }
            if free[row as usize] >= length {
                return Some(self.take_under(above, row, place));
            }
            (above, row) = (row, self.under[row as usize]);
        }
        None
    }

    fn mark(&mut self, mut at: usize) {
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let had = *word != 0;
            *word |= 1 << (at % 64);
            if had {
                return;
            }
            at /= 64;
        }
    }

    fn unmark(&mut self, mut at: usize) {
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The first shelf with a row, from this one on.
    fn first_from(&self, mut at: usize) -> Option<usize> {
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                // Down again, to the first bit each time.
                let mut at = at / 64 * 64 + word.trailing_zeros() as usize;
                for level in self.levels[..height].iter().rev() {
                    at = at * 64 + level[at].trailing_zeros() as usize;
                }
                return Some(at);
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};

    /// Best fit as it is defined, by looking at every row.
    fn plain(order: &[u32], lengths: &Lengths, row: Row) -> Vec<Vec<u32>> {
        let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
        for &sequence in order {
            let length = lengths.of(sequence);
            let fits = rows
                .iter_mut()
                .filter(|(free, members)| *free >= length && members.len() < row.at_most as usize);
            match fits.min_by_key(|(free, _)| *free) {
                Some((free, members)) => {
                    *free -= length;
                    members.push(sequence);
                }
                None => rows.push((row.capacity - length, vec![sequence])),
            }
        }
        rows.into_iter().map(|(_, members)| members).collect()
    }

    fn rows(packed: &(Vec<u32>, Vec<u32>)) -> Vec<Vec<u32>> {
        let starts = std::iter::once(&0).chain(&packed.1);
        starts.zip(&packed.1).map(|(&a, &b)| packed.0[a as usize..b as usize].to_vec()).collect()
    }

    /// How full the rows are does not depend on which of equally full rows is taken.
    #[test]
    fn it_is_best_fit() {
        for epoch in 0..400 {
            let mut random = Rng::new(9, epoch).stream(Purpose::Own(0));
            let capacity = 1 + random.below([20, 300, 5000, 60_000][epoch as usize % 4]);
            let lengths = (0..=random.below(200))
                .map(|_| {
                    let longest = 1 + random.below(capacity);
                    1 + random.below(longest)
                })
                .collect::<Vec<_>>();
            let lengths = Lengths::new(lengths).unwrap();
            let row = Row { capacity, at_most: u32::MAX };
            let order: Vec<u32> = (0..lengths.count()).collect();
            let sums = |rows: Vec<Vec<u32>>| {
                let sum = |row: &Vec<u32>| row.iter().map(|&i| lengths.of(i)).sum::<u32>();
                let mut sums: Vec<u32> = rows.iter().map(sum).collect();
                sums.sort_unstable();
                sums
            };
            assert_eq!(
                sums(rows(&pack(&order, &lengths, row))),
                sums(plain(&order, &lengths, row))
            );
        }
    }

    #[test]
    fn rows_keep_their_limits_at_any_scale() {
        for epoch in 0..300 {
            let mut random = Rng::new(10, epoch).stream(Purpose::Own(0));
            let capacity = u32::MAX >> random.below(25);
            let at_most = [1, 2, 7, u32::MAX][random.below(4) as usize];
            let longest = 1 + random.below(capacity);
            let lengths: Vec<u32> = (0..300).map(|_| 1 + random.below(longest)).collect();
            let lengths = Lengths::new(lengths).unwrap();
            let order: Vec<u32> = (0..lengths.count()).rev().collect();
            let row = Row { capacity, at_most };
            let packed = pack(&order, &lengths, row);
            let mut seen = packed.0.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..300).collect::<Vec<_>>());
            for members in rows(&packed) {
                assert!(!members.is_empty());
                let sum = members.iter().map(|&i| u64::from(lengths.of(i))).sum();
                row.check(&members, sum).unwrap();
            }
        }
    }

    /// Halves that fit exactly are found, though the capacity is far above the number of steps.
    #[test]
    fn exact_fits_are_found_at_any_scale() {
        for capacity in [100_002, 1_999_999_998, u32::MAX - 1] {
            let lengths = Lengths::new([capacity / 2; 64]).unwrap();
            let order: Vec<u32> = (0..64).collect();
            let packed = pack(&order, &lengths, Row { capacity, at_most: u32::MAX });
            assert_eq!(packed.1.len(), 32, "{capacity}");
        }
    }
}
