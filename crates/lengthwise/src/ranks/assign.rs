//! Assigns batches to steps and to slots in them; batches that do not fill a step are repeated or
//! split.

use std::collections::BTreeMap;

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::{Batches, Span, split_costliest};
use crate::data::lengths::Pad;
use crate::data::units::{OneKind, Together};
use crate::math::{evenly, largest, ln};
use crate::order::sort;
use crate::plan::arrange::{Arrange, Clock, Item, Part, Steps, Tail, Time, in_step};
use crate::plan::settings::Provenance;
use crate::ranks::{balance, rows};

/// Batches assigned to steps. Batches are named by number: first those that were assigned, then those that
/// were made from broken ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assigned {
    pub(crate) pieces: Batches,
    /// The batches of the first step by slot, then those of the second, and so on.
    pub(crate) slots: Vec<u32>,
    /// The batches in no step.
    pub(crate) dropped: Vec<u32>,
    /// The batches that were split into parts.
    broken: Vec<u32>,
}

impl Assigned {
    /// The sequences of a batch, and what it is padded to.
    pub(crate) fn batch<'a>(&'a self, batches: &'a Batches, slot: u32) -> (&'a [u32], Pad) {
        let slot = slot as usize;
        match slot.checked_sub(batches.len()) {
            None => (batches.get(slot), batches.pad(slot)),
            Some(piece) => (self.pieces.get(piece), self.pieces.pad(piece)),
        }
    }

    pub(crate) fn gathered(&self, batches: &Batches, slots: &[u32]) -> Batches {
        let size = |&slot: &u32| self.batch(batches, slot).0.len();
        let indices = Vec::with_capacity(slots.iter().map(size).sum());
        let mut gathered = Batches { indices, ..Batches::default() };
        for &slot in slots {
            let (batch, pad) = self.batch(batches, slot);
            gathered.push(batch, pad);
        }
        gathered
    }

    /// The batches that no rank has seen after the first `places` slots. Split batches are whole again
    /// if no part of them was seen.
    pub(crate) fn unseen(&self, batches: &Batches, places: usize) -> Batches {
        let is_piece = |slot: u32| slot as usize >= batches.len();
        let mut known = vec![false; batches.len() + self.pieces.len()];
        let (seen, to_come) = self.slots.split_at(places);
        for &slot in seen {
            known[slot as usize] = true;
        }
        let whole = !seen.iter().any(|&slot| is_piece(slot));
        let to_come = to_come.iter().filter(|&&slot| !(whole && is_piece(slot)));
        let broken = self.broken.iter().filter(|_| whole);
        let rest = to_come.chain(broken).chain(&self.dropped).copied();
        let rest = rest.filter(|&slot| !std::mem::replace(&mut known[slot as usize], true));
        self.gathered(batches, &rest.collect::<Vec<u32>>())
    }

    /// Batches that do not fill a step are dropped, joined by others or split. Returns the batches that
    /// fill steps, and those of the last steps, step by step.
    fn set_aside(
        &mut self,
        batches: &Batches,
        order: Vec<u32>,
        parts: &mut Vec<Part>,
        per_step: usize,
        (made, clock): (&Provenance, Clock),
    ) -> (Vec<u32>, Vec<u32>) {
        let left = order.len() % per_step;
        if left == 0 {
            return (order, Vec::new());
        }
        match made.tail {
            Tail::Drop => {
                // Not always the fastest, which would be the shortest.
                let steps =
                    if made.steps == Steps::InOrder { made.steps } else { Steps::Stratified };
                let (kept, held) = hold_out(order, left, steps);
                self.dropped.extend(held);
                (kept, Vec::new())
            }
            Tail::Repeat => {
                if made.packed && made.steps == Steps::Stratified {
                    return rows::repeated(order, left, per_step);
                }
                let (kept, held) = hold_out(order, left, made.steps);
                let last = filled(&kept, &held, per_step, made.steps);
                (kept, last)
            }
            Tail::Split => {
                let of_rows = made.packed && made.steps == Steps::Stratified;
                let of_rows = of_rows.then(|| rows::held_to_split(&order, parts, per_step));
                let (kept, held) = of_rows
                    .flatten()
                    .unwrap_or_else(|| held_to_split(&order, parts, per_step, made.steps));
                let steps = (held.len() + per_step - left) / per_step;
                let count = steps * per_step;
                let mut last = split(batches, &held, count, (made, clock), &mut self.pieces);
                let new = self.pieces.padded().skip(parts.len() - batches.len());
                parts.extend(new.map(|piece| clock.part(piece)));
                match made.steps {
                    // One from each stratum of the parts as well.
                    Steps::Stratified => {
                        let step = |step: usize| last[step..].iter().step_by(steps).copied();
                        last = (0..steps).flat_map(step).collect();
                    }
                    Steps::Aligned => sort_by_time(&mut last, parts),
                    Steps::InOrder => {}
                }
                self.broken.extend(held);
                (kept, last)
            }
        }
    }
}

/// Assigns batches to steps of `per_step` each. How many ranks share a step decides only the slots of
/// its batches, not which batches it has.
pub(crate) fn assign(
    batches: &Batches,
    (per_step, world_size): (u32, u32),
    (made, clock): (&Provenance, Clock),
    rng: &Rng,
) -> Assigned {
    let (per_step, world_size) = (per_step as usize, world_size as usize);
    let own = made.shard.map_or(*rng, |shard| rng.at_shard(shard.number));
    let mut assigned = Assigned::default();
    if per_step == 1 {
        assigned.slots = (0..batches.len() as u32).collect();
        return assigned;
    }
    let mut parts: Vec<Part> = batches.padded().map(|batch| clock.part(batch)).collect();
    let mut order = ranked(&parts, made);
    if made.steps == Steps::Stratified && !made.packed && clock.units.is_some() {
        // Strata of kinds, and of lengths in them: a step has its share of each.
        sort::by_key(&mut order, |batch| clock.kind(batches.get(batch as usize)));
    }
    for order in by_kind(order, batches, (made, clock)) {
        let (kept, last) = assigned.set_aside(batches, order, &mut parts, per_step, (made, clock));
        let kept = match made.steps {
            Steps::InOrder | Steps::Aligned => kept,
            Steps::Stratified if made.packed => {
                let ranks = made.ranks_of_step(per_step as u32) as usize;
                rows::matched(&kept, &parts, (per_step, ranks), &own)
            }
            Steps::Stratified => balance::matched(&kept, &parts, per_step, &own),
        };
        assigned.slots.extend(kept);
        assigned.slots.extend(last);
    }
    let places = (per_step, world_size);
    if made.steps == Steps::InOrder && made.one_kind == OneKind::Step {
        // Those of one kind do not all come first.
        let order = as_built(&assigned.slots, per_step);
        let steps =
            order.iter().map(|&step| &assigned.slots[step as usize * per_step..][..per_step]);
        assigned.slots = steps.flatten().copied().collect();
    }
    let is_planned = made.batches_per_step.is_some() && made.share == Together::Batch;
    if made.steps != Steps::InOrder {
        assigned.slots = arranged(&assigned.slots, &parts, places, made, [rng, &own]);
    } else if is_planned && made.cost_model.is_some() && world_size > 1 {
        // Steps that were planned stay as they are; which rank takes which batch is free.
        let steps: Vec<u32> = (0..(assigned.slots.len() / per_step) as u32).collect();
        let time = |slot: u32| parts[slot as usize].time;
        assigned.slots = placed(&assigned.slots, &steps, places, true, &own, time);
    }
    assigned
}

/// The batches that may be in one step, in the same order: those of each kind by themselves if steps are of one kind.
fn by_kind(
    order: Vec<u32>,
    batches: &Batches,
    (made, clock): (&Provenance, Clock),
) -> impl Iterator<Item = Vec<u32>> {
    let mut kinds: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    if made.one_kind == OneKind::Batch || clock.units.is_none() {
        kinds.insert(0, order);
    } else {
        for batch in order {
            kinds.entry(clock.kind(batches.get(batch as usize))).or_default().push(batch);
        }
    }
    kinds.into_values()
}

/// The steps in the order of the epoch, each with its batches in their slots.
fn arranged(
    slots: &[u32],
    parts: &[Part],
    (per_step, world_size): (usize, usize),
    made: &Provenance,
    [rng, own]: [&Rng; 2],
) -> Vec<u32> {
    let time = |slot: u32| parts[slot as usize].time;
    let order = match made.arrange {
        Arrange::AsBuilt => as_built(slots, per_step),
        arrange => {
            let items: Vec<Item> = slots.chunks(per_step).map(|step| item(step, parts)).collect();
            match made.shard {
                None => arrange.order(&items, rng),
                Some(shard) => {
                    let work = slots.chunks(per_step).map(|step| step.iter().map(|&at| time(at)));
                    let work: Vec<f64> = work.map(|times| times.fold(0.0, f64::max)).collect();
                    in_step(&items, &work, (arrange, made.steps), shard, rng)
                }
            }
        }
    };
    placed(slots, &order, (per_step, world_size), made.packed, own, time)
}

/// The order in which a step comes when the first of its batches would.
fn as_built(slots: &[u32], per_step: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..(slots.len() / per_step) as u32).collect();
    order.sort_by_key(|&step| slots[step as usize * per_step..][..per_step].iter().min());
    order
}

/// All batches in the order in which steps are made of them.
fn ranked(parts: &[Part], made: &Provenance) -> Vec<u32> {
    let mut order: Vec<u32> = (0..parts.len() as u32).collect();
    match made.steps {
        Steps::InOrder => {}
        Steps::Aligned if made.time() == Time::Length => {
            sort::by_key(&mut order, |batch| parts[batch as usize].size);
            sort::by_key(&mut order, |batch| parts[batch as usize].length);
        }
        Steps::Stratified if !made.packed => {
            sort::by_key(&mut order, |batch| parts[batch as usize].length);
        }
        Steps::Aligned | Steps::Stratified => sort_by_time(&mut order, parts),
    }
    order
}

fn sort_by_time(order: &mut [u32], parts: &[Part]) {
    order.sort_by(|&a, &b| parts[a as usize].time.total_cmp(&parts[b as usize].time));
}

/// What a step is to an arrangement.
fn item(step: &[u32], parts: &[Part]) -> Item {
    let (mut cells, mut logs, mut largest) = (0.0, 0.0, 0);
    for &slot in step {
        let Part { size, length, .. } = parts[slot as usize];
        let own = u64::from(size) * u64::from(length);
        largest = own.max(largest);
        cells += own as f64;
        logs += own as f64 * ln(f64::from(length));
    }
    let log = logs / cells;
    // The logarithm of a length is below 23: this keeps 26 bits of it.
    Item { rank: (log * f64::from(1 << 26)) as u32, log, cells, largest }
}

/// The steps in the given order, each with its batches in their slots: rank r of W takes the slots
/// `r`, `r + W`, `r + 2W`, … If ranks take several batches, these are assigned [round by
/// round](rows::in_rounds), and then exchanged if that is asked for.
fn placed(
    slots: &[u32],
    order: &[u32],
    (per_step, world_size): (usize, usize),
    exchange: bool,
    rng: &Rng,
    time: impl Fn(u32) -> f64,
) -> Vec<u32> {
    let mut random = rng.stream(Purpose::Assign);
    let mut placed = vec![0; slots.len()];
    let mut by_time: Vec<(f64, u32)> = Vec::with_capacity(per_step);
    for (&step, places) in order.iter().zip(placed.chunks_mut(per_step)) {
        by_time.clear();
        let step = &slots[step as usize * per_step..][..per_step];
        by_time.extend(step.iter().map(|&slot| (time(slot), slot)));
        // No rank has the slowest batch of every step.
        let first = random.below(world_size as u32) as usize;
        let mut ranks = rows::in_rounds(&mut by_time, world_size, first);
        if exchange {
            rows::exchange(&mut ranks, &time);
        }
        for (rank, batches) in ranks {
            for (round, slot) in batches.into_iter().enumerate() {
                places[round * world_size + rank] = slot;
            }
        }
    }
    placed
}

/// Takes `count` batches out of the order: the last ones, the fastest ones, or evenly spaced ones of
/// all lengths. By position and not at random, so that on a ladder the shapes are the same in every
/// epoch.
pub(crate) fn hold_out(mut order: Vec<u32>, count: usize, steps: Steps) -> (Vec<u32>, Vec<u32>) {
    match steps {
        Steps::InOrder => {
            let held = order.split_off(order.len() - count);
            (order, held)
        }
        Steps::Aligned => (order.split_off(count), order),
        Steps::Stratified => {
            let mut next = (0..count).map(|at| evenly(at, count, order.len())).peekable();
            let (mut kept, mut held) = (Vec::with_capacity(order.len()), Vec::new());
            for (place, &batch) in order.iter().enumerate() {
                let chosen = next.next_if_eq(&place).is_some();
                if chosen { &mut held } else { &mut kept }.push(batch);
            }
            (kept, held)
        }
    }
}

/// The held batches and as many of the kept ones again as fill a step with them.
pub(crate) fn filled(kept: &[u32], held: &[u32], per_step: usize, steps: Steps) -> Vec<u32> {
    let from = if kept.is_empty() { held } else { kept };
    let missing = per_step - held.len();
    let again = (0..missing).map(|at| match steps {
        // From the beginning, over and over.
        Steps::InOrder | Steps::Aligned => at % from.len(),
        Steps::Stratified => evenly(at, missing, from.len()),
    });
    held.iter().copied().chain(again.map(|at| from[at])).collect()
}

/// The batches to split: those that do not fill a step, and whole steps besides until every slot of
/// these steps can have a sequence. If that is impossible, all of them: then each sequence is a part,
/// and as few as possible are repeated.
pub(crate) fn held_to_split(
    order: &[u32],
    parts: &[Part],
    per_step: usize,
    steps: Steps,
) -> (Vec<u32>, Vec<u32>) {
    let left = order.len() % per_step;
    let whole = order.len() / per_step;
    // Twice as many each time, so that there are few attempts.
    let more = std::iter::once(0).chain((0..).map(|power| 1 << power));
    for more in more.take_while(|&more| more < 2 * whole.max(1)).map(|more| whole.min(more)) {
        let (kept, held) = hold_out(order.to_vec(), left + more * per_step, steps);
        let sequences: u64 =
            held.iter().map(|&batch| u64::from(parts[batch as usize].pieces)).sum();
        if sequences >= ((more + 1) * per_step) as u64 {
            return (kept, held);
        }
    }
    hold_out(order.to_vec(), order.len(), steps)
}

/// Splits batches into `count` parts of nearly equal cost; with fewer sequences than that, one sequence
/// each, and then the first ones again. Appends the parts and returns their numbers, short ones first.
///
/// A part that has sequences of two batches is not larger than the second, which is the longer one, so
/// it is within the budget too.
pub(crate) fn split(
    batches: &Batches,
    held: &[u32],
    count: usize,
    (made, clock): (&Provenance, Clock),
    pieces: &mut Batches,
) -> Vec<u32> {
    let mut held = held.to_vec();
    if !made.packed {
        held.sort_by_key(|&batch| batches.pad(batch as usize).joint());
    }
    let mut pool = Batches::default();
    for batch in held {
        pool.push(batches.get(batch as usize), batches.pad(batch as usize));
    }
    let first = (batches.len() + pieces.len()) as u32;
    if made.packed {
        let parts = rows::divided(&pool, count, made, clock);
        let mut order: Vec<(f64, usize)> =
            parts.padded().map(|(row, pad)| clock.of(row, pad)).zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, part) in order {
            pieces.push(parts.get(part), parts.pad(part));
        }
    } else {
        for piece in split_batches(&pool, count, (made, clock)) {
            pieces.push(pool.sequences(piece), piece.pad);
        }
    }
    let made = (batches.len() + pieces.len()) as u32 - first;
    (0..count as u32).map(|at| first + at % made).collect()
}

fn split_batches(pool: &Batches, count: usize, (made, clock): (&Provenance, Clock)) -> Vec<Span> {
    let time = match made.time() {
        // All sizes of a length take the same time, and yet half a batch is better than none.
        Time::Length => Time::Cells,
        time => time,
    };
    let cost = |span: Span| time.of(clock.size(pool.sequences(span)), span.pad.joint());
    let most = pool.spans().map(cost).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, most);
    // Of two lengths neither batch need be the longer, and batches may be of different kinds.
    let together = made.together || !pool.seconds.is_empty() || clock.units.is_some();
    let mut best = cut(pool, most, together, &cost);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        let tried = cut(pool, middle, together, &cost);
        if tried.len() <= count {
            (high, best) = (middle, tried);
        } else {
            low = middle;
        }
    }
    split_costliest(best, count, 1, &cost)
}

/// Cuts the pool from the front into parts of at most `limit`, or of one sequence. Batches that belong
/// `together` are cut, but never mixed.
fn cut(pool: &Batches, limit: f64, together: bool, cost: &impl Fn(Span) -> f64) -> Vec<Span> {
    let mut pieces: Vec<Span> = Vec::new();
    let mut open: Option<Span> = None;
    let mut start = 0;
    for (at, (whole, _)) in pool.shapes().enumerate() {
        let mut left = whole;
        while left > 0 {
            let had = open.map_or(0, |piece| piece.size);
            // The most that the part can have at this length.
            let most = whole.saturating_sub(had).min(left);
            let begun = open.map_or(start, |piece| piece.start);
            let with = |more: u32| Span { start: begun, size: had + more, pad: pool.pad(at) };
            let more = largest(most, |more| cost(with(more)) <= limit);
            let more = if had == 0 { more.max(1) } else { more };
            if more > 0 {
                open = Some(with(more));
                start += more;
                left -= more;
            }
            if left > 0 || together {
                pieces.extend(open.take());
            }
        }
    }
    pieces.extend(open);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_and_loads_are_nearly_equal() {
        for (per_step, world_size) in [(1, 1), (5, 5), (12, 12), (12, 3), (12, 6), (12, 4), (60, 5)]
        {
            let slots: Vec<u32> = (0..2 * per_step as u32).collect();
            let time = |slot: u32| f64::from(100 + slot % 17);
            let rng = Rng::new(1, 0);
            let placed = placed(&slots, &[1, 0], (per_step, world_size), false, &rng, time);
            for (step, places) in [1, 0].into_iter().zip(placed.chunks(per_step)) {
                let mut members = places.to_vec();
                members.sort_unstable();
                assert_eq!(members, slots[step * per_step..][..per_step]);
                let loads: Vec<f64> = (0..world_size)
                    .map(|rank| places[rank..].iter().step_by(world_size).map(|&s| time(s)).sum())
                    .collect();
                let (most, least) =
                    loads.iter().fold((0.0_f64, f64::INFINITY), |(m, l), &x| (m.max(x), l.min(x)));
                // In the worst case they differ by what two batches differ.
                assert!(most - least <= 16.0, "{per_step} {world_size}: {loads:?}");
            }
        }
    }
}
