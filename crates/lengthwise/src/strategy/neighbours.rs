use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::sort;
use crate::strategy::group::{Group, Inner};

#[doc = include_str!("neighbours.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours;

impl Inner for Neighbours {}

impl Group for Neighbours {
    fn describe(&self) -> String {
        "neighbours".to_owned()
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        let mut sorted = sort::shuffled(lengths.count(), rng, Purpose::Ties);
        sort::by_key(&mut sorted, |sequence| lengths.of(sequence));
        let mut line = Line::new(&sorted, lengths);
        let mut directions = rng.stream(Purpose::Direction);
        let (mut order, mut ends) = (Vec::with_capacity(sorted.len()), Vec::new());
        let mut places = Vec::new();
        // Going through a shuffled list of places and skipping those in use picks the next start evenly
        // among the unused, as an independent draw each time would.
        for start in sort::shuffled(lengths.count(), rng, Purpose::Shuffle) {
            if line.used(start) {
                continue;
            }
            line.grow(start, limit, directions.below(2) == 0, &mut places);
            for &place in &places[..limit.keep(places.len() as u32) as usize] {
                line.take(place);
                order.push(sorted[place as usize]);
            }
            ends.push(order.len() as u32);
        }
        Ok(Groups::trusted(order, ends).left_anywhere(limit, rng))
    }
}

/// The unused sequences side by side in the order of their lengths: a linked list over the places
/// of the sorted order, so that taking one out and finding the next unused one take constant time.
struct Line<'a> {
    sorted: &'a [u32],
    lengths: &'a Lengths,
    shorter: Vec<u32>,
    longer: Vec<u32>,
}

/// Marks the end of the line, and, in `longer`, a place that is its own neighbour marks "used".
const NONE: u32 = u32::MAX;

impl<'a> Line<'a> {
    fn new(sorted: &'a [u32], lengths: &'a Lengths) -> Self {
        let count = lengths.count();
        let shorter = (0..count).map(|place| place.checked_sub(1).unwrap_or(NONE)).collect();
        let longer = (1..=count).map(|next| if next == count { NONE } else { next }).collect();
        Self { sorted, lengths, shorter, longer }
    }

    fn used(&self, place: u32) -> bool {
        self.longer[place as usize] == place
    }

    /// Takes a place out of the line.
    fn take(&mut self, place: u32) {
        let (shorter, longer) = (self.shorter[place as usize], self.longer[place as usize]);
        if shorter != NONE {
            self.longer[shorter as usize] = longer;
        }
        if longer != NONE {
            self.shorter[longer as usize] = shorter;
        }
        self.longer[place as usize] = place;
    }

    /// Sets `places` to the batch that grows from `start`: equal lengths, one direction, the other.
    fn grow(&self, start: u32, limit: &ResolvedBudget, up_first: bool, places: &mut Vec<u32>) {
        let sequence = |place: u32| self.sorted[place as usize];
        let length = self.lengths.of(sequence(start));
        let same = |place: u32| self.lengths.of(sequence(place)) == length;
        places.clear();
        places.push(start);
        let mut open = limit.admit(Open::default(), sequence(start)).unwrap_or_default();
        // The places next to the batch above and below.
        let mut up = self.longer[start as usize];
        let mut down = self.shorter[start as usize];
        let walks = [(true, true), (true, false), (false, up_first), (false, !up_first)];
        for (only_same, is_up) in walks {
            let (next, side) =
                if is_up { (&mut up, &self.longer) } else { (&mut down, &self.shorter) };
            while *next != NONE && (!only_same || same(*next)) {
                let Some(grown) = limit.admit(open, sequence(*next)) else { break };
                open = grown;
                places.push(*next);
                *next = side[*next as usize];
            }
        }
    }
}
