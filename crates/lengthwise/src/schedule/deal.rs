//! Which batches make which step, and which place in it each one takes.

use super::{balance, seat, tail};
use crate::{
    Arrange, Made, Rng, Steps, Tail, arrange::Item, cut::Batches, math::ln, sort, steps::Time,
};

/// Batches dealt to steps. Batches are named by number: first those that were dealt, then those that
/// were made from broken ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dealt {
    pub(crate) pieces: Batches,
    /// The batches of the first step by place, then those of the second, and so on.
    pub(crate) slots: Vec<u32>,
    /// The batches in no step.
    pub(crate) dropped: Vec<u32>,
    /// The batches that the pieces were made from.
    broken: Vec<u32>,
}

impl Dealt {
    /// The sequences and the batch length of a batch.
    pub(super) fn batch<'a>(&'a self, batches: &'a Batches, slot: u32) -> (&'a [u32], u32) {
        let slot = slot as usize;
        match slot.checked_sub(batches.len()) {
            None => (batches.get(slot), batches.lengths[slot]),
            Some(piece) => (self.pieces.get(piece), self.pieces.lengths[piece]),
        }
    }

    pub(super) fn gathered(&self, batches: &Batches, slots: impl Iterator<Item = u32>) -> Batches {
        let mut gathered = Batches::default();
        for slot in slots {
            let (batch, length) = self.batch(batches, slot);
            gathered.push(batch, length);
        }
        gathered
    }

    /// The batches that nobody has seen when the first `places` were taken. Broken ones are whole
    /// again if no piece of them was seen.
    pub(super) fn unseen(&self, batches: &Batches, places: usize) -> Batches {
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
        self.gathered(batches, rest)
    }
}

/// A batch that takes part.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) size: u32,
    pub(super) length: u32,
}

/// Deals batches to steps of `per_step` each.
pub(super) fn deal(batches: &Batches, per_step: u32, made: &Made, rng: &Rng) -> Dealt {
    let per_step = per_step as usize;
    let mut dealt = Dealt::default();
    if per_step == 1 {
        dealt.slots = (0..batches.len() as u32).collect();
        return dealt;
    }
    let time = made.time();
    let mut parts: Vec<Part> =
        batches.shapes().map(|(size, length)| Part { size, length }).collect();
    let order = ranked(&parts, made.steps, time);
    let left = order.len() % per_step;

    // What fills no step, and the steps that are made of it.
    let mut last = Vec::new();
    let (kept, held) = match made.tail {
        _ if left == 0 => (order, Vec::new()),
        Tail::Drop => hold_out(order, left, made.steps),
        Tail::Repeat => {
            let (kept, held) = hold_out(order, left, made.steps);
            last = tail::filled(&kept, &held, per_step, made.steps);
            (kept, held)
        }
        Tail::Split => {
            let (kept, held) = tail::held_to_split(&order, &parts, per_step, made.steps);
            let steps = (held.len() + per_step - left) / per_step;
            last = tail::split(batches, &held, steps * per_step, time, &mut dealt.pieces);
            parts.extend(dealt.pieces.shapes().map(|(size, length)| Part { size, length }));
            (kept, held)
        }
    };
    match made.tail {
        Tail::Drop => dealt.dropped = held,
        Tail::Split => dealt.broken = held,
        Tail::Repeat => {}
    }

    dealt.slots = match made.steps {
        Steps::InOrder | Steps::Aligned => kept,
        Steps::Stratified => balance::matched(&kept, &parts, per_step, rng),
    };
    let time_of = |slot: u32| {
        let Part { size, length } = parts[slot as usize];
        time.of(size, length)
    };
    match made.steps {
        // Several steps of pieces: one from each stratum of them as well, or those of equal time.
        Steps::Stratified => {
            let steps = last.len() / per_step;
            let strata = (0..steps).flat_map(|step| last[step..].iter().step_by(steps));
            dealt.slots.extend(strata);
        }
        Steps::Aligned => {
            last.sort_by(|&a, &b| time_of(a).total_cmp(&time_of(b)));
            dealt.slots.extend(last);
        }
        Steps::InOrder => dealt.slots.extend(last),
    }
    if made.steps == Steps::InOrder {
        return dealt;
    }
    let items: Vec<Item> = dealt.slots.chunks(per_step).map(|step| item(step, &parts)).collect();
    let order = match made.arrange {
        // As built: a step comes when the first of its batches would.
        Arrange::AsBuilt => {
            let mut order: Vec<u32> = (0..items.len() as u32).collect();
            let first = |step: u32| {
                dealt.slots[step as usize * per_step..][..per_step].iter().min().copied()
            };
            order.sort_by_key(|&step| first(step));
            order
        }
        arrange => arrange.order(&items, rng),
    };
    dealt.slots = seat::seated(&dealt.slots, &order, per_step, rng, time_of);
    dealt
}

/// All batches in the order in which steps are made of them.
fn ranked(parts: &[Part], steps: Steps, time: Time) -> Vec<u32> {
    let mut order: Vec<u32> = (0..parts.len() as u32).collect();
    match (steps, time) {
        (Steps::InOrder, _) => {}
        (Steps::Aligned, Time::Cells | Time::Seconds(_)) => {
            let times: Vec<f64> =
                parts.iter().map(|part| time.of(part.size, part.length)).collect();
            order.sort_by(|&a, &b| times[a as usize].total_cmp(&times[b as usize]));
        }
        (Steps::Aligned, Time::Length) => {
            sort::by_key(&mut order, |batch| parts[batch as usize].size);
            sort::by_key(&mut order, |batch| parts[batch as usize].length);
        }
        (Steps::Stratified, _) => sort::by_key(&mut order, |batch| parts[batch as usize].length),
    }
    order
}

/// Takes `count` batches out of the order: the last ones, the fastest ones, or every so many of all
/// lengths. By place and not at random, so that on a ladder the shapes are the same in every epoch.
pub(super) fn hold_out(mut order: Vec<u32>, count: usize, steps: Steps) -> (Vec<u32>, Vec<u32>) {
    match steps {
        Steps::InOrder => {
            let held = order.split_off(order.len() - count);
            (order, held)
        }
        Steps::Aligned => {
            let kept = order.split_off(count);
            (kept, order)
        }
        Steps::Stratified => {
            let mut next = tail::evenly(count, order.len()).peekable();
            let (mut kept, mut held) = (Vec::with_capacity(order.len()), Vec::new());
            for (place, batch) in order.into_iter().enumerate() {
                let chosen = next.next_if_eq(&place).is_some();
                if chosen { &mut held } else { &mut kept }.push(batch);
            }
            (kept, held)
        }
    }
}

/// What a step is to an arrangement.
fn item(step: &[u32], parts: &[Part]) -> Item {
    let (mut cells, mut logs, mut largest) = (0.0, 0.0, 0);
    for &slot in step {
        let Part { size, length } = parts[slot as usize];
        let own = u64::from(size) * u64::from(length);
        largest = own.max(largest);
        cells += own as f64;
        logs += own as f64 * ln(f64::from(length));
    }
    let log = logs / cells;
    // The logarithm of a length is below 23: this keeps 26 bits of it.
    Item { rank: (log * f64::from(1 << 26)) as u32, log, cells, largest }
}
