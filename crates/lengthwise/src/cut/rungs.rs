//! Batches on a ladder, and the ladder for given batches.

use crate::base::rng::{Purpose, Rng};
use crate::cut::spans::{Span, Spans};
use crate::data::pad::Pad;
use crate::limit::resolved::ResolvedBudget;
use crate::order::keyed::{AtRungs, Flat};
use crate::shape::grid::Grid;
use crate::shape::rounding::Staircase;

/// Batches of an order on the rungs of a ladder: each sequence waits at its own rung, and whenever a
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
    deal(&order, &rungs, limit, &shapes_of(ladder), short)
}

/// The shapes of a ladder.
pub(crate) fn shapes_of(ladder: &Staircase) -> Vec<Pad> {
    ladder.edges().iter().map(|&rung| Pad::one(rung)).collect()
}

/// Puts the sequences of an order to their shapes, given by number, and makes batches of them.
fn deal(
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
    deal(order, &shape_of, limit, &shapes, short)
}
