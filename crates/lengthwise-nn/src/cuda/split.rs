//! How a recurrent layer is split over the device.

/// Parts of a column of recurrent weights: each thread keeps so many of them for four columns.
const DEPTH: usize = 16;

/// The most threads of a block.
const THREADS: usize = 512;

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
    /// The rows that are dealt with at a time, over 4.
    pub(super) tiles: usize,
    /// Whether both directions run at the same time.
    pub(super) together: bool,
}

/// What a device has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The blocks that run at the same time.
    pub(super) blocks: usize,
    /// The shared memory of a block, in bytes.
    pub(super) shared: usize,
}

impl Split {
    /// The best way to split a layer, or none when its weights do not fit in the registers of the
    /// device.
    pub(super) fn new(room: Room, directions: usize, rows: usize, units: usize) -> Option<Self> {
        let choices = (3..=6).flat_map(|width_log| {
            [true, false]
                .into_iter()
                .flat_map(move |together| [1, 2, 4].map(|tiles| (width_log, together, tiles)))
        });
        choices
            .filter_map(|(width_log, together, tiles)| {
                let split = Self::of(room, directions, rows, units, width_log, together, tiles)?;
                Some((split.cost(directions), split))
            })
            .min_by_key(|&(cost, _)| cost)
            .map(|(_, split)| split)
    }

    /// The split with so many units to a block and tiles to a chunk, if it fits.
    pub(super) fn of(
        room: Room,
        directions: usize,
        rows: usize,
        units: usize,
        width_log: usize,
        together: bool,
        tiles: usize,
    ) -> Option<Self> {
        let slices = units.div_ceil(DEPTH).next_multiple_of(4);
        let blocks = units.div_ceil(1 << width_log);
        let at_once = if together { directions } else { 1 };
        let most = room.blocks / (blocks * at_once);
        if slices << width_log > THREADS || most == 0 {
            return None;
        }
        let all_tiles = rows.div_ceil(4);
        let group_tiles = all_tiles.div_ceil(most.min(all_tiles));
        let groups = all_tiles.div_ceil(group_tiles);
        let group_rows = 4 * group_tiles;
        let tiles = tiles.min(group_tiles);
        let split = Self { width_log, blocks, slices, group_rows, groups, tiles, together };
        let needed = split.forward_shared().max(split.backward_shared());
        (needed <= room.shared).then_some(split)
    }

    /// About how many cycles a step takes.
    fn cost(&self, directions: usize) -> usize {
        let chunks = self.group_rows / 4 / self.tiles;
        let warps = (self.slices << self.width_log) / 32;
        // What a tile's products take, what a chunk takes beside them, and how long results travel.
        let chunk = self.tiles * 80 * warps.max(4) + 500;
        let step = (chunks * chunk).max(chunk + 1200);
        if self.together { step } else { directions * step }
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
        let states = self.tiles * self.slices * DEPTH * 16;
        let sums = self.slices / 4 * 4 * self.tiles * (1 << self.width_log) * 16;
        states + sums + self.group_rows * (1 << self.width_log) * 4
    }

    /// The shared memory of a block on the way back, in bytes.
    pub(super) fn backward_shared(&self) -> usize {
        let states = self.tiles * 4 * self.slices * DEPTH * 16;
        let sums = 4 * self.slices / self.lanes() * 4 * self.tiles * (1 << self.width_log) * 4;
        states + sums + self.group_rows * (1 << self.width_log) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { blocks: 132, shared: 232_448 };

    #[test]
    fn everything_is_dealt_with_at_the_same_time() {
        for directions in [1, 2] {
            for rows in [1, 3, 16, 64, 65, 500] {
                for units in [1, 8, 21, 48, 100, 128, 250, 512, 1000, 1024] {
                    let split = Split::new(ROOM, directions, rows, units).unwrap();
                    let at_once = if split.together { directions } else { 1 };
                    assert!(split.blocks * split.groups * at_once <= ROOM.blocks);
                    assert!(split.blocks << split.width_log >= units);
                    assert!(split.groups * split.group_rows >= rows);
                    assert!((split.groups - 1) * split.group_rows < rows, "a group of no rows");
                    assert!(split.slices * DEPTH >= units && split.slices.is_multiple_of(4));
                    assert!(split.threads() <= THREADS && split.threads().is_multiple_of(32));
                    assert!(split.backward_shared() <= ROOM.shared);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_split() {
        assert_eq!(Split::new(ROOM, 2, 16, 1025), None);
        assert_eq!(Split::new(Room { blocks: 10, ..ROOM }, 1, 16, 512), None);
    }
}
