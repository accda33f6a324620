//! Batches of sequences with two lengths.

use super::Batches;
use crate::{Open, Room, cover::Grid, pairs::Pad};

/// Cuts groups that end at `group_ends`, as batches of one length are cut.
pub(super) fn in_order(order: &[u32], group_ends: &[u32], room: &Room) -> Batches {
    let mut batches = Batches::with_capacity(order.len());
    let mut start = 0;
    for &group_end in group_ends {
        while start < group_end as usize {
            let group = &order[start..group_end as usize];
            let (size, pad) = next_batch(group, room);
            batches.push(&group[..size], pad);
            start += size;
        }
    }
    batches
}

/// The size of the batch at the front of a group, and what it is padded to.
pub(crate) fn next_batch(group: &[u32], room: &Room) -> (usize, Pad) {
    let mut open = Open::default();
    for &sequence in group {
        let Some(grown) = room.admit(open, sequence) else {
            let size = room.keep(open.size) as usize;
            if size == open.size as usize {
                break;
            }
            let kept = group[..size].iter().map(|&sequence| room.lengths_of(sequence));
            return (size, kept.fold(Pad::default(), |pad, one| room.covered(pad.over(one))));
        };
        open = grown;
    }
    (open.size as usize, open.pad())
}

/// Deals an order to the shapes of a grid: each sequence waits at its own shape, and whenever a
/// full batch is there, it is made. What is left at the end climbs to the next second rung of the
/// same first rung if that pads by at most an eighth of a batch and a two-hundredth of all cells;
/// otherwise it is an odd batch.
///
/// How many sequences wait at a shape depends on the lengths alone, so the shapes are the same in
/// every epoch.
pub(super) fn deal(order: &[u32], room: &Room, grid: &Grid) -> Batches {
    let mut batches = Batches::with_capacity(order.len());
    let shapes: Vec<Pad> = grid.shapes().collect();
    let full: Vec<usize> = shapes.iter().map(|&shape| room.full_of(shape) as usize).collect();
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); shapes.len()];
    let mut all = 0_u64;
    for &sequence in order {
        let Some(at) = grid.shape_of(room.lengths_of(sequence)) else {
            unreachable!("a grid is made for all sequences");
        };
        all = all.saturating_add(shapes[at].cells(1));
        waiting[at].push(sequence);
        if waiting[at].len() == full[at] {
            batches.push(&waiting[at], shapes[at]);
            waiting[at].clear();
        }
    }
    let mut left: Vec<u32> = Vec::new();
    for (at, &shape) in shapes.iter().enumerate() {
        left.append(&mut waiting[at]);
        let (whole, rest) = left.split_at(left.len() - left.len() % full[at]);
        for batch in whole.chunks_exact(full[at]) {
            batches.push(batch, shape);
        }
        let next = shapes.get(at + 1).filter(|next| next.first == shape.first);
        let climbs = next.is_some_and(|next| {
            let extra = rest.len() as u128 * u128::from(next.second - shape.second);
            8 * extra <= u128::from(next.cells(full[at + 1] as u32))
                && 200 * extra <= u128::from(all)
        });
        if !climbs && !rest.is_empty() {
            batches.push(rest, shape);
        }
        left = if climbs { rest.to_vec() } else { Vec::new() };
    }
    batches
}
