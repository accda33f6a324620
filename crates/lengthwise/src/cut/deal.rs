//! Batches on a ladder, and the ladder for given batches.

use super::{Batches, Loose, loose::Span};
use crate::{
    Lengths, Room,
    ladder::Staircase,
    pairs::Pad,
    sort::{Dealt, Flat},
};

/// Deals an order to the rungs of a ladder: each sequence waits at its own rung, and whenever a
/// rung holds a full batch, that batch is made, so every full batch of a rung has the same size.
/// At the end what is left at a rung climbs to the next and is placed there first, so that hardly
/// any batch has an odd shape. Where climbing would pad by more than an eighth of a full batch or a
/// two-hundredth of all cells, and at the top, what is left is an odd batch instead.
///
/// How many sequences wait at a rung depends on the lengths alone, so the shapes are the same in
/// every epoch.
pub(super) fn deal(order: Flat, room: &Room, ladder: &Staircase) -> Batches {
    let Flat { order, padded } = order;
    let lookup = || order.iter().map(|&sequence| room.padded_length(sequence)).collect();
    let padded: Vec<u32> = padded.unwrap_or_else(lookup);
    let mut batches = Batches::with_capacity(order.len());
    let rungs = ladder.edges();
    let full: Vec<usize> = rungs.iter().map(|&rung| room.full(rung) as usize).collect();
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); rungs.len()];
    for (&sequence, &length) in order.iter().zip(&padded) {
        let rung = ladder.of(length) as usize;
        waiting[rung].push(sequence);
        if waiting[rung].len() == full[rung] {
            batches.push(&waiting[rung], Pad::one(rungs[rung]));
            waiting[rung].clear();
        }
    }
    let all = padded.iter().map(|&length| u64::from(length)).sum();
    let waiting = |rung: usize| &waiting[rung][..];
    climb(rungs, room, all, waiting, |batch, length| batches.push(batch, Pad::one(length)));
    batches
}

/// The same from sequences that are at their rungs already, with the full batches.
pub(super) fn finish(dealt: Dealt, room: &Room, ladder: &Staircase) -> Loose {
    let Dealt { indices, ends, full } = dealt;
    let rungs = ladder.edges();
    let sizes: Vec<u32> = rungs.iter().map(|&rung| room.full(rung)).collect();
    let start_of = |rung: usize| if rung == 0 { 0 } else { ends[rung - 1] };
    let spans = full.into_iter().map(|(rung, batch)| {
        let rung = rung as usize;
        let (size, length) = (sizes[rung], rungs[rung]);
        Span { start: start_of(rung) + batch * size, size, pad: Pad::one(length) }
    });
    let mut loose = Loose { spans: spans.collect(), ..Loose::default() };
    let count_of = |rung: usize| ends[rung] - start_of(rung);
    let all = (0..rungs.len()).map(|at| u64::from(rungs[at]) * u64::from(count_of(at))).sum();
    let waiting = |rung: usize| {
        let left = count_of(rung) % sizes[rung];
        &indices[(ends[rung] - left) as usize..ends[rung] as usize]
    };
    let mut left = Vec::new();
    climb(rungs, room, all, waiting, |batch, length| left.push((batch.to_vec(), length)));
    loose.indices = indices;
    for (batch, length) in left {
        loose.push(&batch, Pad::one(length));
    }
    loose
}

/// Makes batches of what is `waiting` at each rung.
fn climb<'a>(
    rungs: &[u32],
    room: &Room,
    all: u64,
    waiting: impl Fn(usize) -> &'a [u32],
    mut push: impl FnMut(&[u32], u32),
) {
    let mut left: Vec<u32> = Vec::new();
    for (at, &rung) in rungs.iter().enumerate() {
        left.extend(waiting(at));
        let full = room.full(rung) as usize;
        let (whole, rest) = left.split_at(left.len() - left.len() % full);
        for batch in whole.chunks_exact(full) {
            push(batch, rung);
        }
        let next = rungs.get(at + 1);
        let climbs =
            next.is_some_and(|&next| climbs(rest.len() as u64, rung, next, room.full(next), all));
        if !climbs && !rest.is_empty() {
            push(rest, rung);
        }
        left = if climbs { rest.to_vec() } else { Vec::new() };
    }
}

/// Whether what is left at a rung climbs to the next: `all` is what all sequences take on their own
/// rungs, in cells.
fn climbs(left: u64, rung: u32, next: u32, full_at_next: u32, all: u64) -> bool {
    let extra = u128::from(left) * u128::from(next - rung);
    8 * extra <= u128::from(full_at_next) * u128::from(next) && 200 * extra <= u128::from(all)
}

/// What all batches on these rungs cost together, in the units of the budget: cells or seconds. It
/// follows from how many sequences each rung has, and is what [`deal`] comes to for every order.
fn executed(rungs: &[u32], room: &Room, upto: impl Fn(u32) -> u64) -> f64 {
    let mut below = 0;
    let own =
        |&rung: &u32| u64::from(rung) * (upto(rung) - std::mem::replace(&mut below, upto(rung)));
    let all = rungs.iter().map(own).sum();
    let (mut cost, mut left, mut below) = (0.0, 0, 0);
    for (at, &rung) in rungs.iter().enumerate() {
        let (full, count) = (room.full(rung), upto(rung));
        let total = left + (count - below);
        below = count;
        cost += (total / u64::from(full)) as f64 * room.cost(full, rung);
        left = total % u64::from(full);
        let next = rungs.get(at + 1);
        if left > 0 && !next.is_some_and(|&next| climbs(left, rung, next, room.full(next), all)) {
            cost += room.cost(left as u32, rung);
            left = 0;
        }
    }
    cost
}

/// More rungs than this are left as they are: there is little to gain.
const MOST_RUNGS: usize = 64;

/// Moves the rungs of a ladder to where the batches that are really made cost least: full batches of
/// whole sizes, what climbs, and what is left. The ladder stays as it is unless that saves at least
/// one part in a hundred.
///
/// One rung after another is tried at other lengths, near and far, as long as anything improves.
pub(crate) fn refined(rungs: Vec<u32>, lengths: &Lengths, room: &Room) -> Vec<u32> {
    let histogram = lengths.population();
    if rungs.len() < 2 || rungs.len() > MOST_RUNGS || rungs.len() == histogram.len() {
        return rungs;
    }
    let mut counts = Vec::with_capacity(histogram.len());
    let mut count = 0;
    for &(_, of_length) in histogram {
        count += u64::from(of_length);
        counts.push(count);
    }
    let place = |length: u32| histogram.partition_point(|&(other, _)| other < length);
    let cost = |rungs: &[u32]| executed(rungs, room, |rung| counts[place(rung)]);
    let before = cost(&rungs);
    let (mut best, mut least) = (rungs.clone(), before);
    for _ in 0..8 {
        let start = least;
        for at in 0..best.len() - 1 {
            let here = place(best[at]);
            let bounds = if at == 0 { 0 } else { place(best[at - 1]) + 1 }..place(best[at + 1]);
            let steps = (0..10).map(|power| 1_usize << power);
            let moves = steps.flat_map(|step| [here.checked_sub(step), here.checked_add(step)]);
            for there in moves.flatten().filter(|there| bounds.contains(there)) {
                let mut tried = best.clone();
                tried[at] = histogram[there].0;
                let found = cost(&tried);
                if found < least {
                    (best, least) = (tried, found);
                }
            }
        }
        if least > start * 0.999 {
            break;
        }
    }
    if least < 0.99 * before { best } else { rungs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Example, Planner, Shapes, Shuffled, ladder};

    /// The cost of a ladder is that of the batches on it, and refining it never makes it larger.
    #[test]
    fn executed_is_what_dealing_comes_to() {
        for example in Example::ALL {
            let lengths = example.lengths();
            for (budget, cells) in [
                (Budget::sequences(16), true),
                (Budget::padded(3 * u64::from(lengths.max())), true),
                (Budget::padded(64 * u64::from(lengths.max())).multiple_of(8), true),
                ("cost:recurrent,limit=3,at-most=300".parse().unwrap(), false),
            ] {
                let room = budget.resolve(&lengths, lengths.as_slice().into()).unwrap();
                for count in [1, 2, 5, 16, 40] {
                    let usual = ladder(&lengths, count);
                    let better = refined(usual.clone(), &lengths, &room);
                    assert_eq!(better.len(), usual.len());
                    let upto = |rung: u32| {
                        lengths.as_slice().iter().filter(|&&length| length <= rung).count() as u64
                    };
                    let [before, after] =
                        [&usual, &better].map(|rungs| executed(rungs, &room, upto));
                    assert!(after <= before);
                    let plan = Planner::new(Shuffled, budget)
                        .shapes(Shapes::Rungs(better))
                        .plan(&lengths, 0)
                        .unwrap();
                    let sum: f64 = plan
                        .iter()
                        .zip(plan.batch_lengths())
                        .map(|(batch, &length)| room.cost(batch.len() as u32, length))
                        .sum();
                    assert!((sum / after - 1.0).abs() < 1e-9, "{example} {budget} {count}");
                    if cells {
                        assert!((plan.measure(&lengths).cells as f64 - after).abs() < 0.5);
                    }
                }
            }
        }
    }
}
