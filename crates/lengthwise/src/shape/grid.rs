//! The shapes that batches of two lengths may have.

use crate::{
    data::{lengths::Lengths, pad::Pad},
    shape::{
        ladder::ladder,
        rounding::{Rounding, Staircase},
    },
};

/// [`Shapes`](crate::Shapes) made definite for two lengths.
#[derive(Clone, Debug)]
pub(crate) enum PairRounding {
    /// Each side is rounded by itself.
    Sides(Rounding, Rounding),
    /// Both sides are on ladders: there are so many shapes and no others.
    Grid(Grid),
}

impl PairRounding {
    /// What a batch is padded to whose longest lengths are these; nothing if no shape has room for
    /// both. What is covered covers itself.
    pub(crate) fn of(&self, pad: Pad) -> Option<Pad> {
        match self {
            PairRounding::Sides(first, second) => {
                Some(Pad { first: first.of(pad.first), second: second.of(pad.second) })
            }
            PairRounding::Grid(grid) => grid.of(pad),
        }
    }

    /// What the longest first and the longest second length are padded to. Given rungs above them
    /// do not count.
    pub(crate) fn top(&self, first: &Lengths, second: &Lengths) -> Pad {
        let longest = Pad { first: first.max(), second: second.max() };
        match self {
            PairRounding::Sides(first, second) => {
                Pad { first: first.of(longest.first), second: second.of(longest.second) }
            }
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
        let mut start = 0;
        let starts = seconds.iter().map(|seconds| {
            start += seconds.edges().len() as u32;
            start - seconds.edges().len() as u32
        });
        let starts = starts.collect();
        Self { firsts, seconds, starts }
    }

    /// Every first rung with every second one.
    pub(crate) fn product(first: Staircase, second: &Staircase) -> Self {
        let seconds = vec![second.clone(); first.edges().len()];
        Self::new(first, seconds)
    }

    /// At most so many shapes, chosen to need few cells when every sequence is padded to the next
    /// one: first lengths on the best ladder of some number of rungs, and the second lengths of each
    /// rung on a best ladder of their own. Every number of first rungs is tried up to a few dozen,
    /// and each second rung goes where it saves most.
    pub(crate) fn best(first: &Lengths, second: &Lengths, shapes: u32) -> Self {
        let most = shapes.min(MOST_FIRST).min(first.histogram().len() as u32).max(1);
        let grids = (1..=most).map(|firsts| Self::with_firsts(first, second, firsts, shapes));
        let best = grids.min_by_key(|(_, cells)| *cells);
        best.map_or_else(
            || Self::product(Staircase::new(vec![first.max()], first), &top_of(second)),
            |(grid, _)| grid,
        )
    }

    /// The best of so many first rungs, and the cells that it needs.
    fn with_firsts(first: &Lengths, second: &Lengths, firsts: u32, shapes: u32) -> (Self, u128) {
        let rungs = Staircase::new(ladder(first, firsts), first);
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); rungs.edges().len()];
        for (&a, &b) in first.as_slice().iter().zip(second.as_slice()) {
            columns[rungs.of(a) as usize].push(b);
        }
        let columns: Vec<Lengths> =
            columns.into_iter().filter_map(|column| Lengths::new(column).ok()).collect();
        let needed = |column: &Lengths, rungs: &[u32]| -> u128 {
            let cells = column.histogram().iter().map(|&(length, count)| {
                let rung = rungs[rungs.partition_point(|&rung| rung < length)];
                u128::from(rung) * u128::from(count)
            });
            cells.sum()
        };
        // The rungs of each column, the cells they need, and those that one rung more would save.
        let mut chosen: Vec<(Vec<u32>, u128, Option<Rungs>)> = Vec::new();
        let more = |column: &Lengths, rungs: usize| {
            (rungs < column.histogram().len()).then(|| {
                let rungs = ladder(column, rungs as u32 + 1);
                let cells = needed(column, &rungs);
                (rungs, cells)
            })
        };
        for column in &columns {
            let rungs = vec![column.max()];
            let cells = needed(column, &rungs);
            chosen.push((rungs, cells, more(column, 1)));
        }
        for _ in columns.len()..shapes as usize {
            let saved = |at: usize| {
                let (_, cells, more) = &chosen[at];
                more.as_ref().map_or(0, |(_, fewer)| cells - fewer)
            };
            // The first of those that save most.
            let Some(at) = (0..columns.len()).rev().max_by_key(|&at| saved(at)) else { break };
            if saved(at) == 0 {
                break;
            }
            if let Some((rungs, cells)) = chosen[at].2.take() {
                let next = more(&columns[at], rungs.len());
                chosen[at] = (rungs, cells, next);
            }
        }
        let own = columns.iter().zip(rungs.edges());
        let firsts: u128 = own.map(|(c, &rung)| c.len() as u128 * u128::from(rung)).sum();
        let cells = firsts + chosen.iter().map(|(_, cells, _)| cells).sum::<u128>();
        let seconds = chosen.into_iter().zip(&columns);
        let seconds = seconds.map(|((rungs, ..), column)| Staircase::new(rungs, column)).collect();
        (Self::new(rungs, seconds), cells)
    }

    /// The number of the shape of a sequence, if there is one at its own first rung.
    pub(crate) fn shape_of(&self, lengths: Pad) -> Option<usize> {
        let first = self.firsts.of(lengths.first) as usize;
        let seconds = self.seconds.get(first)?;
        let second = seconds.of(lengths.second);
        ((second as usize) < seconds.edges().len()).then(|| (self.starts[first] + second) as usize)
    }

    /// All shapes: by first rung, then by second.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Pad> {
        self.firsts.edges().iter().zip(&self.seconds).flat_map(|(&first, seconds)| {
            seconds.edges().iter().map(move |&second| Pad { first, second })
        })
    }

    /// What each of the longest lengths is padded to at least, whether or not a shape has both.
    fn top(&self, longest: Pad) -> Pad {
        let least =
            |rungs: &Staircase, length: u32| rungs.edges().get(rungs.of(length) as usize).copied();
        let seconds = self.seconds.iter().filter_map(|seconds| least(seconds, longest.second));
        Pad {
            first: least(&self.firsts, longest.first).unwrap_or(longest.first),
            second: seconds.min().unwrap_or(longest.second),
        }
    }

    /// The first shape that covers both lengths, if there is one.
    fn of(&self, pad: Pad) -> Option<Pad> {
        let firsts = self.firsts.of(pad.first) as usize..self.seconds.len();
        let mut covering = firsts.filter_map(|at| {
            let (first, seconds) = (self.firsts.edges()[at], &self.seconds[at]);
            let second = *seconds.edges().get(seconds.of(pad.second) as usize)?;
            Some(Pad { first, second })
        });
        covering.next()
    }
}

/// Rungs, and the cells that they need.
type Rungs = (Vec<u32>, u128);

/// More first rungs than this are not tried: there is little to gain.
const MOST_FIRST: u32 = 24;

fn top_of(lengths: &Lengths) -> Staircase {
    Staircase::new(vec![lengths.max()], lengths)
}

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
