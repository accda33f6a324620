//! The sequences that are held, in two orders: by length, and by arrival.

/// The sequences that are held: a treap in the order of their padded lengths, whose neighbours are
/// linked, and a list in the order of their arrival. A sequence has a slot for as long as it is held;
/// slots are used again, so nothing is allocated once the window has been full.
///
/// Which order equal lengths have, and nothing else, is random. The shape of the tree cannot be seen.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    oldest: u32,
    newest: u32,
}

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

fn some(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
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
    /// The neighbours by length.
    pub(crate) shorter: u32,
    pub(crate) longer: u32,
    older: u32,
    newer: u32,
    left: u32,
    right: u32,
    /// The nodes of its part of the tree.
    size: u32,
}

impl Node {
    pub(crate) fn new(position: u64, length: u32, tie: u32) -> Self {
        Self {
            position,
            length,
            padded: length,
            full: 1,
            tie,
            shorter: NONE,
            longer: NONE,
            older: NONE,
            newer: NONE,
            left: NONE,
            right: NONE,
            size: 1,
        }
    }

    fn key(&self) -> (u32, u32, u64) {
        (self.padded, self.tie, self.position)
    }

    /// Who is nearer to the root. Equal lengths are in the order of `tie`, so it must be mixed.
    fn priority(&self) -> u32 {
        (u64::from(self.tie).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }
}

impl Line {
    pub(crate) fn new() -> Self {
        let (root, oldest, newest) = (NONE, NONE, NONE);
        Self { nodes: Vec::new(), free: Vec::new(), root, oldest, newest }
    }

    /// How many sequences are held.
    pub(crate) fn len(&self) -> u32 {
        self.size(self.root)
    }

    pub(crate) fn node(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    /// The sequence that has been held for longest.
    pub(crate) fn oldest(&self) -> Option<u32> {
        some(self.oldest)
    }

    /// The slots in the order of arrival.
    pub(crate) fn by_arrival(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(some(self.oldest), move |&slot| some(self.node(slot).newer))
    }

    /// A sequence, and those that are longer, in the order of lengths.
    pub(crate) fn and_longer(&self, slot: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(slot), move |&slot| some(self.node(slot).longer))
    }

    /// The sequence that so many others are shorter than.
    pub(crate) fn at(&self, mut place: u32) -> u32 {
        let mut slot = self.root;
        loop {
            let node = self.node(slot);
            let shorter = self.size(node.left);
            match place {
                _ if place < shorter => slot = node.left,
                _ if place == shorter => return slot,
                _ => (place, slot) = (place - shorter - 1, node.right),
            }
        }
    }

    /// Holds a sequence that is the newest. Gives its slot.
    pub(crate) fn hold(&mut self, node: Node) -> u32 {
        let slot = if let Some(slot) = self.free.pop() {
            self.nodes[slot as usize] = node;
            slot
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.join(self.newest, slot);
        self.newest = slot;
        self.sort_in(slot);
        slot
    }

    /// Orders all anew, with other padded lengths and sizes of full batches; the slots stay.
    pub(crate) fn sort_by(&mut self, padded_and_full: impl Fn(u32) -> (u32, u32)) {
        self.root = NONE;
        let mut slot = self.oldest;
        while slot != NONE {
            let node = &mut self.nodes[slot as usize];
            (node.padded, node.full) = padded_and_full(node.length);
            (node.left, node.right, node.size) = (NONE, NONE, 1);
            let next = node.newer;
            self.sort_in(slot);
            slot = next;
        }
    }

    /// Lets go of all sequences from one to another in the order of lengths.
    pub(crate) fn let_go(&mut self, shortest: u32, longest: u32) {
        let [from, to] = [shortest, longest].map(|slot| self.node(slot).key());
        let (below, rest) = self.split(self.root, &|key| key < from);
        let (_, above) = self.split(rest, &|key| key <= to);
        self.root = self.merge(below, above);
        self.link(self.node(shortest).shorter, self.node(longest).longer);
        let mut slot = shortest;
        loop {
            let Node { older, newer, longer, .. } = *self.node(slot);
            self.join(older, newer);
            self.free.push(slot);
            if slot == longest {
                break;
            }
            slot = longer;
        }
    }

    /// Makes two nodes neighbours by arrival; without one of them the other is the oldest or the newest.
    fn join(&mut self, older: u32, newer: u32) {
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
    }

    /// Makes two nodes neighbours by length; either may be none.
    fn link(&mut self, shorter: u32, longer: u32) {
        if let Some(node) = self.nodes.get_mut(shorter as usize) {
            node.longer = longer;
        }
        if let Some(node) = self.nodes.get_mut(longer as usize) {
            node.shorter = shorter;
        }
    }

    fn size(&self, slot: u32) -> u32 {
        if slot == NONE { 0 } else { self.node(slot).size }
    }

    fn measure(&mut self, slot: u32) {
        let Node { left, right, .. } = *self.node(slot);
        self.nodes[slot as usize].size = 1 + self.size(left) + self.size(right);
    }

    /// Puts a node into the tree, and between its neighbours.
    fn sort_in(&mut self, slot: u32) {
        let key = self.node(slot).key();
        let (mut shorter, mut longer, mut at) = (NONE, NONE, self.root);
        while at != NONE {
            let node = self.node(at);
            if node.key() < key {
                (shorter, at) = (at, node.right);
            } else {
                (longer, at) = (at, node.left);
            }
        }
        self.link(shorter, slot);
        self.link(slot, longer);

        // Down to where it is nearer to the root than what is there.
        let priority = self.node(slot).priority();
        let (mut parent, mut at) = (NONE, self.root);
        while at != NONE && self.node(at).priority() >= priority {
            parent = at;
            let node = &mut self.nodes[at as usize];
            node.size += 1;
            at = if node.key() < key { node.right } else { node.left };
        }
        let (left, right) = self.split(at, &|other| other < key);
        (self.nodes[slot as usize].left, self.nodes[slot as usize].right) = (left, right);
        self.measure(slot);
        match parent {
            NONE => self.root = slot,
            parent if self.node(parent).key() < key => self.nodes[parent as usize].right = slot,
            parent => self.nodes[parent as usize].left = slot,
        }
    }

    /// The part of a tree whose keys come first by `first`, and the other part.
    fn split(&mut self, slot: u32, first: &impl Fn((u32, u32, u64)) -> bool) -> (u32, u32) {
        if slot == NONE {
            return (NONE, NONE);
        }
        let Node { left, right, .. } = *self.node(slot);
        let parts = if first(self.node(slot).key()) {
            let (middle, after) = self.split(right, first);
            self.nodes[slot as usize].right = middle;
            (slot, after)
        } else {
            let (before, middle) = self.split(left, first);
            self.nodes[slot as usize].left = middle;
            (before, slot)
        };
        self.measure(slot);
        parts
    }

    /// One tree of two, of which the first comes before the other.
    fn merge(&mut self, first: u32, other: u32) -> u32 {
        if first == NONE || other == NONE {
            return if first == NONE { other } else { first };
        }
        if self.node(first).priority() >= self.node(other).priority() {
            let right = self.node(first).right;
            self.nodes[first as usize].right = self.merge(right, other);
            self.measure(first);
            first
        } else {
            let left = self.node(other).left;
            self.nodes[other as usize].left = self.merge(first, left);
            self.measure(other);
            other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};

    /// The sequences by length and by arrival, as a plain list says.
    #[test]
    fn both_orders_are_those_of_a_plain_list() {
        let mut stream = Rng::new(3, 0).stream(Purpose::Own(0));
        let (mut line, mut plain) = (Line::new(), Vec::new());
        for position in 0..3000 {
            let (length, tie) = (1 + stream.below(40), stream.below(1000));
            let slot = line.hold(Node::new(position, length, tie));
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
                assert_eq!(line.node(pair[0]).longer, pair[1]);
                assert_eq!(line.node(pair[1]).shorter, pair[0]);
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

    /// Lengths that are all equal, with ties that rise, are no list.
    #[test]
    fn the_tree_is_not_deep() {
        fn depth(line: &Line, slot: u32) -> u32 {
            if slot == NONE {
                return 0;
            }
            let Node { left, right, .. } = *line.node(slot);
            1 + depth(line, left).max(depth(line, right))
        }
        let mut line = Line::new();
        for position in 0..4096 {
            line.hold(Node::new(position, 7, position as u32));
        }
        assert!(depth(&line, line.root) < 64, "{}", depth(&line, line.root));
    }
}
