//! What a length is padded to, and the shapes that batches of two lengths may have.

use crate::data::lengths::{Lengths, Pad, is_small_table};
use crate::shape::ladder::{ladder, ladder_cells};

/// [`Shapes`](crate::Shapes) made definite for given lengths.
#[derive(Clone, Debug)]
pub(crate) enum Rounding {
    Exact,
    Multiple(u32),
    Rungs(Staircase),
}

impl Rounding {
    /// What a sequence of this length is padded to when it is the longest of its batch. Rounding keeps
    /// the order of lengths, so the batch length is the largest of these.
    pub(crate) fn of(&self, length: u32) -> u32 {
        match self {
            Rounding::Exact => length,
            Rounding::Multiple(multiple) => length.next_multiple_of(*multiple),
            Rounding::Rungs(rungs) => rungs.edges[rungs.of(length) as usize],
        }
    }
}

/// Finds the step that a length is on: the first of several rising edges at or above it. One look
/// into a table where that is small, a binary search where it is not.
#[derive(Clone, Debug)]
pub(crate) struct Staircase {
    /// The edges, rising.
    pub(crate) edges: Vec<u32>,
    table: Vec<u32>,
}

impl Staircase {
    /// For the lengths that are to be looked up.
    pub(crate) fn new(edges: Vec<u32>, lengths: &Lengths) -> Self {
        let mut table = Vec::new();
        if is_small_table(lengths.max(), lengths.len()) {
            let size = lengths.max() as usize + 1;
            for (step, &edge) in (0..).zip(&edges) {
                table.resize(size.min(edge as usize + 1).max(table.len()), step);
            }
            table.resize(size, edges.len() as u32);
        }
        Self { edges, table }
    }

    /// The edge at or above a length, if there is one.
    pub(crate) fn edge(&self, length: u32) -> Option<u32> {
        self.edges.get(self.of(length) as usize).copied()
    }

    /// The number of the step; the number of edges for a length above them all.
    pub(crate) fn of(&self, length: u32) -> u32 {
        let search = || self.edges.partition_point(|&edge| edge < length) as u32;
        self.table.get(length as usize).copied().unwrap_or_else(search)
    }
}

/// [`Shapes`](crate::Shapes) made definite for two lengths.
#[derive(Clone, Debug)]
pub(crate) enum PairRounding {
    /// Each side is rounded by itself.
    Sides(Rounding, Rounding),
    /// Both sides are on ladders: there are so many shapes and no others.
    Grid(Grid),
}

impl PairRounding {
    /// What a batch with these longest lengths is padded to; `None` if no shape covers both. A shape
    /// covers itself.
    pub(crate) fn of(&self, pad: Pad) -> Option<Pad> {
        match self {
            PairRounding::Sides(first, second) => {
                Some(Pad { first: first.of(pad.first), second: second.of(pad.second) })
            }
            PairRounding::Grid(grid) => grid.of(pad),
        }
    }

    /// What the longest first and second length are padded to. Rungs above them do not count.
    pub(crate) fn top(&self, first: &Lengths, second: &Lengths) -> Pad {
        let longest = Pad { first: first.max(), second: second.max() };
        match self {
            PairRounding::Sides(..) => self.of(longest).unwrap_or(longest),
            PairRounding::Grid(grid) => grid.top(longest),
        }
    }
}

/// A ladder of first lengths, and for each of its rungs one of second lengths.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    firsts: Staircase,
    seconds: Vec<Staircase>,
    /// The number of the first shape of each first rung.
    starts: Vec<u32>,
}

impl Grid {
    fn new(firsts: Staircase, seconds: Vec<Staircase>) -> Self {
        let mut next = 0;
        let starts = seconds.iter().map(|seconds| {
            let start = next;
            next += seconds.edges.len() as u32;
            start
        });
        Self { starts: starts.collect(), firsts, seconds }
    }

    /// Every first rung with every second one.
    pub(crate) fn product(first: Staircase, second: &Staircase) -> Self {
        let seconds = vec![second.clone(); first.edges.len()];
        Self::new(first, seconds)
    }

    /// At most so many shapes, chosen to need few cells when every sequence is padded to the next
    /// one: first lengths on the best ladder of some number of rungs, and the second lengths of each
    /// rung on a best ladder of their own. Every number of first rungs is tried up to a few dozen,
    /// and each second rung goes where it saves most.
    pub(crate) fn best(first: &Lengths, second: &Lengths, shapes: u32) -> Self {
        let most = shapes.min(MOST_FIRST).min(first.histogram().len() as u32).max(1);
        let grids = (1..=most).map(|firsts| Self::with_firsts(first, second, firsts, shapes));
        let Some((grid, _)) = grids.min_by_key(|(_, cells)| *cells) else {
            unreachable!("one rung is tried at least");
        };
        grid
    }

    /// The best of so many first rungs, and the cells that it needs.
    fn with_firsts(first: &Lengths, second: &Lengths, firsts: u32, shapes: u32) -> (Self, u128) {
        let rungs = Staircase::new(ladder(first, firsts), first);
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); rungs.edges.len()];
        for (&a, &b) in first.as_slice().iter().zip(second.as_slice()) {
            columns[rungs.of(a) as usize].push(b);
        }
        let columns: Vec<Lengths> =
            columns.into_iter().filter_map(|column| Lengths::new(column).ok()).collect();
        // The best rungs of a column, and the cells that they need.
        let best = |column: &Lengths, rungs: usize| {
            let rungs = ladder(column, rungs as u32);
            let cells = ladder_cells(column, &rungs);
            (rungs, cells)
        };
        // Those of every column, and those with one rung more.
        let mut chosen: Vec<_> = columns.iter().map(|c| [best(c, 1), best(c, 2)]).collect();
        for _ in columns.len()..shapes as usize {
            let saved = |at: usize| chosen[at][0].1 - chosen[at][1].1;
            // The first of those that save most.
            let Some(at) = (0..columns.len()).rev().max_by_key(|&at| saved(at)) else { break };
            if saved(at) == 0 {
                break;
            }
            chosen[at].swap(0, 1);
            chosen[at][1] = best(&columns[at], chosen[at][0].0.len() + 1);
        }
        let own = columns.iter().zip(&rungs.edges);
        let firsts: u128 = own.map(|(c, &rung)| c.len() as u128 * u128::from(rung)).sum();
        let cells = firsts + chosen.iter().map(|[(_, cells), _]| cells).sum::<u128>();
        let seconds = chosen.into_iter().zip(&columns);
        let seconds = seconds.map(|([(rungs, _), _], column)| Staircase::new(rungs, column));
        (Self::new(rungs, seconds.collect()), cells)
    }

    /// The number of the shape of a sequence, if there is one at its own first rung.
    pub(crate) fn shape_of(&self, lengths: Pad) -> Option<usize> {
        let first = self.firsts.of(lengths.first) as usize;
        let seconds = self.seconds.get(first)?;
        let second = seconds.of(lengths.second);
        ((second as usize) < seconds.edges.len()).then(|| (self.starts[first] + second) as usize)
    }

    /// All shapes: by first rung, then by second.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Pad> {
        self.firsts.edges.iter().zip(&self.seconds).flat_map(|(&first, seconds)| {
            seconds.edges.iter().map(move |&second| Pad { first, second })
        })
    }

    /// What each of the longest lengths is padded to at least, whether or not a shape has both.
    fn top(&self, longest: Pad) -> Pad {
        let seconds = self.seconds.iter().filter_map(|seconds| seconds.edge(longest.second));
        Pad {
            first: self.firsts.edge(longest.first).unwrap_or(longest.first),
            second: seconds.min().unwrap_or(longest.second),
        }
    }

    /// The first shape that covers both lengths, if there is one.
    fn of(&self, pad: Pad) -> Option<Pad> {
        let firsts = self.firsts.of(pad.first) as usize..self.seconds.len();
        let mut covering = firsts.filter_map(|at| {
            let second = self.seconds[at].edge(pad.second)?;
            Some(Pad { first: self.firsts.edges[at], second })
        });
        covering.next()
    }
}

/// More first rungs than this are not tried: there is little to gain.
const MOST_FIRST: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_no_more_shapes_than_asked_for_and_covers_everything() {
        let first: Vec<u32> = (0..500).map(|i| 1 + i * i % 977).collect();
        let second = first.iter().zip(0_u32..).map(|(a, i)| 1 + (a + i * 7) % 61);
        let second: Vec<u32> = second.collect();
        let (first, second) = (Lengths::new(first).unwrap(), Lengths::new(second).unwrap());
        let mut before = u64::MAX;
        for shapes in [1, 2, 3, 7, 16, 64, 1000] {
            let grid = Grid::best(&first, &second, shapes);
            let all: Vec<Pad> = grid.shapes().collect();
            assert!(all.len() <= shapes as usize);
            let mut cells = 0;
            for (&a, &b) in first.as_slice().iter().zip(second.as_slice()) {
                let pad = Pad { first: a, second: b };
                let shape = all[grid.shape_of(pad).unwrap()];
                assert!(shape.first >= a && shape.second >= b);
                assert_eq!(grid.of(pad), Some(shape));
                assert_eq!(grid.of(shape), Some(shape));
                cells += shape.cells(1);
            }
            assert!(cells <= before, "{shapes} shapes");
            before = cells;
        }
    }
}
