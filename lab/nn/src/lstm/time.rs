//! Directions, the order of time steps, and where their states are.

/// Which way a layer goes over the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the beginning of each row.
    Forward,
    /// From the end of each row.
    Backward,
}

/// The time steps in the order that a direction goes.
pub(super) fn order(steps: usize, direction: Direction) -> impl DoubleEndedIterator<Item = usize> {
    (0..steps).map(move |step| match direction {
        Direction::Forward => step,
        Direction::Backward => steps - 1 - step,
    })
}

/// Where the step of zeros is, before the first.
pub(super) fn zeros(steps: usize, direction: Direction) -> usize {
    match direction {
        Direction::Forward => 0,
        Direction::Backward => steps,
    }
}

/// Where the states before and after a time step are, among the steps and the one of zeros.
pub(super) fn places(time: usize, direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Forward => (time, time + 1),
        Direction::Backward => (time + 1, time),
    }
}

/// Two neighbouring steps, the first to read and the second to write.
pub(super) fn two(
    values: &mut [f32],
    step: usize,
    read: usize,
    write: usize,
) -> (&[f32], &mut [f32]) {
    let (low, high) = values.split_at_mut(read.max(write) * step);
    let (low, high) = (&mut low[read.min(write) * step..], &mut high[..step]);
    if read < write { (low, high) } else { (high, low) }
}
