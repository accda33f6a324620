//! Which of the sequences that are held make the next step.

use crate::base::rng::Stream;
use crate::cut::batches::{Span, split_costliest};
use crate::data::lengths::Pad;
use crate::stream::line::Line;

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
    /// leaves the others as they would be cut anew, so they are cut once; after halving, again.
    left: Option<Vec<Span>>,
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
            self.sums.push(self.sums[self.sums.len() - 1] + u64::from(line.node(slot).length));
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
        let end = start + line.node(self.order[start]).full as usize;
        let full = self.reach(line, end - 1);
        Some(if full { (end, true) } else { (self.order.len(), false) })
    }

    /// Where `count` batches end that begin at this place, whether there are as many and all are full, and
    /// their cells.
    fn cut(&mut self, line: &Line, start: usize, count: usize) -> (usize, bool, u128) {
        let (mut at, mut full, mut cells) = (start, true, 0);
        for _ in 0..count {
            let Some((end, is_full)) = self.batch(line, at) else { return (at, false, cells) };
            cells += (end - at) as u128 * u128::from(line.node(self.order[at]).padded);
            (at, full) = (end, is_full);
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
        let cells = |size: u32, length: u32| f64::from(size) * f64::from(length);
        self.batches = split_costliest(std::mem::take(&mut self.batches), count, multiple, &cells);
    }

    /// Cuts all that is held into batches, longest first.
    pub(crate) fn cut_all(&mut self, line: &Line) {
        if let Some(left) = &self.left {
            self.batches.clone_from(left);
            return;
        }
        self.begin(line, std::iter::once(line.at(line.len() - 1)));
        self.lay(line, 0, usize::MAX);
        self.left = Some(self.batches.clone());
    }

    /// Halves the largest batches until all fill steps of `count`, if there are enough sequences.
    pub(crate) fn fill_steps(&mut self, count: usize, multiple: u32) {
        let wanted = self.batches.len().next_multiple_of(count);
        if self.batches.len() < wanted {
            self.halve(wanted, multiple);
            self.left = None;
        }
    }

    /// The number of the batch that has this sequence.
    pub(crate) fn batch_with(&self, slot: u32) -> usize {
        let place = self.order.iter().position(|&other| other == slot).unwrap_or(0) as u32;
        self.batches.partition_point(|batch| batch.start + batch.size <= place)
    }

    /// Keeps `count` batches from this one on.
    pub(crate) fn keep_batches(&mut self, first: usize, count: usize) {
        self.batches.truncate(first + count);
        self.batches.drain(..first);
        if let Some(left) = &mut self.left {
            left.drain(first..first + self.batches.len());
        }
    }
}
