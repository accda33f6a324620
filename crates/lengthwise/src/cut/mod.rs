//! Where an order becomes batches under a budget.

pub(crate) mod deal;
pub(crate) mod halve;
mod loose;
pub(crate) mod pairs;

pub(crate) use loose::Loose;

use crate::{
    Error, Lengths, Open, Room, Row,
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
    /// Room for so many sequences.
    fn with_capacity(sequences: usize) -> Self {
        Self { indices: Vec::with_capacity(sequences), ..Self::default() }
    }

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
/// together still fits when one is taken away. With rungs, see [`deal`](deal::deal).
pub(crate) fn cut(groups: Groups, room: &Room, rounding: &Rounding) -> Loose {
    let dealing = groups.dealing();
    let (order, ends) = groups.into_parts();
    if let (Order::Flat(flat), Some(sides)) = (&order, room.sides()) {
        return match sides.cover() {
            Cover::Grid(grid) if dealing == Dealing::Free => {
                pairs::deal(&flat.order, room, grid).into()
            }
            _ => pairs::in_order(&flat.order, &ends, room).into(),
        };
    }
    match (order, rounding, dealing) {
        (Order::Dealt(dealt), Rounding::Rungs(rungs), _) => deal::finish(dealt, room, rungs),
        (Order::Flat(flat), Rounding::Rungs(rungs), Dealing::Free) => {
            deal::deal(flat, room, rungs).into()
        }
        (Order::Flat(Flat { order, padded: Some(padded) }), ..) => {
            in_order(order, ends, room, |place, _| padded[place])
        }
        (Order::Flat(Flat { order, padded: None }), ..) => {
            in_order(order, ends, room, |_, sequence| room.padded_length(sequence))
        }
        (Order::Dealt(_), ..) => unreachable!("sequences are dealt to rungs where there are some"),
    }
}

/// Cuts groups that end at `group_ends`; `padded` gives what the sequence at a place is padded to.
fn in_order(
    order: Vec<u32>,
    group_ends: Vec<u32>,
    room: &Room,
    padded: impl Fn(usize, u32) -> u32,
) -> Loose {
    let mut ends = Vec::new();
    let mut lengths = Vec::new();
    let mut start = 0;
    for group_end in group_ends {
        while start < group_end as usize {
            let group = &order[start..group_end as usize];
            let padded = |at: usize| padded(start + at, group[at]);
            let (size, length) = next_batch(group.len(), room, padded);
            start += size as usize;
            ends.push(start as u32);
            lengths.push(length);
        }
    }
    Batches { indices: order, ends, lengths, seconds: Vec::new() }.into()
}

/// The size and batch length of the batch at the front of `count` sequences.
fn next_batch(count: usize, room: &Room, padded: impl Fn(usize) -> u32) -> (u32, u32) {
    let mut open = Open::default();
    for at in 0..count {
        let Some(grown) = room.admit_padded(open, padded(at)) else {
            let size = room.keep(open.size);
            return (size, (0..size as usize).map(padded).max().unwrap_or(0));
        };
        open = grown;
    }
    (open.size, open.length)
}
