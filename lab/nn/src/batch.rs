//! The shape of a padded batch.

/// How many time steps a batch has, how many rows, and how long each row is.
///
/// Values of a batch are in the order of time: all rows of the first step, then all of the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    steps: usize,
    lengths: Vec<usize>,
}

impl Frame {
    /// A frame of so many steps for rows of these lengths.
    ///
    /// # Panics
    ///
    /// When a row is longer than there are steps, or there are no rows or steps.
    pub fn new(steps: usize, lengths: Vec<usize>) -> Self {
        assert!(steps > 0 && !lengths.is_empty(), "a frame without steps or rows");
        assert!(lengths.iter().all(|&length| length <= steps), "a row is longer than the frame");
        Self { steps, lengths }
    }

    /// The number of time steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// How long each row is.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The places of the rectangle, padding and all.
    pub fn cells(&self) -> usize {
        self.steps * self.rows()
    }

    /// The places that are not padding.
    pub fn positions(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Whether a row has something at this step.
    pub(crate) fn holds(&self, step: usize, row: usize) -> bool {
        step < self.lengths[row]
    }

    /// Whether there is something at this place, counted over all steps and rows.
    pub(crate) fn fills(&self, place: usize) -> bool {
        self.holds(place / self.rows(), place % self.rows())
    }
}
