//! Elements in parts, in blocks of a fixed size: no part need be counted before it is filled.

use crate::base::simd::ask;

/// How many elements a block has: about a page of memory.
pub(crate) const BLOCK: usize = 512;

/// How many elements a line of the caches has.
const LINE: usize = 8;

/// Elements in parts. Each part is a list of blocks, all full but the last.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    elements: Vec<u64>,
    /// Where the next element of every part goes; a multiple of `BLOCK` if it needs a new block.
    cursors: Vec<u32>,
    /// Which part every block belongs to.
    owners: Vec<u32>,
    /// The blocks by part, and where those of each part end.
    blocks: Vec<u32>,
    ends: Vec<u32>,
}

impl Pool {
    /// Empties the pool, and reserves memory for this many elements in this many parts.
    pub(crate) fn clear(&mut self, elements: usize, parts: usize) {
        // Every part may have a block that is not full, but most parts are empty where there are many.
        let limit = elements + elements.min(parts).min(elements / 4096) * BLOCK / 2;
        if self.elements.len() < limit {
            // Zeros from the system are free until they are written; copies are not.
            self.elements = Vec::new();
            self.elements = vec![0; limit];
        }
        self.owners.clear();
        self.cursors.clear();
        self.cursors.resize(parts, 0);
    }

    /// What an inner loop works with.
    #[inline(always)]
    pub(crate) fn filling(&mut self) -> Filling<'_> {
        let Self { elements, cursors, owners, .. } = self;
        Filling { elements, cursors, owners }
    }

    /// Once all elements are in: puts the blocks of each part together.
    pub(crate) fn finish(&mut self) {
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

    pub(crate) fn count(&self, part: usize) -> usize {
        (self.blocks_of(part).len() * BLOCK) - self.unused(part)
    }

    pub(crate) fn part(&self, part: usize) -> impl Iterator<Item = &[u64]> + Clone {
        let blocks = self.blocks_of(part);
        let last = blocks.len().wrapping_sub(1);
        let size_of_last = BLOCK - self.unused(part);
        blocks.iter().enumerate().map(move |(place, &block)| {
            let size = if place == last { size_of_last } else { BLOCK };
            &self.elements[block as usize * BLOCK..][..size]
        })
    }

    /// How many places are left in the last block of a part.
    fn unused(&self, part: usize) -> usize {
        self.cursors[part].wrapping_neg() as usize % BLOCK
    }

    fn blocks_of(&self, part: usize) -> &[u32] {
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        &self.blocks[start as usize..self.ends[part] as usize]
    }
}

/// A pool that is being filled.
pub(crate) struct Filling<'a> {
    elements: &'a mut Vec<u64>,
    cursors: &'a mut [u32],
    owners: &'a mut Vec<u32>,
}

impl Filling<'_> {
    /// The same pool, for a short while: what a loop holds itself stays in registers.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Filling<'_> {
        Filling { elements: self.elements, cursors: self.cursors, owners: self.owners }
    }

    /// Adds an element to a part.
    #[inline(always)]
    pub(crate) fn push(&mut self, part: u32, element: u64) {
        let cursor = &mut self.cursors[part as usize];
        let mut place = *cursor as usize;
        if place.is_multiple_of(BLOCK) {
            place = self.owners.len() * BLOCK;
            self.owners.push(part);
            if self.elements.len() < place + BLOCK {
                grow(self.elements, place + BLOCK);
            }
        }
        *cursor = place as u32 + 1;
        self.elements[place] = element;
        // The line that comes next is then there when it is written.
        if let Some(next) = self.elements.get(place + LINE) {
            ask(next);
        }
    }
}

/// Reserves memory for this many elements, and some more.
#[cold]
fn grow(elements: &mut Vec<u64>, least: usize) {
    let limit = least + least / 32 + 16 * BLOCK;
    elements.reserve_exact(limit - elements.len());
    elements.resize(limit, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_elements_in_order() {
        let mut pool = Pool::default();
        for (count, parts) in [(0, 1), (1, 3), (512, 1), (513, 1), (9000, 7), (5000, 7), (3000, 99)]
        {
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
