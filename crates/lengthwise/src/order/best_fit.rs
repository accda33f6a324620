//! The open rows by the room that they have left.

/// The most shelves. Above it a shelf holds rows of several capacities.
const MOST: u32 = 1 << 16;

/// How many rows of its own shelf a sequence is tried in.
const TRIES: usize = 8;

const NONE: u32 = u32::MAX;

/// The open rows by the room that they have left: one shelf for each amount, or for a few if there
/// are many. A tree of words of 64 bits says which shelves have rows, so that the next shelf is found
/// in a few looks.
pub(crate) struct BestFit {
    shift: u32,
    /// The row on top of each shelf, and the row under each row.
    top: Vec<u32>,
    under: Vec<u32>,
    /// Bit i of a level says whether word i of the level before has any bit; of the first, whether
    /// shelf i has a row.
    levels: Vec<Vec<u64>>,
}

impl BestFit {
    pub(crate) fn new(capacity: u32) -> Self {
        let shift = (u32::BITS - capacity.leading_zeros()).saturating_sub(MOST.ilog2());
        let best_fit = (capacity >> shift) as usize + 1;
        let mut levels = vec![vec![0; best_fit.div_ceil(64)]];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            levels.push(vec![0; last.len().div_ceil(64)]);
        }
        Self { shift, top: vec![NONE; best_fit], under: Vec::new(), levels }
    }

    /// Puts a row on the shelf of the room that it has left.
    pub(crate) fn put(&mut self, row: u32, free: u32) {
        let place = (free >> self.shift) as usize;
        if self.under.len() <= row as usize {
            self.under.resize(row as usize + 1, NONE);
        }
        self.under[row as usize] = self.top[place];
        if std::mem::replace(&mut self.top[place], row) == NONE {
            self.mark(place);
        }
    }

    /// Takes away a row with room for a sequence of this length and as little more as there is.
    pub(crate) fn take(&mut self, length: u32, free: &[u32]) -> Option<u32> {
        let own = (length >> self.shift) as usize;
        if self.shift > 0 {
            // Rows of this shelf may have room or not.
            if let Some(row) = self.take_from(own, length, free) {
                return Some(row);
            }
        }
        let place = self.first_from(own + usize::from(self.shift > 0))?;
        let row = self.top[place];
        self.top[place] = self.under[row as usize];
        if self.top[place] == NONE {
            self.unmark(place);
        }
        Some(row)
    }

    fn take_from(&mut self, place: usize, length: u32, free: &[u32]) -> Option<u32> {
        let (mut above, mut row) = (NONE, self.top[place]);
        for _ in 0..TRIES {
            if row == NONE {
                return None;
            }
            let below = self.under[row as usize];
            if free[row as usize] >= length {
                if above == NONE {
                    self.top[place] = below;
                } else {
                    self.under[above as usize] = below;
                }
                if self.top[place] == NONE {
                    self.unmark(place);
                }
                return Some(row);
            }
            (above, row) = (row, below);
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
