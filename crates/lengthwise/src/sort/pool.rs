//! Elements in parts, in blocks of a fixed size: no part need be counted before it is filled.

/// How many elements a block has.
pub(crate) const BLOCK: usize = 128;

/// Elements in parts. Each part is a list of blocks, all full but the last.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    elements: Vec<u64>,
    /// Where the next element of every part goes.
    cursors: Vec<u32>,
    /// Which part every block belongs to.
    owners: Vec<u32>,
    /// The blocks by part, and where those of each part end.
    blocks: Vec<u32>,
    ends: Vec<u32>,
}

impl Pool {
    /// An empty pool with room for so many elements in so many parts.
    pub(super) fn clear(&mut self, elements: usize, parts: usize) {
        // Every part may have one block that is not full.
        let room = elements.next_multiple_of(BLOCK) + (parts + 1) * BLOCK;
        if self.elements.len() < room {
            // Zeros from the system are free until they are written; copies are not.
            self.elements = Vec::new();
            self.elements = vec![0; room];
        }
        self.owners.clear();
        self.owners.extend(0..parts as u32);
        self.cursors.clear();
        self.cursors.extend((0..parts).map(|part| (part * BLOCK) as u32));
    }

    /// What an inner loop works with.
    #[inline(always)]
    pub(super) fn filling(&mut self) -> Filling<'_> {
        let Self { elements, cursors, owners, .. } = self;
        Filling { elements, cursors, owners }
    }

    /// Once all elements are in: puts the blocks of each part together.
    pub(super) fn finish(&mut self) {
        let parts = self.cursors.len();
        self.ends.clear();
        self.ends.resize(parts, 0);
        for &owner in &self.owners {
            self.ends[owner as usize] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            (*end, start) = (start, start + *end);
        }
        self.blocks.clear();
        self.blocks.resize(self.owners.len(), 0);
        for (block, &owner) in (0..).zip(&self.owners) {
            let place = &mut self.ends[owner as usize];
            self.blocks[*place as usize] = block;
            *place += 1;
        }
    }

    /// How many elements a part has.
    pub(super) fn count(&self, part: usize) -> usize {
        let blocks = self.blocks_of(part).len();
        (blocks - 1) * BLOCK + self.cursors[part] as usize % BLOCK
    }

    /// The elements of a part.
    pub(super) fn part(&self, part: usize) -> impl Iterator<Item = &[u64]> + Clone {
        let blocks = self.blocks_of(part);
        let last = blocks.len() - 1;
        let rest = self.cursors[part] as usize % BLOCK;
        blocks.iter().enumerate().map(move |(place, &block)| {
            let size = if place == last { rest } else { BLOCK };
            &self.elements[block as usize * BLOCK..][..size]
        })
    }

    fn blocks_of(&self, part: usize) -> &[u32] {
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        &self.blocks[start as usize..self.ends[part] as usize]
    }
}

/// A pool that is being filled.
pub(super) struct Filling<'a> {
    elements: &'a mut [u64],
    cursors: &'a mut [u32],
    owners: &'a mut Vec<u32>,
}

impl Filling<'_> {
    /// Adds an element to a part.
    #[inline(always)]
    pub(super) fn push(&mut self, part: u32, element: u64) {
        let cursor = &mut self.cursors[part as usize];
        self.elements[*cursor as usize] = element;
        *cursor += 1;
        if (*cursor as usize).is_multiple_of(BLOCK) {
            *cursor = (self.owners.len() * BLOCK) as u32;
            self.owners.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_elements_in_order() {
        let mut pool = Pool::default();
        for (count, parts) in [(0, 1), (1, 3), (128, 1), (129, 1), (5000, 7), (1000, 7)] {
            pool.clear(count, parts);
            let mut filling = pool.filling();
            // Part 0 has none where there are others.
            let part_of = |i: usize| if parts == 1 { 0 } else { 1 + i * i % (parts - 1) };
            for i in 0..count {
                filling.push(part_of(i) as u32, i as u64);
            }
            pool.finish();
            for part in 0..parts {
                let expected: Vec<u64> =
                    (0..count).filter(|&i| part_of(i) == part).map(|i| i as u64).collect();
                assert_eq!(pool.count(part), expected.len(), "{count} {parts} {part}");
                let found: Vec<u64> = pool.part(part).flatten().copied().collect();
                assert_eq!(found, expected);
            }
        }
    }
}
