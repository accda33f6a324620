//! How a recurrent layer is split over the device.

/// Parts of a column of recurrent weights: each thread keeps so many of them for four columns.
const DEPTH: usize = 16;

/// The most threads of a block.
const THREADS: usize = 512;

/// The most rows that are processed at a time, over 4. Of more rows, one part is transferred while the other
/// is processed.
const TILES: usize = 4;

/// How the units and rows of a layer are split over blocks that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The units of a block, as a power of two.
    pub(super) width_log: usize,
    /// The blocks that have all units between them.
    pub(super) blocks: usize,
    /// How many parts of [`DEPTH`] a column of recurrent weights has; a multiple of 4.
    pub(super) slices: usize,
    /// The rows of a group of blocks.
    pub(super) group_rows: usize,
    /// How many groups there are.
    pub(super) groups: usize,
    /// The rows that are processed at a time in the forward pass, over 4.
    pub(super) forward_tiles: usize,
    /// The same on the way back.
    pub(super) backward_tiles: usize,
    /// Whether both directions run at the same time.
    pub(super) together: bool,
}

/// What a device has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The blocks that run at the same time.
    pub(super) blocks: usize,
    /// The shared memory of a block, in bytes.
    pub(super) shared: usize,
}

impl Split {
    /// The best way to split a layer, or none when its weights do not fit in the registers of the
    /// device.
    pub(super) fn new(
        limits: Limits,
        directions: usize,
        rows: usize,
        units: usize,
    ) -> Option<Self> {
        let widths = [5, 4, 3];
        let choices = widths.into_iter().flat_map(|width| [(width, true), (width, false)]);
        choices
            .filter_map(|(width_log, together)| {
                Self::of(limits, directions, rows, units, width_log, together)
            })
            .min_by_key(|split| split.cost(directions))
    }

    /// What a step takes, in no unit. Of equal splits the one with wider blocks is faster: it has more
    /// threads to bring what is told. Under four warps nothing is gained, and over 32 units neither.
    fn cost(&self, directions: usize) -> usize {
        let turns = if self.together { 1 } else { directions };
        turns * self.group_rows * self.threads().max(128)
    }

    /// The split with so many units to a block, if it fits.
    fn of(
        limits: Limits,
        directions: usize,
        rows: usize,
        units: usize,
        width_log: usize,
        together: bool,
    ) -> Option<Self> {
        let slices = units.div_ceil(DEPTH).next_multiple_of(4);
        let blocks = units.div_ceil(1 << width_log);
        let at_once = if together { directions } else { 1 };
        let most = limits.blocks / (blocks * at_once);
        if slices << width_log > THREADS || most == 0 {
            return None;
        }
        let all_tiles = rows.div_ceil(4);
        let group_tiles = all_tiles.div_ceil(most.min(all_tiles));
        let groups = all_tiles.div_ceil(group_tiles);
        let mut split = Self {
            width_log,
            blocks,
            slices,
            group_rows: 4 * group_tiles,
            groups,
            forward_tiles: group_tiles.min(TILES),
            backward_tiles: group_tiles.min(TILES),
            together,
        };
        while split.forward_shared() > limits.shared {
            split.forward_tiles = split.forward_tiles.checked_sub(1).filter(|&tiles| tiles > 0)?;
        }
        while split.backward_shared() > limits.shared {
            split.backward_tiles =
                split.backward_tiles.checked_sub(1).filter(|&tiles| tiles > 0)?;
        }
        Some(split)
    }

    /// The threads of a block.
    pub(super) fn threads(&self) -> usize {
        self.slices << self.width_log
    }

    /// Whether a block has so many threads that each has fewer registers.
    pub(super) fn wide(&self) -> bool {
        self.threads() > 256
    }

    /// The neighbouring lanes that share four units on the way back.
    fn lanes(&self) -> usize {
        (32 / ((1 << self.width_log) / 4)).max(4)
    }

    /// The shared memory of a block on the way there, in bytes.
    pub(super) fn forward_shared(&self) -> usize {
        let sums = self.slices * self.forward_tiles * (1 << self.width_log) * 4;
        self.shared(self.forward_tiles * self.slices, sums, 4)
    }

    /// The shared memory of a block on the way back, in bytes.
    pub(super) fn backward_shared(&self) -> usize {
        let parts = 4 * self.slices / self.lanes();
        let sums = parts * 4 * self.backward_tiles * (1 << self.width_log);
        self.shared(self.backward_tiles * 4 * self.slices, sums, 7)
    }

    /// The shared memory for what is told, the sums, what a thread brings from memory, what goes from
    /// step to step, and each row with its length.
    fn shared(&self, slices: usize, sums: usize, brought: usize) -> usize {
        let carried = self.group_rows * (1 << self.width_log);
        4 * (slices * DEPTH * 4 + sums + brought * self.threads() + carried + 2 * self.group_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { blocks: 132, shared: 232_448 };

    #[test]
    fn everything_is_dealt_with_at_the_same_time() {
        for directions in [1, 2] {
            for rows in [1, 3, 16, 64, 65, 500] {
                for units in [1, 8, 21, 48, 100, 128, 250, 512, 1000, 1024] {
                    let split = Split::new(LIMITS, directions, rows, units).unwrap();
                    let at_once = if split.together { directions } else { 1 };
                    assert!(split.blocks * split.groups * at_once <= LIMITS.blocks);
                    assert!(split.blocks << split.width_log >= units);
                    assert!(split.groups * split.group_rows >= rows);
                    assert!((split.groups - 1) * split.group_rows < rows, "a group of no rows");
                    assert!(split.slices * DEPTH >= units && split.slices.is_multiple_of(4));
                    assert!(split.threads() <= THREADS && split.threads().is_multiple_of(32));
                    assert!(split.backward_shared() <= LIMITS.shared);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_split() {
        assert_eq!(Split::new(LIMITS, 2, 16, 1025), None);
        assert_eq!(Split::new(Limits { blocks: 10, ..LIMITS }, 1, 16, 512), None);
    }
}
