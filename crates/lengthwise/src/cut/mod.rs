//! Where an order becomes batches under a budget.

pub(crate) mod deal;
pub(crate) mod halve;
mod loose;
pub(crate) mod pairs;

use std::ops::Range;

pub(crate) use loose::Loose;
use loose::Span;

use crate::{
    Error, Lengths, Open, Purpose, Rng, Room, Row, Stream,
    cover::Cover,
    groups::{Dealing, Groups, Order},
    pairs::Pad,
    shapes::Rounding,
    sort::Flat,
};

/// Batches one after another: flat, with the place where each ends and what it is padded to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batches {
    pub(crate) indices: Vec<u32>,
    pub(crate) ends: Vec<u32>,
    pub(crate) lengths: Vec<u32>,
    /// What each is padded to in its second lengths; empty where sequences have one length.
    pub(crate) seconds: Vec<u32>,
}

impl Batches {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, batch: usize) -> &[u32] {
        let start = if batch == 0 { 0 } else { self.ends[batch - 1] };
        &self.indices[start as usize..self.ends[batch] as usize]
    }

    /// What a batch is padded to.
    pub(crate) fn pad(&self, batch: usize) -> Pad {
        let second = self.seconds.get(batch).copied().unwrap_or(0);
        Pad { first: self.lengths[batch], second }
    }

    /// Batch size and batch length of every batch, in order; of two batch lengths, both together.
    pub(crate) fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + Clone {
        let shape = |(at, batch): (usize, &[u32])| (batch.len() as u32, self.pad(at).joint());
        self.iter().enumerate().map(shape)
    }

    /// The same where a batch may be a row that its sequences share: it counts as its sequences if
    /// all had their mean length, rounded up.
    pub(crate) fn weighed(&self, packed: bool) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.shapes().map(move |shape| weighed(shape, packed))
    }

    /// The sequences of every batch, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        (0..self.len()).map(|batch| self.get(batch))
    }

    /// Adds a batch.
    pub(crate) fn push(&mut self, sequences: &[u32], pad: Pad) {
        self.indices.extend_from_slice(sequences);
        self.ends.push(self.indices.len() as u32);
        self.lengths.push(pad.first);
        if pad.second > 0 {
            self.seconds.push(pad.second);
        }
    }
}

/// What a batch of this size and batch length counts as where it may be a row.
pub(crate) fn weighed((size, length): (u32, u32), packed: bool) -> (u32, u32) {
    (size, if packed { length.div_ceil(size.max(1)) } else { length })
}

/// The groups as rows, each as long as its sequences together, rounded up by the shapes.
pub(crate) fn rows(
    groups: Groups,
    lengths: &Lengths,
    row: Row,
    rounding: &Rounding,
) -> Result<Batches, Error> {
    let (order, mut ends) = groups.into_parts();
    let Order::Flat(Flat { order: indices, .. }) = order else {
        unreachable!("rows are filled from an order");
    };
    let (mut start, mut sums) = (0, Vec::with_capacity(ends.len()));
    // An empty group is no row.
    ends.dedup();
    ends.retain(|&end| end > 0);
    for &end in &ends {
        let members = &indices[start as usize..end as usize];
        let sum = members.iter().map(|&sequence| u64::from(lengths.of(sequence))).sum();
        row.check(members, sum)?;
        sums.push(rounding.of(sum as u32));
        start = end;
    }
    Ok(Batches { indices, ends, lengths: sums, seconds: Vec::new() })
}

/// Cuts the groups into batches: from the front as many sequences as the budget admits, then the
/// next batch. For a given order no other way of cutting makes fewer batches, because whatever fits
/// together still fits when one is taken away. With rungs, see [`deal`](deal::finish).
pub(crate) fn cut(groups: Groups, room: &Room, rounding: &Rounding) -> Loose {
    let (dealing, short) = (groups.dealing(), groups.short());
    let short = short.as_ref();
    let (order, ends) = groups.into_parts();
    match (order, rounding, dealing) {
        (Order::Flat(Flat { order, .. }), ..) if let Some(sides) = room.sides() => {
            match sides.cover() {
                Cover::Grid(grid) if dealing == Dealing::Free => {
                    pairs::deal(&order, room, grid, short)
                }
                _ => {
                    let grow = |open: Open, place: usize| room.grown(open, order[place]);
                    let spans = in_order(&ends, short, room, grow);
                    Loose { indices: order, tail: Vec::new(), spans }
                }
            }
        }
        (Order::Dealt(dealt), Rounding::Rungs(rungs), _) => {
            deal::finish(dealt, room, &deal::shapes_of(rungs), short)
        }
        (Order::Flat(flat), Rounding::Rungs(rungs), Dealing::Free) => {
            deal::deal(flat, room, rungs, short)
        }
        (Order::Flat(Flat { order, padded }), ..) => {
            let spans = match padded {
                Some(padded) => {
                    in_order(&ends, short, room, |open, place| Some(open.with(padded[place])))
                }
                None => in_order(&ends, short, room, |open, place| {
                    Some(open.with(room.padded_length(order[place])))
                }),
            };
            Loose { indices: order, tail: Vec::new(), spans }
        }
        (Order::Dealt(_), ..) => unreachable!("sequences are dealt to rungs where there are some"),
    }
}

/// Cuts groups that end at `group_ends`. `grow` gives what a batch is when the sequence at a place of
/// the order has joined it; nothing if no shape has room for both.
///
/// With `short`, the batch that is not full is not always the last of its group: each of them is
/// that one in as many epochs.
fn in_order(
    group_ends: &[u32],
    short: Option<&Rng>,
    room: &Room,
    grow: impl Fn(Open, usize) -> Option<Open>,
) -> Vec<Span> {
    let mut random = short.map(|rng| rng.stream(Purpose::Short));
    let mut spans = Vec::new();
    let mut start = 0;
    for &group_end in group_ends {
        let (first, group) = (spans.len(), start..group_end as usize);
        while start < group.end {
            let batch = first_batch(start..group.end, room, &grow);
            spans.push(Span::new(start, batch));
            start += batch.size as usize;
        }
        if let Some(random) = &mut random {
            move_short(&mut spans, first, group.end, room, &grow, random);
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
    room: &Room,
    grow: &impl Fn(Open, usize) -> Option<Open>,
    random: &mut Stream,
) {
    let count = spans.len() - first;
    if count < 2 {
        return;
    }
    let start_of = |place: usize| spans[first + place].start as usize;
    let mut behind = Vec::new();
    let place = random.below(count as u32) as usize;
    let after = count - 1 - place;
    cut_back(&mut behind, after, start_of(place)..group_end, room, grow);
    let drawn = between(start_of(place), &behind, after, group_end, room, grow);
    let drawn = drawn.map(|batch| (place, batch)).or_else(|| {
        behind.clear();
        cut_back(&mut behind, count - 1, start_of(0)..group_end, room, grow);
        let suitable = (0..count).filter_map(|place| {
            let (start, after) = (start_of(place), count - 1 - place);
            Some((place, between(start, &behind, after, group_end, room, grow)?))
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

/// Cuts up to `count` batches from the back of some places.
fn cut_back(
    behind: &mut Vec<Span>,
    count: usize,
    mut places: Range<usize>,
    room: &Room,
    grow: &impl Fn(Open, usize) -> Option<Open>,
) {
    while behind.len() < count && !places.is_empty() {
        let batch = last_batch(places.clone(), room, grow);
        places.end -= batch.size as usize;
        behind.push(Span::new(places.end, batch));
    }
}

/// The batch of all places from `start` to the first `count` batches that are behind it, if they are
/// one.
fn between(
    start: usize,
    behind: &[Span],
    count: usize,
    group_end: usize,
    room: &Room,
    grow: &impl Fn(Open, usize) -> Option<Open>,
) -> Option<Span> {
    let end = match count {
        0 => group_end,
        _ => behind.get(count - 1)?.start as usize,
    };
    let batch = first_batch(start..end.max(start), room, grow);
    (start < end && start + batch.size as usize == end).then(|| Span::new(start, batch))
}

/// The batch at the front of some places.
pub(crate) fn first_batch(
    places: Range<usize>,
    room: &Room,
    grow: &impl Fn(Open, usize) -> Option<Open>,
) -> Open {
    let mut open = Open::default();
    for place in places.clone() {
        match grow(open, place).filter(|&grown| room.admits(open, grown)) {
            Some(grown) => open = grown,
            None => return kept(open, room, places, grow),
        }
    }
    open
}

/// The batch at the back of some places.
fn last_batch(
    places: Range<usize>,
    room: &Room,
    grow: &impl Fn(Open, usize) -> Option<Open>,
) -> Open {
    // The batch, and where it decides, the batch without its last sequence, which is the first here.
    let (mut open, mut others) = (Open::default(), Open::default());
    for place in places.clone().rev() {
        let skipped = open.size == 0 || !room.spares_last();
        let joined = if skipped { Some(others) } else { grow(others, place) };
        let grown = grow(open, place).zip(joined);
        match grown.filter(|&(grown, others)| room.admits_before(open, grown, others)) {
            Some(grown) => (open, others) = grown,
            None => return kept(open, room, places.rev(), grow),
        }
    }
    open
}

/// A full batch with as many of its sequences as stay in it.
fn kept(
    full: Open,
    room: &Room,
    mut places: impl Iterator<Item = usize>,
    grow: &impl Fn(Open, usize) -> Option<Open>,
) -> Open {
    let size = room.keep(full.size);
    if size == full.size {
        return full;
    }
    let batch = places.by_ref().take(size as usize);
    batch.fold(Open::default(), |open, place| grow(open, place).unwrap_or(open))
}
