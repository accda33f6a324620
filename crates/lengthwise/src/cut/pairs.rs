//! Batches of sequences with two lengths.

use super::{Loose, deal};
use crate::{Rng, Room, cover::Grid, pairs::Pad};

/// Batches of an order on the shapes of a grid, as on the rungs of a ladder. What is left climbs to
/// the next second rung of the same first rung.
pub(super) fn deal(order: &[u32], room: &Room, grid: &Grid, short: Option<&Rng>) -> Loose {
    let shapes: Vec<Pad> = grid.shapes().collect();
    let shape_of = order.iter().map(|&sequence| {
        let Some(shape) = grid.shape_of(room.lengths_of(sequence)) else {
            unreachable!("a grid is made for all sequences");
        };
        shape as u32
    });
    let shape_of: Vec<u32> = shape_of.collect();
    deal::finish(deal::at_shapes(order, &shape_of, &shapes, room), room, &shapes, short)
}
