//! Directions, the order of time steps, and where their states are.

use std::ops::Range;

use crate::packed::Packing;

/// Which way a layer goes over the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the beginning of each row.
    Forward,
    /// From the end of each row.
    Backward,
}

/// The time steps of a batch in the order of a direction. At each, only the rows that are running are
/// computed: their states are those of the places of a [`Packing`], with a step of zeros before the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps<'a> {
    pub(super) packing: &'a Packing,
    pub(super) direction: Direction,
}

impl Steps<'_> {
    /// The steps at which rows are running, in the order that the direction goes.
    pub(super) fn order(&self) -> impl DoubleEndedIterator<Item = usize> {
        // The rows of a later step are among those of an earlier one.
        let steps = self.packing.frame().computed_steps();
        let direction = self.direction;
        (0..steps).map(move |step| match direction {
            Direction::Forward => step,
            Direction::Backward => steps - 1 - step,
        })
    }

    /// How many states there are: those of all places and those of the step of zeros.
    pub(super) fn states(&self) -> usize {
        self.packing.len() + self.packing.frame().rows()
    }

    /// Which of the states are zeros.
    pub(super) fn zeros(&self) -> Range<usize> {
        match self.direction {
            Direction::Forward => 0..self.packing.frame().rows(),
            Direction::Backward => self.packing.len()..self.states(),
        }
    }

    /// Which of the states are those of the places.
    pub(super) fn of_places(&self) -> Range<usize> {
        match self.direction {
            Direction::Forward => self.packing.frame().rows()..self.states(),
            Direction::Backward => 0..self.packing.len(),
        }
    }

    /// Which of the states are those after a time step.
    pub(super) fn after(&self, time: usize) -> Range<usize> {
        let (places, first) = (self.packing.step(time), self.of_places().start);
        first + places.start..first + places.end
    }

    /// Which of the states are those before a time step, if they are one after another as its rows are.
    pub(super) fn before(&self, time: usize) -> Option<Range<usize>> {
        let count = self.packing.step(time).len();
        match self.step_before(time) {
            None => {
                let first = self.zeros().start;
                Some(first..first + count)
            }
            // As many rows are the same rows.
            Some(step) => Some(self.after(step)).filter(|states| states.len() == count),
        }
    }

    fn step_before(&self, time: usize) -> Option<usize> {
        match self.direction {
            Direction::Forward => time.checked_sub(1),
            Direction::Backward => (time + 1 < self.packing.frame().steps()).then_some(time + 1),
        }
    }

    /// The rows that are computed at a step and have only padding there: their states are zeros.
    pub(super) fn padded(&self, time: usize) -> impl Iterator<Item = usize> {
        let frame = self.packing.frame();
        self.packing.rows(time).filter(move |&row| !frame.holds(time, row))
    }

    /// Copies the states before a time step, one after another as its rows are: zero for a row that begins.
    pub(super) fn copy_before(&self, time: usize, states: &[f32], out: &mut [f32], units: usize) {
        let out = out.chunks_exact_mut(units).zip(self.packing.rows(time));
        let Some(step) = self.step_before(time) else {
            out.for_each(|(out, _)| out.fill(0.0));
            return;
        };
        let mut before = self.packing.rows(step).zip(self.after(step)).peekable();
        for (out, row) in out {
            // Rows that have ended.
            while before.next_if(|&(other, _)| other < row).is_some() {}
            match before.next_if(|&(other, _)| other == row) {
                Some((_, at)) => out.copy_from_slice(&states[at * units..(at + 1) * units]),
                None => out.fill(0.0),
            }
        }
    }
}

/// Two parts of some values that do not overlap, the first to read and the second to write.
pub(super) fn two(
    values: &mut [f32],
    read: Range<usize>,
    write: Range<usize>,
) -> (&[f32], &mut [f32]) {
    if read.end <= write.start {
        let (low, high) = values.split_at_mut(write.start);
        (&low[read], &mut high[..write.end - write.start])
    } else {
        let (low, high) = values.split_at_mut(read.start);
        (&high[..read.end - read.start], &mut low[write])
    }
}
