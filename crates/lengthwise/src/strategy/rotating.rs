use std::ops::Range;

use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::sort;
use crate::strategy::group::{Group, Inner, parameter};

#[doc = include_str!("rotating.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotating {
    /// The least number of epochs in a cycle, in which no two sequences share a batch twice.
    pub epochs: u32,
}

parameter!(Rotating "rotating" { epochs: 1..=65_536 => 16 } "a whole number from 1 to 65536");

impl Group for Rotating {
    fn describe(&self) -> String {
        format!("rotating:epochs={}", self.epochs)
    }

    fn cycle(&self, lengths: &Lengths, limit: &ResolvedBudget) -> u64 {
        cycle(&self.blocks(&descending(lengths), limit))
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let blocks = self.blocks(&descending(lengths), limit);
        let cycle = cycle(&blocks);
        let (rng, turn) = (rng.at_epoch(rng.epoch() / cycle), rng.epoch() % cycle);
        // Which stripe a sequence is in is random among equal lengths, and so is the order in a stripe;
        // both stay the same for a whole cycle.
        let mut places = sort::shuffled(lengths.count(), &rng, Purpose::Cycle);
        sort::by_key(&mut places, |sequence| !lengths.of(sequence));
        let mut stripe_of = vec![0; places.len()];
        for (number, stripe) in (0..).zip(blocks.iter().flat_map(Block::stripes)) {
            for &sequence in &places[stripe] {
                stripe_of[sequence as usize] = number;
            }
        }
        let mut inside = sort::shuffled(lengths.count(), &rng, Purpose::Shuffle);
        sort::by_key(&mut inside, |sequence| stripe_of[sequence as usize]);

        let mut offsets = rng.stream(Purpose::Draw);
        let (mut order, mut ends) = (Vec::with_capacity(inside.len()), Vec::new());
        for block in &blocks {
            let turns = u64::from(block.turns);
            // A stripe may be shorter than the turns; where its gap is, is random.
            let stripes: Vec<(&[u32], u64)> = block
                .stripes()
                .map(|stripe| (&inside[stripe], u64::from(offsets.below(block.turns))))
                .collect();
            for first in 0..turns {
                let start = order.len();
                for (number, (stripe, offset)) in (0_u64..).zip(&stripes) {
                    let place = (first + number * turn + offset) % turns;
                    order.extend(stripe.get(place as usize));
                }
                if order.len() > start {
                    ends.push(order.len() as u32);
                }
            }
        }
        Ok(Groups::trusted(order, ends).together())
    }
}

/// All sequences, the longest first.
fn descending(lengths: &Lengths) -> Vec<u32> {
    let mut descending: Vec<u32> = (0..lengths.count()).collect();
    sort::by_key(&mut descending, |sequence| !lengths.of(sequence));
    descending
}

/// For how many epochs no two sequences of any block share a batch twice.
fn cycle(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.turns).min().unwrap_or(1).into()
}

/// Consecutive places of the descending order, in `stripes` stripes of at most `turns` sequences. A batch
/// takes one of every stripe, and each turn the stripes are shifted against each other.
#[derive(Debug)]
struct Block {
    places: Range<usize>,
    stripes: u32,
    turns: u32,
}

impl Block {
    fn stripes(&self) -> impl Iterator<Item = Range<usize>> {
        let (start, size, stripes) = (self.places.start, self.places.len(), self.stripes as usize);
        let at =
            move |stripe: usize| start + (stripe as u64 * size as u64 / stripes as u64) as usize;
        (0..stripes).map(move |stripe| at(stripe)..at(stripe + 1))
    }
}

impl Rotating {
    /// Divides the descending order into blocks; this depends on the lengths alone.
    fn blocks(self, descending: &[u32], limit: &ResolvedBudget) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut start = 0;
        while start < descending.len() {
            let left = descending.len() - start;
            let longest = limit.padded_length(descending[start]);
            let (stripes, turns) = self.design(limit.full(longest), left);
            let size = stripes as usize * turns as usize;
            // What would be left of less than a block joins this one.
            let (size, turns) = if left < 2 * size {
                let needed = left.div_ceil(stripes as usize) as u32;
                (left, turns_for(stripes, needed.max(self.epochs)))
            } else {
                (size, turns)
            };
            blocks.push(Block { places: start..start + size, stripes, turns });
            start += size;
        }
        blocks
    }

    /// How many stripes and turns: a stripe for every sequence of a full batch, or fewer if the
    /// sequences that are left would not fill so large a block.
    fn design(self, full: u32, left: usize) -> (u32, u32) {
        let fits = |stripes: u32| {
            u64::from(stripes) * u64::from(turns_for(stripes, self.epochs)) <= left as u64
        };
        let most = full.min(left as u32);
        let stripes = if fits(most) {
            most
        } else {
            // Feasible numbers have gaps of a few only, so look below the first that surely is.
            let root = (left as f64).sqrt() as u32;
            (1..=root.min(most)).rev().find(|&stripes| fits(stripes)).unwrap_or(1)
        };
        (stripes, turns_for(stripes, self.epochs))
    }
}

/// The lowest number of turns, at least `least`, in which any two stripes meet each other in every
/// position once: it has no divisor below the number of stripes but 1.
fn turns_for(stripes: u32, least: u32) -> u32 {
    let suits = |turns: u32| {
        (2..stripes)
            .take_while(|divisor| u64::from(*divisor).pow(2) <= u64::from(turns))
            .all(|divisor| !turns.is_multiple_of(divisor))
    };
    (least.max(stripes)..=u32::MAX).find(|&turns| suits(turns)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::shape::rounding::Rounding;

    #[test]
    fn turns_have_no_small_divisor() {
        assert_eq!(
            [1, 2, 3, 8, 16, 17].map(|stripes| turns_for(stripes, 1)),
            [1, 2, 3, 11, 17, 17]
        );
        assert_eq!(turns_for(1, 10), 10);
        assert_eq!(turns_for(2, 10), 10);
        assert_eq!(turns_for(3, 10), 11);
        assert_eq!(turns_for(5, 24), 25); // 5 · 5 is no multiple of 2, 3 or 4
        assert_eq!(turns_for(6, 24), 29);
    }

    #[test]
    fn blocks_cover_all_places_once() {
        for (count, full) in [
            (1_usize, 1),
            (1, 16),
            (15, 16),
            (100, 1),
            (100, 16),
            (271, 16),
            (272, 16),
            (5000, 16),
            (5000, 300),
        ] {
            let lengths = Lengths::new((1..=count as u32).collect::<Vec<_>>()).unwrap();
            let limit = crate::Budget::sequences(full).resolve(lengths.max()).unwrap();
            let limit = limit.rounded(&lengths, Arc::new(Rounding::Exact));
            let descending: Vec<u32> = (0..count as u32).rev().collect();
            let mut next = 0;
            for block in (Rotating { epochs: 7 }).blocks(&descending, &limit) {
                assert!(block.stripes <= full && block.turns >= 7.max(block.stripes));
                for stripe in block.stripes() {
                    assert_eq!(stripe.start, next, "{count} {full}");
                    assert!(stripe.len() <= block.turns as usize);
                    next = stripe.end;
                }
            }
            assert_eq!(next, count);
        }
    }
}
