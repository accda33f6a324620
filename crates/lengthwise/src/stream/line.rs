//! The sequences that are held, in two orders: by length, and by arrival.

use std::collections::BTreeMap;

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
    /// How many sequences a full batch has in which it is the longest.
    pub(crate) full: u32,
    /// A random word: the order of equal lengths.
    pub(crate) tie: u32,
}

/// What sequences are sorted by: the padded length, the random word and the position; then the slot.
type Key = (u32, u32, u64, u32);

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
        self.blocks[block][place..].iter().chain(longer).map(|key| key.3)
    }

    /// The sequences that are shorter, the longest of them first.
    pub(crate) fn shorter(&self, slot: u32) -> impl Iterator<Item = u32> {
        let (block, place) = self.find(self.key(slot));
        let shorter = self.blocks[..block].iter().flatten();
        shorter.chain(&self.blocks[block][..place]).rev().map(|key| key.3)
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
        block[place].3
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
    pub(crate) fn sort_by(&mut self, padded_and_full: impl Fn(u32) -> (u32, u32)) {
        self.blocks.clear();
        for slot in self.by_arrival().collect::<Vec<_>>() {
            let node = &mut self.nodes[slot as usize];
            (node.padded, node.full) = padded_and_full(node.length);
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
        for (_, _, position, slot) in gone {
            self.arrived.remove(&position);
            self.free.push(slot);
        }
    }

    fn key(&self, slot: u32) -> Key {
        let Node { padded, tie, position, .. } = *self.node(slot);
        (padded, tie, position, slot)
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
        Node { position, length, padded: length, full: 1, tie }
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
        line.sort_by(|length| (length.next_multiple_of(8), 1));
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
