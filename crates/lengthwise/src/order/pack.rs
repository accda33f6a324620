//! Several sequences in one row, one after another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::limit::capacity::Row;
use crate::limit::cost::CostModel;
use crate::limit::resolved::ResolvedBudget;
use crate::order::sort;

/// Best fit: takes the sequences in the given order, and puts each into the row in which it leaves the
/// least free space, or into a new row if it fits nowhere. Returns the sequences row by row, and where
/// each row ends. No sequence may be longer than the capacity.
///
/// Rows that can take no more are put away, so the time is O(sequences), whatever the capacity.
/// Capacities above 65,536 are divided into as many steps; of rows within one step it is not always
/// the fullest that is taken.
///
/// With a limit on what a row costs, the space of a row is what it may cost instead of positions.
pub(crate) fn pack(
    order: &[u32],
    lengths: &Lengths,
    limit: &ResolvedBudget,
) -> (Vec<u32>, Vec<u32>) {
    let row = limit.row();
    let size = |sequence: u32| limit.held(lengths, sequence).len() as u32;
    let Some(cost) = limit.row_cost() else {
        return best_fit(order, |sequence| lengths.of(sequence), size, lengths.min(), row);
    };
    let share = |positions: u32, held: &[u32]| {
        let parts = held.iter().map(|&length| cost.part(length)).sum::<f64>();
        let share = parts.max(f64::from(positions) / f64::from(row.capacity));
        // Rounded up, so that rows keep their limit; one that is a whole row stays one.
        ((share * f64::from(UNITS)).ceil() as u32).clamp(1, UNITS)
    };
    let space = |sequence: u32| share(lengths.of(sequence), limit.held(lengths, sequence));
    let least = share(lengths.min(), &[]);
    best_fit(order, space, size, least, Row { capacity: UNITS, ..row })
}

/// What a row may cost is divided into so many units.
const UNITS: u32 = 1 << 30;

/// The same for any space that a sequence takes, and any number that it counts for.
fn best_fit(
    order: &[u32],
    space: impl Fn(u32) -> u32,
    size: impl Fn(u32) -> u32,
    least: u32,
    row: Row,
) -> (Vec<u32>, Vec<u32>) {
    let mut best_fit = BestFit::new(row.capacity);
    // What is free in every row, how many sequences it has, and in how many places.
    let (mut free, mut sizes, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let mut row_of = Vec::with_capacity(order.len());
    for &sequence in order {
        let (length, size) = (space(sequence), size(sequence));
        let mut taken = best_fit.take(length, &free);
        if let Some(full) = taken.filter(|&row_of| row.at_most - sizes[row_of as usize] < size) {
            best_fit.put(full, free[full as usize]);
            taken = None;
        }
        let taken = taken.unwrap_or_else(|| {
            free.push(row.capacity);
            sizes.push(0);
            places.push(0);
            free.len() as u32 - 1
        });
        let at = taken as usize;
        free[at] -= length;
        sizes[at] += size;
        places[at] += 1;
        if free[at] >= least && sizes[at] < row.at_most {
            best_fit.put(taken, free[at]);
        }
        row_of.push(taken);
    }
    gathered(order, &row_of, places)
}

/// A sequence that is to be put into a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// What it adds to the time of its row.
    pub(crate) cost: f64,
    /// Those of the highest come first.
    pub(crate) key: f64,
    /// Which part it is of what a row may cost; 0 if that is not limited.
    pub(crate) part: f64,
    pub(crate) sequence: u32,
    pub(crate) length: u32,
    /// How many sequences it is: more than one if it is a group.
    pub(crate) size: u32,
}

/// A row that is being filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) positions: u64,
    pub(crate) cost: f64,
    pub(crate) part: f64,
    pub(crate) size: u32,
    pub(crate) sequences: Vec<u32>,
}

impl Filled {
    fn takes(&self, piece: &Piece, row: Row) -> bool {
        // Rounded down, so that rows keep their limit.
        let affords = self.sequences.is_empty() || self.part + piece.part <= 1.0 - 1e-9;
        affords
            && self.positions + u64::from(piece.length) <= u64::from(row.capacity)
            && self.size.saturating_add(piece.size) <= row.at_most
    }
}

/// The sequences in `count` rows of about the same cost: those of the highest keys come first, and each goes to the row
/// that costs the least so far and has space for it. Nothing if they do not fit. A row is empty if there are fewer
/// sequences than rows.
pub(crate) fn evenly(pieces: &mut [Piece], count: usize, row: Row) -> Option<Vec<Filled>> {
    // Equal ones stay in their order.
    pieces.sort_by(|a, b| b.key.total_cmp(&a.key));
    let least = pieces.iter().map(|piece| u64::from(piece.length)).min().unwrap_or(0);
    let capacity = u64::from(row.capacity);
    let mut rows = vec![Filled::default(); count];
    // Costs are not negative: their bits have their order.
    let mut open: BinaryHeap<Reverse<(u64, usize)>> =
        (0..count).map(|at| Reverse((0, at))).collect();
    let mut passed = Vec::new();
    for piece in pieces {
        let at = loop {
            let Reverse((cost, at)) = open.pop()?;
            if rows[at].takes(piece, row) {
                break at;
            }
            passed.push(Reverse((cost, at)));
        };
        let into = &mut rows[at];
        into.positions += u64::from(piece.length);
        into.cost += piece.cost;
        into.part += piece.part;
        into.size += piece.size;
        into.sequences.push(piece.sequence);
        if into.positions + least <= capacity && into.size < row.at_most {
            open.push(Reverse((into.cost.to_bits(), at)));
        }
        open.extend(passed.drain(..));
    }
    Some(rows)
}

/// Rows of equal cost: the sequences are taken in the given order, as many at a time as fill [`ROWS`] rows or as
/// `window` has, and divided evenly among as many rows as cost what a row should cost. A sequence that costs more
/// than that has a row of its own. Costly sequences come first, but not strictly by cost: otherwise few rows would be
/// nearly the same in every epoch.
pub(crate) struct Even<'a> {
    lengths: &'a Lengths,
    limit: &'a ResolvedBudget<'a>,
    model: CostModel,
    /// What a row should cost.
    target: f64,
    window: usize,
}

/// How many rows are filled at a time: enough for costs to be equal, and few enough for new batch-mates in every
/// epoch.
const ROWS: f64 = 128.0;

/// Rows are even enough if the one that costs least costs this much of the one that costs most. Where sequences are
/// so few or so long that no rows are, they are nearly as even as they can be.
const EVEN: f64 = 0.995;
const NEARLY: f64 = 0.98;

/// Up to so much is added to a cost for the order.
const JITTER: f64 = 1.0;

/// How full rows are on average, in percent, the fullest first: the fewer positions, the more sequences can move.
const FULL: [u32; 11] = [100, 98, 96, 95, 94, 93, 92, 90, 88, 85, 80];

impl<'a> Even<'a> {
    pub(crate) fn new(
        lengths: &'a Lengths,
        limit: &'a ResolvedBudget<'a>,
        model: CostModel,
        window: u32,
    ) -> Self {
        let Row { capacity, at_most } = limit.row();
        let [mut all, mut count] = [0.0; 2];
        for &(length, of_length) in lengths.population() {
            all += f64::from(of_length) * f64::from(length);
            count += f64::from(of_length);
        }
        let order_size = lengths.len();
        let of_rows = ROWS * f64::from(capacity) * count / all;
        let window = if window > 1 { window as usize } else { (of_rows as usize).max(1) };
        // Windows of about the same size: the last one would not be even.
        let window =
            order_size.div_ceil((order_size as f64 / window as f64).round().max(1.0) as usize);
        let mut even = Self { lengths, limit, model, target: 0.0, window };
        let cost = limit.row_cost();
        let key = format!("balance {capacity} {at_most} {cost:?} {window} {model}");
        let full = lengths.remembered(&key, || vec![even.fullest()]);
        even.target = even.target_of(full[0]);
        even
    }

    /// Rows as full as they can be, in percent, and still even: tried on four windows.
    fn fullest(&self) -> u32 {
        let rng = Rng::new(0, 0);
        let order = sort::shuffled(self.lengths.count(), &rng, Purpose::Shuffle);
        let words: Vec<u32> = rng.words(Purpose::Noise, order.len() as u32).collect();
        let evenness = |&full: &u32| {
            let tried = Self { target: self.target_of(full), ..*self };
            let windows = order.chunks(tried.window).zip(words.chunks(tried.window)).take(4);
            let of_window = windows.map(|(window, words)| {
                let costs = tried.shared(window, words).1.into_iter().map(|row| row.cost);
                let (least, most) =
                    costs.fold((f64::INFINITY, 0.0), |(l, m), cost| (cost.min(l), cost.max(m)));
                if most > 0.0 { least / most } else { 1.0 }
            });
            of_window.fold(1.0, f64::min)
        };
        let all = FULL.map(|full| (full, evenness(&full)));
        let best = all.iter().map(|&(_, even)| even).fold(0.0, f64::max);
        let enough = |&&(_, even): &&(u32, f64)| even >= f64::min(EVEN, NEARLY * best);
        all.iter().find(enough).map_or(FULL[0], |&(full, _)| full)
    }

    /// What a row costs that is so full, in percent, of sequences that do not cost more than a row.
    fn target_of(&self, full: u32) -> f64 {
        let capacity = f64::from(self.limit.row().capacity) * f64::from(full) / 100.0;
        let mut target = f64::INFINITY;
        loop {
            let [mut cost, mut positions] = [0.0; 2];
            let mut add = |own: f64, length: u32, count: u32| {
                if own <= target {
                    cost += own * f64::from(count);
                    positions += f64::from(length) * f64::from(count);
                }
            };
            if self.limit.is_of_members() {
                for unit in 0..self.lengths.count() {
                    add(self.cost(unit), self.lengths.of(unit), 1);
                }
            } else {
                for &(length, count) in self.lengths.population() {
                    add(self.model.of_sequence(length), length, count);
                }
            }
            if positions == 0.0 {
                return target;
            }
            let next = cost / positions * capacity;
            // Without the costliest sequences a row costs less, and so on: it ends with the cheapest.
            if next >= target * (1.0 - 1e-9) {
                return target;
            }
            target = next;
        }
    }

    /// What a sequence, or a group, adds to the time of its row.
    fn cost(&self, sequence: u32) -> f64 {
        let held = self.limit.held(self.lengths, sequence);
        held.iter().map(|&length| self.model.of_sequence(length)).sum()
    }

    /// The sequences that cost more than a row should, and rows of the others.
    fn shared(&self, window: &[u32], words: &[u32]) -> (Vec<u32>, Vec<Filled>) {
        let (mut alone, mut pieces) = (Vec::new(), Vec::new());
        let (mut cost, mut part, mut positions, mut sizes) = (0.0, 0.0, 0, 0);
        let row = self.limit.row();
        for (&sequence, &word) in window.iter().zip(words) {
            let (length, held) =
                (self.lengths.of(sequence), self.limit.held(self.lengths, sequence));
            let own = self.cost(sequence);
            let key = own * (1.0 + JITTER * f64::from(word) / 4_294_967_296.0);
            let limit = self.limit.row_cost();
            let is_alone = limit.is_some_and(|limit| held.iter().any(|&it| limit.is_alone(it)));
            let own_part =
                limit.map_or(0.0, |limit| held.iter().map(|&length| limit.part(length)).sum());
            let size = held.len() as u32;
            let piece = Piece { cost: own, key, part: own_part, sequence, length, size };
            if own >= self.target || is_alone {
                alone.push(sequence);
            } else {
                cost += own;
                part += own_part;
                positions += u64::from(length);
                sizes += u64::from(size);
                pieces.push(piece);
            }
        }
        if pieces.is_empty() {
            return (alone, Vec::new());
        }
        let least = positions.div_ceil(row.capacity.into()).max(sizes.div_ceil(row.at_most.into()));
        let least = (least as usize).max(part.ceil() as usize);
        let mut count = ((cost / self.target).round() as usize).max(least);
        loop {
            count = count.min(pieces.len());
            if let Some(mut rows) = evenly(&mut pieces, count, row) {
                rows.retain(|row| !row.sequences.is_empty());
                return (alone, rows);
            }
            // A row for each sequence always fits.
            count += 1 + count / 64;
        }
    }

    /// The sequences row by row, and where each row ends.
    pub(crate) fn pack(&self, order: &[u32], rng: &Rng) -> (Vec<u32>, Vec<u32>) {
        let (mut packed, mut ends) = (Vec::with_capacity(order.len()), Vec::new());
        let words: Vec<u32> = rng.words(Purpose::Noise, order.len() as u32).collect();
        for (window, words) in order.chunks(self.window).zip(words.chunks(self.window)) {
            let (alone, rows) = self.shared(window, words);
            for sequence in alone {
                packed.push(sequence);
                ends.push(packed.len() as u32);
            }
            for row in rows {
                packed.extend(row.sequences);
                ends.push(packed.len() as u32);
            }
        }
        (packed, ends)
    }
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
    use crate::limit::capacity::{Capacity, Rule};
    use crate::shape::shapes::Shapes;

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

    fn pack(order: &[u32], lengths: &Lengths, row: Row) -> (Vec<u32>, Vec<u32>) {
        let any = Capacity::Cells(u64::MAX);
        let limit = ResolvedBudget::new(any, u32::MAX, 1, Rule::Printed);
        super::pack(order, lengths, &limit.with_row_within(row, &Shapes::Exact, lengths.max()))
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
                row.check(members.len(), sum).unwrap();
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
