//! The sequences that are held, in two orders, by length and by arrival; and which of them make the next step.

use std::collections::BTreeMap;

use crate::base::rng::Stream;
use crate::cut::batches::{Span, split_costliest};
use crate::data::lengths::Pad;
use crate::stream::ending::Ending;

/// How many ways to cut around a sequence are compared.
const TRIED: usize = 8;

/// The sequences that may make the next step, longest first, as far as they have been looked at, and
/// where they are cut. Kept from step to step for its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// Slots, longest first.
    pub(crate) order: Vec<u32>,
    /// The sums of the lengths before each of them.
    sums: Vec<u64>,
    /// The batches of the step, as stretches of `order`.
    pub(crate) batches: Vec<Span>,
    /// At the end of the stream: the batches that are left if nothing is split. To take some of them
    /// leaves the others as they would be cut anew, so they are cut once; if half of one is taken, again.
    ending: Option<Ending>,
}

impl Around {
    /// Cuts `count` batches, one of which has `pivot`: of a few random ways to do so the one that pads
    /// least. Batches are full where there are enough sequences for that.
    pub(crate) fn cut_around(&mut self, line: &Line, pivot: u32, count: u32, random: &mut Stream) {
        let count = count as usize;
        let at = self.look_at(line, pivot, count);
        // The farther up the first batch begins, the earlier the last one ends: so the ways that
        // have the pivot are those up to some offset, and those of full batches are from some on.
        let has_pivot = |this: &mut Self, up: usize| this.cut(line, at - up, count).0 > at;
        let is_full = |this: &mut Self, up: usize| this.cut(line, at - up, count).1;
        let most = self.first(at + 1, |this, up| !has_pivot(this, up)) - 1;
        let least = self.first(most + 1, is_full);
        if least > most {
            self.keep(line, at - most, count);
            return;
        }
        let ways = most - least + 1;
        // Where the pivot's own batch length begins: on a ladder nothing else may do as well.
        let padded = line.node(pivot).padded;
        let own =
            self.first(most + 1, |this, up| line.node(this.order[at - up]).padded > padded) - 1;
        let mut best = (u128::MAX, 1, 0);
        for way in 0..=TRIED.min(ways) {
            let up = match way {
                0 => own.max(least),
                _ if ways <= TRIED => least + way - 1,
                _ => least + random.below(ways as u32) as usize,
            };
            let (end, _, cells) = self.cut(line, at - up, count);
            let filled = u128::from(self.sums[end] - self.sums[at - up]);
            // cells / filled < best cells / best filled
            if cells.saturating_mul(best.1) < best.0.saturating_mul(filled) {
                best = (cells, filled, up);
            }
        }
        self.keep(line, at - best.2, count);
    }

    /// Looks at `pivot` and as many longer ones as a step could have. Gives its place.
    fn look_at(&mut self, line: &Line, pivot: u32, count: usize) -> usize {
        let most = count.saturating_mul(line.node(pivot).full as usize);
        let longer: Vec<u32> = line.and_longer(pivot).take(most).collect();
        self.begin(line, longer.into_iter().rev());
        self.order.len() - 1
    }

    /// Looks at these sequences first.
    fn begin(&mut self, line: &Line, slots: impl Iterator<Item = u32>) {
        self.batches.clear();
        self.order.clear();
        self.sums.clear();
        self.sums.push(0);
        self.look(line, slots);
    }

    fn look(&mut self, line: &Line, slots: impl Iterator<Item = u32>) {
        for slot in slots {
            self.order.push(slot);
            let Node { length, class, .. } = *line.node(slot);
            let positions = u64::from(length) * u64::from(class.sequences);
            self.sums.push(self.sums[self.sums.len() - 1] + positions);
        }
    }

    /// The first number for which something holds, as for all after it; `count` if there is none.
    fn first(&mut self, count: usize, mut holds: impl FnMut(&mut Self, usize) -> bool) -> usize {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if holds(self, middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Looks at sequences up to this place. Whether there are as many.
    fn reach(&mut self, line: &Line, place: usize) -> bool {
        let missing = (place + 1).saturating_sub(self.order.len());
        if missing > 0 {
            let last = self.order[self.order.len() - 1];
            self.look(line, line.shorter(last).take(missing));
        }
        self.order.len() > place
    }

    /// Where the batch ends that begins at this place, and whether it is full, if something is left.
    fn batch(&mut self, line: &Line, start: usize) -> Option<(usize, bool)> {
        if !self.reach(line, start) {
            return None;
        }
        let Node { full, class, .. } = *line.node(self.order[start]);
        let end = start.saturating_add(full as usize);
        let is_full = self.reach(line, end - 1);
        let end = if is_full { end } else { self.order.len() };
        if line.node(self.order[end - 1]).class == class {
            return Some((end, is_full));
        }
        let same = self.order[start..end].partition_point(|&slot| line.node(slot).class == class);
        Some((start + same, false))
    }

    /// Where `count` batches end that begin at this place, whether there are as many and all are full, and
    /// their cells.
    fn cut(&mut self, line: &Line, start: usize, count: usize) -> (usize, bool, u128) {
        let (mut at, mut full, mut cells) = (start, true, 0);
        for _ in 0..count {
            let Some((end, is_full)) = self.batch(line, at) else { return (at, false, cells) };
            let Node { padded, class, .. } = *line.node(self.order[at]);
            cells += (end - at) as u128 * u128::from(padded) * u128::from(class.sequences);
            (at, full) = (end, full && is_full);
        }
        (at, full, cells)
    }

    /// Makes batches from a place on, at most `count`.
    fn lay(&mut self, line: &Line, mut at: usize, count: usize) {
        while self.batches.len() < count
            && let Some((end, _)) = self.batch(line, at)
        {
            let pad = Pad::one(line.node(self.order[at]).padded);
            self.batches.push(Span { start: at as u32, size: (end - at) as u32, pad });
            at = end;
        }
    }

    /// Makes batches from a place on; if there are fewer than `count`, the largest are split.
    fn keep(&mut self, line: &Line, start: usize, count: usize) {
        self.lay(line, start, count);
        if self.batches.len() < count {
            self.halve(count, 1);
        }
    }

    /// Halves the largest batches until there are `count`, or one sequence in each.
    fn halve(&mut self, count: usize, multiple: u32) {
        let batches = std::mem::take(&mut self.batches);
        self.batches = split_costliest(batches, count, multiple, &|span: Span| span.cells());
    }

    /// All that is held, cut into batches, longest first: what is left of a stream that has ended.
    pub(crate) fn ending(&mut self, line: &Line) -> &mut Ending {
        let ending = self.ending.take().unwrap_or_else(|| {
            self.begin(line, std::iter::once(line.at(line.len() - 1)));
            self.lay(line, 0, usize::MAX);
            Ending::new(&self.order, std::mem::take(&mut self.batches))
        });
        self.ending.insert(ending)
    }

    /// Makes a step of `count` batches that are left, from this one on.
    pub(crate) fn take(&mut self, first: usize, count: usize) {
        self.batches.clear();
        if let Some(ending) = &mut self.ending
            && !ending.take(first, count, &mut self.batches)
        {
            self.ending = None;
        }
    }
}

/// The sequences that are held. A sequence has a slot for as long as it is held; slots are used again.
/// Which order equal lengths have, and nothing else, is random.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// All by length, in blocks: none is empty, and none much larger than [`BLOCK`].
    blocks: Vec<Vec<Key>>,
    /// The slots by position.
    arrived: BTreeMap<u64, u32>,
}

/// A sequence that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Its number in the stream.
    pub(crate) position: u64,
    pub(crate) length: u32,
    /// What it is padded to when it is the longest of its batch.
    pub(crate) padded: u32,
    /// How many of them a full batch has in which it is the longest.
    pub(crate) full: u32,
    /// A random word: the order of equal lengths.
    pub(crate) tie: u32,
    pub(crate) class: Class,
}

/// Only what is of one class shares a batch: of one kind, and of as many sequences that stay together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) kind: u64,
    pub(crate) sequences: u32,
}

/// What sequences are sorted by: the class, the padded length, the random word and the position; then the slot.
type Key = (Class, u32, u32, u64, u32);

/// A block with more keys is divided: so few are moved when one comes between them.
const BLOCK: usize = 256;

impl Line {
    /// How many sequences are held.
    pub(crate) fn len(&self) -> u32 {
        self.arrived.len() as u32
    }

    pub(crate) fn node(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    /// The slots in the order of arrival.
    pub(crate) fn by_arrival(&self) -> impl Iterator<Item = u32> {
        self.arrived.values().copied()
    }

    /// A sequence, and those that are longer, in the order of lengths.
    pub(crate) fn and_longer(&self, slot: u32) -> impl Iterator<Item = u32> {
        let (block, place) = self.find(self.key(slot));
        let longer = self.blocks[block + 1..].iter().flatten();
        self.blocks[block][place..].iter().chain(longer).map(|key| key.4)
    }

    /// The sequences that are shorter, the longest of them first.
    pub(crate) fn shorter(&self, slot: u32) -> impl Iterator<Item = u32> {
        let (block, place) = self.find(self.key(slot));
        let shorter = self.blocks[..block].iter().flatten();
        shorter.chain(&self.blocks[block][..place]).rev().map(|key| key.4)
    }

    /// The sequence that so many others are shorter than.
    pub(crate) fn at(&self, place: u32) -> u32 {
        let mut place = place as usize;
        let mut blocks = self.blocks.iter();
        let has_it = |block: &&Vec<Key>| {
            let has_it = place < block.len();
            place -= if has_it { 0 } else { block.len() };
            has_it
        };
        let Some(block) = blocks.find(has_it) else { unreachable!("so many are held") };
        block[place].4
    }

    /// Holds a sequence that is the newest. Gives its slot.
    pub(crate) fn hold(&mut self, node: Node) -> u32 {
        let slot = self.free.pop().unwrap_or(self.nodes.len() as u32);
        match self.nodes.get_mut(slot as usize) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
        self.arrived.insert(node.position, slot);
        self.sort_in(slot);
        slot
    }

    /// Orders all anew, with other padded lengths and sizes of full batches; the slots stay.
    pub(crate) fn sort_by(&mut self, padded_and_full: impl Fn(u32, u32) -> (u32, u32)) {
        self.blocks.clear();
        for slot in self.by_arrival().collect::<Vec<_>>() {
            let node = &mut self.nodes[slot as usize];
            (node.padded, node.full) = padded_and_full(node.length, node.class.sequences);
            self.sort_in(slot);
        }
    }

    /// Lets go of all sequences from one to another in the order of lengths.
    pub(crate) fn let_go(&mut self, shortest: u32, longest: u32) {
        let [(first, from), (last, to)] = [shortest, longest].map(|slot| self.find(self.key(slot)));
        let above = self.blocks[last].split_off(to + 1);
        let mut gone = self.blocks[first].split_off(from);
        gone.extend(self.blocks.drain(first + 1..=last).flatten());
        self.blocks[first].extend(above);
        if self.blocks[first].is_empty() {
            self.blocks.remove(first);
        }
        for (_, _, _, position, slot) in gone {
            self.arrived.remove(&position);
            self.free.push(slot);
        }
    }

    fn key(&self, slot: u32) -> Key {
        let Node { padded, tie, position, class, .. } = *self.node(slot);
        (class, padded, tie, position, slot)
    }

    /// The block and the place in it that a key has, or is to have.
    fn find(&self, key: Key) -> (usize, usize) {
        let block = self.blocks.partition_point(|block| block.last() < Some(&key));
        let block = block.min(self.blocks.len().saturating_sub(1));
        let place = |keys: &Vec<Key>| keys.partition_point(|other| *other < key);
        (block, self.blocks.get(block).map_or(0, place))
    }

    fn sort_in(&mut self, slot: u32) {
        let key = self.key(slot);
        let (at, place) = self.find(key);
        let Some(block) = self.blocks.get_mut(at) else {
            self.blocks.push(vec![key]);
            return;
        };
        block.insert(place, key);
        if block.len() > BLOCK {
            let half = block.split_off(block.len() / 2);
            self.blocks.insert(at + 1, half);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};

    fn node(position: u64, length: u32, tie: u32) -> Node {
        let class = Class { kind: 0, sequences: 1 };
        Node { position, length, padded: length, full: 1, tie, class }
    }

    /// The sequences by length and by arrival, as a plain list says.
    #[test]
    fn both_orders_are_those_of_a_plain_list() {
        let mut stream = Rng::new(3, 0).stream(Purpose::Own(0));
        let (mut line, mut plain) = (Line::default(), Vec::new());
        for position in 0..3000 {
            let (length, tie) = (1 + stream.below(40), stream.below(1000));
            let slot = line.hold(node(position, length, tie));
            plain.push((length, tie, position, slot));
            if stream.below(20) == 0 {
                plain.sort_unstable();
                let from = stream.below(plain.len() as u32) as usize;
                let to = (from + stream.below(25) as usize).min(plain.len() - 1);
                line.let_go(plain[from].3, plain[to].3);
                plain.drain(from..=to);
            }
            plain.sort_unstable();
            let sorted: Vec<u32> = (0..line.len()).map(|place| line.at(place)).collect();
            assert!(plain.iter().map(|held| held.3).eq(sorted.iter().copied()));
            for pair in sorted.windows(2) {
                assert_eq!(line.and_longer(pair[0]).nth(1), Some(pair[1]));
                assert_eq!(line.shorter(pair[1]).next(), Some(pair[0]));
            }
            let mut positions: Vec<u64> = plain.iter().map(|held| held.2).collect();
            positions.sort_unstable();
            assert!(line.by_arrival().map(|slot| line.node(slot).position).eq(positions));
        }
        line.sort_by(|length, _| (length.next_multiple_of(8), 1));
        let padded: Vec<u32> =
            (0..line.len()).map(|place| line.node(line.at(place)).padded).collect();
        assert!(padded.is_sorted() && padded.len() == plain.len());
    }

    /// Where all that is held is let go of, nothing is left, and the next is held again.
    #[test]
    fn no_block_is_empty_or_large() {
        let mut line = Line::default();
        for position in 0..4096 {
            line.hold(node(position, 7, position as u32));
        }
        let sizes = line.blocks.iter().map(Vec::len);
        assert!(sizes.clone().all(|size| (1..=BLOCK).contains(&size)), "{sizes:?}");
        line.let_go(line.at(0), line.at(4095));
        assert!(line.blocks.is_empty() && line.len() == 0 && line.free.len() == 4096);
        assert_eq!(line.hold(node(4096, 7, 0)), 4095);
    }
}
