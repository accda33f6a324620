//! Batches on a ladder, and the ladder for given batches.

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::{Span, Spans};
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::resolved::ResolvedBudget;
use crate::order::keyed::{AtRungs, Flat};
use crate::shape::ladder::ladder;
use crate::shape::rounding::{Grid, Rounding, Staircase};
use crate::shape::shapes::Shapes;

/// Batches of an order on the rungs of a ladder: sequences are collected at their rungs, and whenever a
/// rung holds a full batch, that batch is made. See [`finish`].
pub(crate) fn of_order(
    order: Flat,
    limit: &ResolvedBudget,
    ladder: &Staircase,
    short: Option<&Rng>,
) -> Spans {
    let Flat { order, padded } = order;
    let lookup = || order.iter().map(|&sequence| limit.padded_length(sequence)).collect();
    let mut rungs: Vec<u32> = padded.unwrap_or_else(lookup);
    for length in &mut rungs {
        *length = ladder.of(*length);
    }
    batches_at(&order, &rungs, limit, &shapes_of(ladder), short)
}

/// The shapes of a ladder.
pub(crate) fn shapes_of(ladder: &Staircase) -> Vec<Pad> {
    ladder.edges.iter().map(|&rung| Pad::one(rung)).collect()
}

/// Puts the sequences of an order to their shapes, given by number, and makes batches of them.
fn batches_at(
    order: &[u32],
    shape_of: &[u32],
    limit: &ResolvedBudget,
    shapes: &[Pad],
    short: Option<&Rng>,
) -> Spans {
    let sizes: Vec<u32> = shapes.iter().map(|&shape| limit.full_of(shape)).collect();
    let mut ends = vec![0; shapes.len()];
    for &shape in shape_of {
        ends[shape as usize] += 1;
    }
    let mut end = 0;
    let mut starts = Vec::with_capacity(shapes.len());
    for count in &mut ends {
        starts.push(end);
        end += *count;
        *count = end;
    }
    let mut indices = vec![0; order.len()];
    let (mut filled, mut full) = (vec![0; shapes.len()], Vec::new());
    for (&sequence, &shape) in order.iter().zip(shape_of) {
        let at = shape as usize;
        indices[(starts[at] + filled[at]) as usize] = sequence;
        filled[at] += 1;
        if filled[at] % sizes[at] == 0 {
            full.push((shape, filled[at] / sizes[at] - 1));
        }
    }
    finish(AtRungs { indices, ends, full }, limit, shapes, short)
}

/// Makes batches of sequences that are at their shapes. Every full batch of a shape has the same
/// size. What is left at a shape climbs to the next and is placed there first, so that hardly any
/// batch has an odd shape; see [`climbs`] for what does not.
///
/// How many sequences are left at a shape depends on the lengths alone, so the shapes are the same
/// in every epoch. Which ones these are does not: with `short`, what is left is taken from a random
/// place between the full batches, and otherwise from the end of the order.
pub(crate) fn finish(
    sorted: AtRungs,
    limit: &ResolvedBudget,
    shapes: &[Pad],
    short: Option<&Rng>,
) -> Spans {
    let AtRungs { indices, ends, full } = sorted;
    let sizes: Vec<u32> = shapes.iter().map(|&shape| limit.full_of(shape)).collect();
    let start_of = |at: usize| if at == 0 { 0 } else { ends[at - 1] };
    let count_of = |at: usize| ends[at] - start_of(at);
    let left_of = |at: usize| count_of(at) % sizes[at];
    let mut random = short.map(|rng| rng.stream(Purpose::Short));
    // How many full batches of each shape come before what is left there.
    let before = (0..shapes.len()).map(|at| match (&mut random, count_of(at) / sizes[at]) {
        (Some(random), full) if left_of(at) > 0 => random.below(full + 1),
        (_, full) => full,
    });
    let before: Vec<u32> = before.collect();
    let spans = full.into_iter().map(|(shape, batch)| {
        let at = shape as usize;
        let behind = if batch < before[at] { 0 } else { left_of(at) };
        let (size, pad) = (sizes[at], shapes[at]);
        Span { start: start_of(at) + batch * size + behind, size, pad }
    });
    let spans = spans.collect();
    let own = (0..shapes.len()).map(|at| shapes[at].cells(count_of(at)));
    let all = own.fold(0, u64::saturating_add);
    let waiting = |at: usize| {
        let start = start_of(at) + before[at] * sizes[at];
        &indices[start as usize..(start + left_of(at)) as usize]
    };
    let left = climb(shapes, limit, all, waiting);
    let mut spans = Spans { indices, tail: Vec::new(), spans };
    for (batch, pad) in left {
        spans.push(&batch, pad);
    }
    spans
}

/// Makes batches of what is `waiting` at each shape.
fn climb<'a>(
    shapes: &[Pad],
    limit: &ResolvedBudget,
    all: u64,
    waiting: impl Fn(usize) -> &'a [u32],
) -> Vec<(Vec<u32>, Pad)> {
    let (mut left, mut batches): (Vec<u32>, _) = (Vec::new(), Vec::new());
    for (at, &shape) in shapes.iter().enumerate() {
        left.extend(waiting(at));
        let full = limit.full_of(shape) as usize;
        let (whole, rest) = left.split_at(left.len() - left.len() % full);
        batches.extend(whole.chunks_exact(full).map(|batch| (batch.to_vec(), shape)));
        let next = shapes.get(at + 1);
        let climbs = next.is_some_and(|&next| climbs(rest.len() as u64, shape, next, limit, all));
        left = rest.to_vec();
        if !climbs && !left.is_empty() {
            batches.push((std::mem::take(&mut left), shape));
        }
    }
    batches
}

/// Whether what is left at a shape climbs to the next: `all` is what all sequences take at their own
/// shapes, in cells. It does if that pads by at most an eighth of a full batch and a two-hundredth of
/// all cells, and never to a shape that the budget does not hold one sequence of: rungs that are
/// given may be longer than every sequence. Of two lengths only the second climbs.
pub(crate) fn climbs(left: u64, from: Pad, to: Pad, limit: &ResolvedBudget, all: u64) -> bool {
    if to.second > 0 && to.first != from.first {
        return false;
    }
    let extra = u128::from(left) * u128::from(to.cells(1) - from.cells(1));
    limit.holds_one(to)
        && 8 * extra <= u128::from(to.cells(limit.full_of(to)))
        && 200 * extra <= u128::from(all)
}

/// Batches of an order on the shapes of a grid. What is left climbs to the next second rung.
pub(crate) fn of_pairs(
    order: &[u32],
    limit: &ResolvedBudget,
    grid: &Grid,
    short: Option<&Rng>,
) -> Spans {
    let shapes: Vec<Pad> = grid.shapes().collect();
    let shape_of = order.iter().map(|&sequence| {
        let Some(shape) = grid.shape_of(limit.lengths_of(sequence)) else {
            unreachable!("a grid is made for all sequences");
        };
        shape as u32
    });
    let shape_of: Vec<u32> = shape_of.collect();
    batches_at(order, &shape_of, limit, &shapes, short)
}

/// What all batches on these rungs cost together, in the units of the budget: cells or seconds. It
/// follows from how many sequences each rung has, and is what [`of_order`] comes to for every order.
pub(crate) fn executed(rungs: &[u32], limit: &ResolvedBudget, upto: impl Fn(u32) -> u64) -> f64 {
    let mut below = 0;
    let own =
        |&rung: &u32| u64::from(rung) * (upto(rung) - std::mem::replace(&mut below, upto(rung)));
    let all = rungs.iter().map(own).sum();
    let (mut cost, mut left, mut below) = (0.0, 0, 0);
    for (at, &rung) in rungs.iter().enumerate() {
        let (full, count) = (limit.full(rung), upto(rung));
        let total = left + (count - below);
        below = count;
        cost += (total / u64::from(full)) as f64 * limit.cost(full, rung);
        left = total % u64::from(full);
        let climbs = |&next: &u32| climbs(left, Pad::one(rung), Pad::one(next), limit, all);
        if left > 0 && !rungs.get(at + 1).is_some_and(climbs) {
            cost += limit.cost(left as u32, rung);
            left = 0;
        }
    }
    cost
}

/// The rule for these lengths. A ladder that is to be chosen suits the batches of the budget.
pub(crate) fn rounding(
    shapes: &Shapes,
    lengths: &Lengths,
    budget: &Budget,
) -> Result<Rounding, Error> {
    let Shapes::Ladder(rungs @ 1..) = *shapes else { return shapes.rounding(lengths) };
    let limit = budget.resolve(lengths.longest())?;
    let choose = || refined(ladder(lengths, rungs), lengths, &limit);
    let rungs = lengths.remembered(&format!("{shapes} {budget}"), choose);
    Ok(Rounding::Rungs(Staircase::new(rungs, lengths)))
}

/// More rungs than this are left as they are: there is little to gain.
const MOST_RUNGS: usize = 64;

/// Moves the rungs of a ladder to where the batches that are really made cost least: full batches of
/// whole sizes, what climbs, and what is left. The ladder stays as it is unless that saves at least
/// one part in a hundred.
///
/// One rung after another is tried at other lengths, near and far, as long as anything improves.
pub(crate) fn refined(rungs: Vec<u32>, lengths: &Lengths, limit: &ResolvedBudget) -> Vec<u32> {
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
    let cost = |rungs: &[u32]| executed(rungs, limit, |rung| counts[place(rung)]);
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
    use crate::{
        data::statistics::Statistics,
        example::Example,
        limit::budget::Budget,
        planner::Planner,
        shape::{ladder::ladder, shapes::Shapes},
        strategy::shuffled::Shuffled,
    };

    /// The cost of a ladder is that of the batches on it, and refining it never makes it larger.
    #[test]
    fn executed_is_the_cost_of_the_batches() {
        for example in Example::ALL {
            let lengths = example.lengths();
            for (budget, cells) in [
                (Budget::sequences(16), true),
                (Budget::padded(3 * u64::from(lengths.max())), true),
                (Budget::padded(64 * u64::from(lengths.max())).multiple_of(8), true),
                ("cost:recurrent,limit=3,at-most=300".parse().unwrap(), false),
            ] {
                let limit = budget.resolve(lengths.max()).unwrap();
                for count in [1, 2, 5, 16, 40] {
                    let usual = ladder(&lengths, count);
                    let better = refined(usual.clone(), &lengths, &limit);
                    assert_eq!(better.len(), usual.len());
                    let upto = |rung: u32| {
                        lengths.as_slice().iter().filter(|&&length| length <= rung).count() as u64
                    };
                    let [before, after] =
                        [&usual, &better].map(|rungs| executed(rungs, &limit, upto));
                    assert!(after <= before);
                    let plan = Planner::new(Shuffled, budget)
                        .shapes(Shapes::Rungs(better))
                        .plan(&lengths, 0)
                        .unwrap();
                    let sum: f64 = plan
                        .iter()
                        .zip(plan.batch_lengths())
                        .map(|(batch, &length)| limit.cost(batch.len() as u32, length))
                        .sum();
                    assert!((sum / after - 1.0).abs() < 1e-9, "{example} {budget} {count}");
                    if cells {
                        assert!((plan.measure(&lengths).cells as f64 - after).abs() < 0.5);
                    }
                }
            }
        }
    }

    /// A ladder that is known is not taken for one of other settings, or of a whole.
    #[test]
    fn a_ladder_is_kept_for_its_own_settings() {
        let lengths = Example::Speech.lengths();
        let fresh = |lengths: &Lengths| match lengths.statistics() {
            None => Lengths::new(lengths.as_slice()).unwrap(),
            Some(all) => Lengths::new(lengths.as_slice()).unwrap().part_of(all.clone()).unwrap(),
        };
        let settings = [(8, 50_000), (4, 50_000), (8, 5000), (8, 50_000)];
        let check = |lengths: &Lengths| {
            settings.map(|(rungs, cells)| {
                let (shapes, budget) = (Shapes::Ladder(rungs), Budget::padded(cells));
                let edges = |lengths: &Lengths| match rounding(&shapes, lengths, &budget).unwrap() {
                    Rounding::Rungs(rungs) => rungs.edges.clone(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(edges(lengths), edges(&fresh(lengths)), "{rungs} {cells}");
                edges(lengths)
            })
        };
        let own = check(&lengths);
        let all = Statistics::of(&Lengths::new([3000, 2000, 4000]).unwrap());
        let part = check(&lengths.part_of(all.into()).unwrap());
        assert!(own[0] != own[1] && own[0] == own[3] && own[0] != part[0]);
    }
}
