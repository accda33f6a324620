//! Where an order becomes batches under a budget.

use std::ops::Range;

use crate::base::rng::{Purpose, Rng, Stream};
use crate::cut::batches::{Batches, Span, Spans};
use crate::cut::rungs;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::resolved::{ByCells, Fill, Growing, ResolvedBudget};
use crate::order::groups::{GroupKind, Groups, Order};
use crate::order::keyed::Flat;
use crate::shape::rounding::{PairRounding, Rounding};

/// The groups as rows, each as long as its sequences together, rounded up by the shapes.
pub(crate) fn rows(
    groups: Groups,
    lengths: &Lengths,
    limit: &ResolvedBudget,
    rounding: &Rounding,
) -> Result<Batches, Error> {
    let Groups { order: Order::Flat(Flat { order: indices, .. }), mut ends, .. } = groups else {
        unreachable!("rows are filled from an order");
    };
    let (mut start, mut sums) = (0, Vec::with_capacity(ends.len()));
    // An empty group is no row.
    ends.dedup();
    ends.retain(|&end| end > 0);
    for &end in &ends {
        let members = &indices[start as usize..end as usize];
        let sum = limit.check_row(members, lengths)?;
        sums.push(rounding.of(sum as u32));
        start = end;
    }
    Ok(Batches { indices, ends, lengths: sums, seconds: Vec::new() })
}

/// Cuts the groups into batches: from the front as many sequences as the budget admits, then the
/// next batch. For a given order no other way of cutting makes fewer batches, because whatever fits
/// together still fits when one is taken away. With rungs, see [`finish`](rungs::finish).
pub(crate) fn cut(groups: Groups, limit: &ResolvedBudget, rounding: &Rounding) -> Spans {
    let Groups { order, ends, kind, ref short, .. } = groups;
    let short = short.as_ref();
    match (order, limit.pair_rounding(), rounding, kind) {
        (Order::Flat(flat), Some(PairRounding::Grid(grid)), _, GroupKind::Loose) => {
            rungs::of_pairs(&flat.order, limit, grid, short)
        }
        (Order::Flat(Flat { order, .. }), Some(_), ..) => {
            let grow = |open: Open, place: usize| limit.grown(open, order[place]);
            let spans = in_order(&ends, short, &Growing { limit, grow });
            Spans { indices: order, tail: Vec::new(), spans }
        }
        (Order::AtRungs(sorted), _, Rounding::Rungs(rungs), _) => {
            rungs::finish(sorted, limit, &rungs::shapes_of(rungs), short)
        }
        (Order::Flat(flat), None, Rounding::Rungs(rungs), GroupKind::Loose) => {
            rungs::of_order(flat, limit, rungs, short)
        }
        (Order::Flat(Flat { order, padded }), None, ..) => {
            let spans = match padded {
                Some(padded) => {
                    let spans = of_one_length(&ends, short, limit, |place| padded[place]);
                    limit.workspace.keep_indices(padded);
                    spans
                }
                None => {
                    of_one_length(&ends, short, limit, |place| limit.padded_length(order[place]))
                }
            };
            Spans { indices: order, tail: Vec::new(), spans }
        }
        (Order::AtRungs(_), ..) => unreachable!("sequences are at rungs where there are some"),
    }
}

/// Cuts groups of sequences of one length; `padded` is what the one at a place is padded to.
fn of_one_length(
    group_ends: &[u32],
    short: Option<&Rng>,
    limit: &ResolvedBudget,
    padded: impl Fn(usize) -> u32,
) -> Vec<Span> {
    if let Some(cells) = limit.cells() {
        return in_order(group_ends, short, &ByCells { limit, cells, padded });
    }
    let grow = |open: Open, place: usize| Some(open.with(padded(place)));
    in_order(group_ends, short, &Growing { limit, grow })
}

/// Cuts groups that end at `group_ends`. With `short`, the batch that is not full is not always the last of
/// its group: each of them is that one in as many epochs.
fn in_order(group_ends: &[u32], short: Option<&Rng>, fill: &impl Fill) -> Vec<Span> {
    let mut random = short.map(|rng| rng.stream(Purpose::Short));
    let mut spans = Vec::new();
    let mut start = 0;
    for &group_end in group_ends {
        let (first, group_end) = (spans.len(), group_end as usize);
        while start < group_end {
            let batch = fill.first(start..group_end);
            spans.push(Span::new(start, batch));
            start += batch.size as usize;
        }
        if let Some(random) = &mut random {
            move_short(&mut spans, first, group_end, fill, random);
        }
    }
    spans
}

/// Draws a place for the short batch among the batches of a group, which are those from `first` on:
/// the batches before it are cut from the front, those after it from the back, and it has what is
/// left between them. There are as many as before: as many from the front and from the back are as
/// long as they can be, so what is left is no more than the batch that was there.
///
/// Batches of whole multiples are not as long as they can be, and what is left may then be too much
/// for some places: it is drawn from the others, of which the last is always one.
fn move_short(
    spans: &mut Vec<Span>,
    first: usize,
    group_end: usize,
    fill: &impl Fill,
    random: &mut Stream,
) {
    let count = spans.len() - first;
    if count < 2 {
        return;
    }
    let start_of = |place: usize| spans[first + place].start as usize;
    let place = random.below(count as u32) as usize;
    let after = count - 1 - place;
    let mut behind = cut_back(after, start_of(place)..group_end, fill);
    let drawn = between(start_of(place), &behind, after, group_end, fill);
    let drawn = drawn.map(|batch| (place, batch)).or_else(|| {
        behind = cut_back(count - 1, start_of(0)..group_end, fill);
        let suitable = (0..count).filter_map(|place| {
            let (start, after) = (start_of(place), count - 1 - place);
            Some((place, between(start, &behind, after, group_end, fill)?))
        });
        let suitable: Vec<(usize, Span)> = suitable.collect();
        let drawn = random.below(suitable.len().max(1) as u32) as usize;
        suitable.get(drawn).copied()
    });
    if let Some((place, batch)) = drawn {
        spans.truncate(first + place);
        spans.push(batch);
        spans.extend(behind[..count - 1 - place].iter().rev());
    }
}

/// Up to `count` batches from the back of some places, the last first.
fn cut_back(count: usize, mut places: Range<usize>, fill: &impl Fill) -> Vec<Span> {
    let mut behind = Vec::with_capacity(count);
    while behind.len() < count && !places.is_empty() {
        let batch = fill.last(places.clone());
        places.end -= batch.size as usize;
        behind.push(Span::new(places.end, batch));
    }
    behind
}

/// The batch from `start` to the first `count` batches that are behind it, if it is one.
fn between(
    start: usize,
    behind: &[Span],
    count: usize,
    group_end: usize,
    fill: &impl Fill,
) -> Option<Span> {
    let end = match count {
        0 => group_end,
        _ => behind.get(count - 1)?.start as usize,
    };
    let batch = fill.first(start..end.max(start));
    (start < end && start + batch.size as usize == end).then(|| Span::new(start, batch))
}
