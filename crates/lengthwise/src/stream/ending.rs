//! The end of a stream: all that is held is cut into batches once, and every step takes some of them. A step takes
//! time that grows with its own size and the logarithm of what is left, and not with what is left.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::cut::batches::{Span, halves};

/// The batches that are left at the end of a stream, longest first, as stretches of an order that does not change.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// All batches that were cut, those that were taken since included.
    batches: Vec<Span>,
    left: Left,
    /// Those left that can be halved, the one to halve first last.
    large: BTreeSet<Cost>,
    /// The batches that are halved for the next step, and the parts of each, in order.
    halved: Vec<(usize, Vec<Span>)>,
    /// The place of every slot.
    places: Vec<u32>,
}

/// Cells, then the place, so that the first of equals comes last; and the number of the batch.
type Cost = (u64, Reverse<u32>, usize);

fn cost(batch: Span, number: usize) -> Cost {
    // Numbers that are not negative have the order of their bits.
    (batch.cells().to_bits(), Reverse(batch.start), number)
}

impl Ending {
    /// Of slots in their order, and all of them cut into batches.
    pub(crate) fn new(order: &[u32], batches: Vec<Span>) -> Self {
        let slots = order.iter().max().map_or(0, |&last| last as usize + 1);
        let mut places = vec![0; slots];
        for (&slot, place) in order.iter().zip(0..) {
            places[slot as usize] = place;
        }
        let several = (0..).zip(&batches).filter(|(_, batch)| batch.size > 1);
        let large = several.map(|(number, &batch)| cost(batch, number)).collect();
        Self { left: Left::new(batches.len()), batches, large, halved: Vec::new(), places }
    }

    /// How many batches are left, the parts of halved ones counted each.
    pub(crate) fn len(&self) -> usize {
        let more: usize = self.halved.iter().map(|(_, parts)| parts.len() - 1).sum();
        self.left.count + more
    }

    /// Halves the largest batches for the next step until there are `count`, or one sequence in each.
    pub(crate) fn halve(&mut self, count: usize, multiple: u32) {
        let mut missing = count.saturating_sub(self.left.count);
        let mut large = self.large.iter().rev().peekable();
        // What the halves cost, and where they are: parts are halved again if they are the largest.
        let mut parts: BinaryHeap<(Cost, Span)> = BinaryHeap::new();
        let mut small = Vec::new();
        while missing > 0 {
            let whole = large.peek().map(|&&cost| cost);
            let next = if whole > parts.peek().map(|&(cost, _)| cost) {
                large.next().map(|&cost| (cost, self.batches[cost.2]))
            } else {
                parts.pop()
            };
            let Some(((.., number), batch)) = next else { break };
            if batch.size == 1 {
                small.push((number, batch));
                continue;
            }
            parts.extend(halves(batch, multiple).map(|half| (cost(half, number), half)));
            missing -= 1;
        }
        let mut parts: Vec<(usize, Span)> =
            parts.into_iter().map(|((.., number), part)| (number, part)).chain(small).collect();
        parts.sort_unstable_by_key(|&(_, part)| part.start);
        let by_batch = parts.chunk_by(|one, other| one.0 == other.0);
        let halved =
            by_batch.map(|of_one| (of_one[0].0, of_one.iter().map(|part| part.1).collect()));
        self.halved = halved.collect();
    }

    /// The number of the batch, among those that are left, that has the sequence in a slot.
    pub(crate) fn batch_with(&self, slot: u32) -> usize {
        let place = self.places[slot as usize];
        let ends_before = |batch: &Span| batch.start + batch.size <= place;
        let number = self.batches.partition_point(ends_before);
        let mut count = self.left.before(number);
        for (other, parts) in &self.halved {
            if *other < number {
                count += parts.len() - 1;
            } else if *other == number {
                count += parts.partition_point(ends_before);
            }
        }
        count
    }

    /// Takes `count` batches from this one on, or as many as there are. Whether the others are as they would be cut
    /// anew: they are unless a part of one is left.
    pub(crate) fn take(&mut self, first: usize, count: usize, taken: &mut Vec<Span>) -> bool {
        let mut whole = true;
        let end = (first + count).min(self.len());
        let (mut at, mut number) = self.find(first);
        while at < end {
            let halved = self.halved.iter().find(|(other, _)| *other == number);
            let all = [self.batches[number]];
            let parts = halved.map_or(&all[..], |(_, parts)| parts);
            for (part, part_at) in parts.iter().zip(at..) {
                if (first..end).contains(&part_at) {
                    taken.push(*part);
                } else {
                    whole = false;
                }
            }
            at += parts.len();
            self.large.remove(&cost(all[0], number));
            let before = self.left.before(number);
            self.left.remove(number);
            number = self.left.nth(before);
        }
        self.halved.clear();
        whole
    }

    /// The batch that has this part, and what its own first part is among all.
    fn find(&self, part: usize) -> (usize, usize) {
        let mut more = 0;
        for (number, parts) in &self.halved {
            let start = self.left.before(*number) + more;
            if part < start {
                break;
            }
            if part < start + parts.len() {
                return (start, *number);
            }
            more += parts.len() - 1;
        }
        (part, self.left.nth(part - more))
    }
}

/// Which of a number of batches are left: sums over ranges whose sizes are powers of two (Fenwick 1994).
#[derive(Clone, Debug)]
struct Left {
    /// At `place`, how many are left of those up to it that its lowest bit counts; places from 1.
    sums: Vec<u32>,
    count: usize,
}

impl Left {
    fn new(count: usize) -> Self {
        let lowest_bit = |place: usize| 1 << place.trailing_zeros();
        Self {
            sums: (0..=count).map(|place| if place == 0 { 0 } else { lowest_bit(place) }).collect(),
            count,
        }
    }

    /// How many before this one are left.
    fn before(&self, number: usize) -> usize {
        let (mut place, mut count) = (number, 0);
        while place > 0 {
            count += self.sums[place] as usize;
            place &= place - 1;
        }
        count
    }

    fn remove(&mut self, number: usize) {
        let mut place = number + 1;
        while place < self.sums.len() {
            self.sums[place] -= 1;
            place += 1 << place.trailing_zeros();
        }
        self.count -= 1;
    }

    /// The one that so many others are left before; if there is none, the number of all.
    fn nth(&self, before: usize) -> usize {
        let (mut place, mut missing) = (0, before);
        let mut size = self.sums.len().next_power_of_two();
        while size > 0 {
            if let Some(&sum) = self.sums.get(place + size).filter(|&&sum| sum as usize <= missing)
            {
                place += size;
                missing -= sum as usize;
            }
            size /= 2;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};
    use crate::cut::batches::split_costliest;
    use crate::data::lengths::Pad;

    /// Batches are halved and taken as from a plain list, step after step, until a part of one is left.
    #[test]
    fn steps_are_those_of_a_plain_list() {
        let mut random = Rng::new(7, 0).stream(Purpose::Own(0));
        for _ in 0..300 {
            let (count, ranks) = (1 + random.below(40), 1 + random.below(8) as usize);
            let multiple = 1 + random.below(4);
            let mut plain = Vec::new();
            let mut start = 0;
            for _ in 0..count {
                let (size, pad) = (1 + random.below(9), Pad::one(1 + random.below(6)));
                plain.push(Span { start, size, pad });
                start += size;
            }
            let order: Vec<u32> = (0..start).rev().collect();
            let mut ending = Ending::new(&order, plain.clone());
            while !plain.is_empty() {
                let wanted = plain.len().next_multiple_of(ranks);
                ending.halve(wanted, multiple);
                let halved = split_costliest(plain.clone(), wanted, multiple, &|span| span.cells());
                assert_eq!(ending.len(), halved.len());
                let first = random.below(halved.len() as u32) as usize;
                let place = halved[first].start + random.below(halved[first].size);
                assert_eq!(ending.batch_with(order[place as usize]), first);
                let mut taken = Vec::new();
                let whole = ending.take(first, ranks, &mut taken);
                let end = halved.len().min(first + ranks);
                assert_eq!(taken, halved[first..end]);
                let is_taken = |span: &&Span| {
                    taken
                        .iter()
                        .any(|part| (span.start..span.start + span.size).contains(&part.start))
                };
                let size = |spans: &[Span]| spans.iter().map(|span| span.size).sum::<u32>();
                let gone: Vec<Span> = plain.iter().filter(is_taken).copied().collect();
                assert_eq!(whole, size(&gone) == size(&taken));
                if !whole {
                    break;
                }
                plain.retain(|span| !gone.contains(span));
            }
        }
    }
}
